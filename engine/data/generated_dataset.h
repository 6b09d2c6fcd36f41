// SPDX-License-Identifier: GPL-3.0-or-later
// Examples made on demand: there is no end of them, and none that is held out is ever trained on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/data/dataset.h"

namespace halfscope {

struct GeneratedExample {
    std::vector<std::int32_t> tokens; // info.tokens
    std::vector<std::uint8_t> pixels; // of the image, see patches.h
};

// Noise for pixels, mean 0 and deviation 1, the difference of two uniform numbers: four from each number drawn, because
// there are thousands of pixels in an example.
class PixelNoise {
public:
    explicit PixelNoise(Rng& rng) : m_rng(rng) {}

    double next()
    {
        if (m_left == 0) {
            m_bits = m_rng.next();
            m_left = 4;
        }
        constexpr double kDeviation = 104.51; // of the difference of two numbers from 0 to 255: sqrt((256^2 - 1) / 6)
        const double difference = static_cast<double>(m_bits & 0xFFU) - static_cast<double>((m_bits >> 8U) & 0xFFU);
        m_bits >>= 16U;
        --m_left;
        return difference / kDeviation;
    }

private:
    Rng& m_rng;
    std::uint64_t m_bits = 0;
    int m_left = 0;
};

class ExampleGenerator {
public:
    virtual ~ExampleGenerator() = default;
    // Writes all of `to`, whose buffers have their size, with an example whose answer is `label`.
    virtual void make(Rng& rng, int label, GeneratedExample& to) const = 0;
    virtual std::vector<std::int32_t> encode(std::string_view /*text*/) const { return {}; } // these as in Dataset
    virtual std::string decode(const std::int32_t* tokens, std::size_t count) const = 0;
};

class GeneratedDataset final : public Dataset {
public:
    // Classes are balanced on both sides. An example belongs to the held-out side when the hash of its image (or of its
    // tokens where it has none) says so, one in ten; training draws those again. `parameters` are all that the
    // generator depends on, for DatasetInfo::hash. There are fewer than `validation` held-out examples where the
    // generator does not have that many different ones.
    GeneratedDataset(DatasetInfo info, std::unique_ptr<ExampleGenerator> generator, const std::string& parameters,
                     std::size_t validation);

    // An epoch of what never ends: as many as a data set of usual size has.
    static constexpr std::size_t kEpoch = 10'000;

    const DatasetInfo& info() const override { return m_info; }
    std::size_t validationSize() const override { return m_validation.size(); }
    std::size_t trainingSize() const override { return kEpoch; }
    void sample(Rng& rng, int batch, Examples& to) const override;
    void validationExamples(std::size_t first, int count, Examples& to) const override;
    std::vector<std::int32_t> encode(std::string_view text) const override { return m_generator->encode(text); }
    std::string decode(const std::int32_t* tokens, std::size_t count) const override;

private:
    void findValidation(std::size_t count);
    void store(const GeneratedExample& example, std::size_t at, int label, Examples& to) const;

    DatasetInfo m_info;
    std::unique_ptr<ExampleGenerator> m_generator;
    std::vector<std::uint64_t> m_validation; // the seed that makes each; its label is its place modulo the classes
};

// Sizes the buffers for `batch` examples of a data set with classes.
void resizeExamples(const DatasetInfo& info, int batch, Examples& examples);

} // namespace halfscope
