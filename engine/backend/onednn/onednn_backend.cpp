// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/backend/onednn/onednn_backend.h"

#include <map>
#include <mutex>
#include <omp.h>
#include <oneapi/dnnl/dnnl.hpp>
#include <tuple>
#include <vector>

#include "engine/backend/contract.h"
#include "engine/backend/cpu/cpu_backend.h"
#include "engine/backend/cpu/gemm.h"
#include "engine/backend/cpu/store.h"

namespace halfscope {

namespace {

using dnnl::memory;

bool hasAll(dnnl::cpu_isa have, dnnl::cpu_isa want)
{
    const auto mask = static_cast<unsigned>(want);
    return (static_cast<unsigned>(have) & mask) == mask;
}

// Work is shared out by our pool; a call of the library must not share it out once more.
class OneThread {
public:
    OneThread() : m_before(omp_get_max_threads()) { omp_set_num_threads(1); }
    OneThread(const OneThread&) = delete;
    OneThread& operator=(const OneThread&) = delete;
    ~OneThread() { omp_set_num_threads(m_before); }

private:
    int m_before;
};

// What a primitive is made for: (rows, n) = op(a) (rows, k) op(b) (k, n). `stride` is the length of a row of `a` as it
// lies in memory; of its transpose only some columns may be meant.
struct Key {
    std::int64_t rows;
    std::int64_t n;
    std::int64_t k;
    std::int64_t stride;
    bool transposeA;
    bool transposeB;
    auto all() const { return std::tie(rows, n, k, stride, transposeA, transposeB); }
    bool operator<(const Key& other) const { return all() < other.all(); }
};

struct Matmul {
    dnnl::matmul primitive;
    memory::desc a;
    memory::desc b;
    memory::desc c;
    memory::desc scratchpad;
};

Matmul makeMatmul(const dnnl::engine& engine, const Key& key)
{
    using Strides = memory::dims;
    constexpr auto kBf16 = memory::data_type::bf16;
    const memory::desc a({key.rows, key.k}, kBf16, key.transposeA ? Strides{1, key.stride} : Strides{key.stride, 1});
    const memory::desc b({key.k, key.n}, kBf16, key.transposeB ? Strides{1, key.k} : Strides{key.n, 1});
    const memory::desc c({key.rows, key.n}, memory::data_type::f32, Strides{key.n, 1});
    dnnl::primitive_attr attributes;
    attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user); // so that several threads may use it at once
#if DNNL_VERSION_MAJOR >= 3
    const dnnl::matmul::primitive_desc description(engine, a, b, c, attributes);
#else
    const dnnl::matmul::primitive_desc description(dnnl::matmul::desc(a, b, c), attributes, engine);
#endif
    return {dnnl::matmul(description), a, b, c, description.scratchpad_desc()};
}

class OnednnBackend final : public CpuBackend {
public:
    explicit OnednnBackend(int threads)
        : CpuBackend(threads), m_engine(dnnl::engine::kind::cpu, 0), m_scratch(context().workers.size())
    {
        for (std::size_t i = 0; i < m_scratch.size(); ++i) {
            m_streams.emplace_back(m_engine);
        }
    }

    std::string name() const override { return "oneDNN"; }

    std::string description() const override
    {
        const dnnl_version_t& version = *dnnl_version();
        const int threads = static_cast<int>(m_streams.size());
        const bool tiles = hasAll(dnnl::get_effective_cpu_isa(), dnnl::cpu_isa::avx512_core_amx);
        return "oneDNN " + std::to_string(version.major) + "." + std::to_string(version.minor) + "." +
               std::to_string(version.patch) + " · BF16 by " + (tiles ? "AMX" : "AVX-512") + " · " +
               std::to_string(threads) + (threads == 1 ? " thread" : " threads") + " (not bit-identical)";
    }

    bool multipliesNatively(FormatId inputs) const override
    {
        return inputs == FormatId::Bf16 || inputs == FormatId::Fp32;
    }

    void gemm(const Gemm& args) override
    {
        const bool native = args.a.format() == FormatId::Bf16 && args.b.format() == FormatId::Bf16;
        if (!native || args.a.empty() || args.b.empty()) {
            CpuBackend::gemm(args);
            return;
        }
        contract::gemm(args);
        try {
            multiply(args);
        } catch (const dnnl::error& error) {
            throw BackendError("oneDNN failed (" + std::string(error.what()) + "); choose the backend cpu.");
        }
    }

private:
    void multiply(const Gemm& args)
    {
        const std::int64_t k = args.transposeA ? args.a.rows() : args.a.cols();
        const std::int64_t rowStep = args.transposeA ? 1 : k;
        cpu::gemm(context(), args, [&](std::int64_t row, std::int64_t rows, float* to, int worker) {
            const OneThread guard;
            const Matmul& matmul = primitive({rows, args.c.cols(), k, args.a.cols(), args.transposeA, args.transposeB});
            const auto at = [&](const memory::desc& what, const void* data) {
                return memory(what, m_engine,
                              const_cast<void*>(data)); // the library has no word for what it only reads
            };
            cpu::ScratchBuffer& scratch = m_scratch[static_cast<std::size_t>(worker)];
            const auto scratchBytes = static_cast<std::int64_t>(matmul.scratchpad.get_size());
            dnnl::stream& stream = m_streams[static_cast<std::size_t>(worker)];
            matmul.primitive.execute(stream,
                                     {{DNNL_ARG_SRC, at(matmul.a, cpu::elementAddress(args.a, row * rowStep))},
                                      {DNNL_ARG_WEIGHTS, at(matmul.b, args.b.data())},
                                      {DNNL_ARG_DST, at(matmul.c, to)},
                                      {DNNL_ARG_SCRATCHPAD, at(matmul.scratchpad, scratch.get<char>(scratchBytes))}});
            stream.wait();
        });
    }

    // A training run asks for the same few dozen again and again.
    const Matmul& primitive(const Key& key)
    {
        const std::scoped_lock lock(m_mutex);
        auto found = m_primitives.find(key);
        if (found == m_primitives.end()) {
            found = m_primitives.emplace(key, makeMatmul(m_engine, key)).first;
        }
        return found->second;
    }

    dnnl::engine m_engine;
    std::vector<dnnl::stream> m_streams;       // one a worker
    std::vector<cpu::ScratchBuffer> m_scratch; // one a worker
    std::mutex m_mutex;
    std::map<Key, Matmul> m_primitives;
};

} // namespace

std::string onednnProblem()
{
    if (!hasAll(dnnl::get_effective_cpu_isa(), dnnl::cpu_isa::avx512_core_bf16)) {
        return "This processor has no BF16 instructions (AVX-512 BF16 or AMX), which are all that oneDNN is for here.";
    }
    return {};
}

std::unique_ptr<Backend> makeOnednnBackend(int threads)
{
    if (const std::string problem = onednnProblem(); !problem.empty()) {
        throw BackendError("oneDNN cannot be used: " + problem);
    }
    return std::make_unique<OnednnBackend>(threads);
}

} // namespace halfscope
