// SPDX-License-Identifier: GPL-3.0-or-later
// A matrix in a backend's memory. Only the backend that made it may follow data().
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "engine/numerics/float_format.h"

namespace halfscope {

class Tensor {
public:
    Tensor() = default;
    // `storage` holds rows * cols elements of `format`, 64-byte aligned; its deleter returns it to the backend.
    Tensor(FormatId format, std::int64_t rows, std::int64_t cols, std::shared_ptr<void> storage)
        : m_format(format), m_rows(rows), m_cols(cols), m_storage(std::move(storage))
    {
    }

    FormatId format() const { return m_format; }
    std::int64_t rows() const { return m_rows; }
    std::int64_t cols() const { return m_cols; }
    std::int64_t size() const { return m_rows * m_cols; }
    std::size_t bytes() const { return static_cast<std::size_t>(size() * floatFormat(m_format).storageBytes); }
    bool empty() const { return size() == 0; }

    void* data() { return m_storage.get(); }
    const void* data() const { return m_storage.get(); }
    template <typename T>
    T* as()
    {
        return static_cast<T*>(m_storage.get());
    }
    template <typename T>
    const T* as() const
    {
        return static_cast<const T*>(m_storage.get());
    }

private:
    FormatId m_format = FormatId::Fp32;
    std::int64_t m_rows = 0;
    std::int64_t m_cols = 0;
    std::shared_ptr<void> m_storage;
};

} // namespace halfscope
