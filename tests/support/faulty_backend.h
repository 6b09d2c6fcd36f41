// SPDX-License-Identifier: GPL-3.0-or-later
// The CPU backend behind a device that can be told to fail: at any call, in a way that passes or for good. Its results
// are the CPU's to the bit.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "engine/backend/backend.h"
#include "engine/backend/backend_registry.h"

namespace halfscope::test {

// The names of all operations, as Backend has them.
inline const std::vector<std::string>& operationNames()
{
    static const std::vector<std::string> names = {"makeTensor",
                                                   "upload",
                                                   "download",
                                                   "synchronize",
                                                   "fillZero",
                                                   "cast",
                                                   "largestMagnitude",
                                                   "add",
                                                   "dropout",
                                                   "embeddingForward",
                                                   "tokenEmbeddingBackward",
                                                   "positionEmbeddingBackward",
                                                   "gatherRows",
                                                   "meanPoolForward",
                                                   "meanPoolBackward",
                                                   "gemm",
                                                   "columnSum",
                                                   "layerNormForward",
                                                   "layerNormBackward",
                                                   "attentionForward",
                                                   "attentionBackward",
                                                   "crossEntropy",
                                                   "argmax",
                                                   "unscale",
                                                   "adamw"};
    return names;
}

// What is to happen, shared by all backends of a test. For one thread at a time.
struct Faults {
    std::string at;             // an operation; empty: all is well
    int skip = 0;               // so many calls of it go well first
    bool sticky = false;        // and nothing works from then on, as when a device is lost
    bool halfDone = false;      // the operation writes before it fails
    bool ownMemory = true;      // Backend::hasOwnMemory()
    std::optional<double> room; // free memory
    std::chrono::microseconds downloadTakes{0};
    std::string words = "The pretended device failed";
    std::map<std::string, long> calls;
    bool lost = false;

    void arm(std::string operation, int after, bool forGood)
    {
        at = std::move(operation);
        skip = after;
        sticky = forGood;
    }
    void heal()
    {
        at.clear();
        lost = false;
    }
    // Whether the call is to fail.
    bool strikes(const std::string& operation)
    {
        ++calls[operation];
        if (lost)
            return true;
        if (at != operation || skip-- > 0)
            return false;
        at.clear();
        lost = sticky;
        return true;
    }
    [[noreturn]] void fail(const std::string& operation) const
    {
        throw BackendError(words + " in " + operation + (lost ? " and is lost." : "."));
    }
};

class FaultyBackend : public Backend {
public:
    explicit FaultyBackend(std::shared_ptr<Faults> faults, int threads = 1)
        : m_faults(std::move(faults)), m_cpu(makeBackend("cpu", threads))
    {
    }

    std::string name() const override { return "Pretended device"; }
    std::string description() const override { return "Pretended device (computes as the CPU)"; }
    bool multipliesNatively(FormatId inputs) const override { return m_cpu->multipliesNatively(inputs); }
    std::optional<MemoryRoom> memoryRoom() const override
    {
        return m_faults->room ? std::optional(MemoryRoom{*m_faults->room, 8e9}) : m_cpu->memoryRoom();
    }
    bool hasOwnMemory() const override { return m_faults->ownMemory; }
    void forgetResults() noexcept override { m_cpu->forgetResults(); }

    Tensor makeTensor(FormatId format, std::int64_t rows, std::int64_t cols) override
    {
        return run("makeTensor", [&] { return m_cpu->makeTensor(format, rows, cols); });
    }
    void upload(std::span<const float> host, Tensor& to) override
    {
        run("upload", [&] { m_cpu->upload(host, to); });
    }
    void download(const Tensor& from, std::span<float> host) override
    {
        std::this_thread::sleep_for(m_faults->downloadTakes);
        run("download", [&] { m_cpu->download(from, host); });
    }
    void synchronize() override
    {
        run("synchronize", [&] { m_cpu->synchronize(); });
    }
    void fillZero(Tensor& t) override
    {
        run("fillZero", [&] { m_cpu->fillZero(t); });
    }
    void cast(const Tensor& from, Tensor& to, CastProbe* probe) override
    {
        run("cast", [&] { m_cpu->cast(from, to, probe); });
    }
    float largestMagnitude(const Tensor& t) override
    {
        return run("largestMagnitude", [&] { return m_cpu->largestMagnitude(t); });
    }
    void add(const Tensor& a, const Tensor& b, Tensor& to, CastProbe* probe) override
    {
        run("add", [&] { m_cpu->add(a, b, to, probe); });
    }
    void dropout(const Tensor& from, Tensor& to, float p, std::uint64_t seed, CastProbe* probe) override
    {
        run("dropout", [&] { m_cpu->dropout(from, to, p, seed, probe); });
    }
    void embeddingForward(std::span<const std::int32_t> tokens, const Tensor& token, const Tensor& patches,
                          const Tensor& position, Tensor& out, CastProbe* probe) override
    {
        run("embeddingForward", [&] { m_cpu->embeddingForward(tokens, token, patches, position, out, probe); });
    }
    void tokenEmbeddingBackward(std::span<const std::int32_t> tokens, const Tensor& dOut, Tensor& dToken,
                                CastProbe* probe) override
    {
        run("tokenEmbeddingBackward", [&] { m_cpu->tokenEmbeddingBackward(tokens, dOut, dToken, probe); });
    }
    void positionEmbeddingBackward(const Tensor& dOut, Tensor& dPosition, CastProbe* probe) override
    {
        run("positionEmbeddingBackward", [&] { m_cpu->positionEmbeddingBackward(dOut, dPosition, probe); });
    }
    void gatherRows(const Tensor& from, std::span<const std::int32_t> rows, Tensor& to, CastProbe* probe) override
    {
        run("gatherRows", [&] { m_cpu->gatherRows(from, rows, to, probe); });
    }
    void meanPoolForward(const Tensor& x, Tensor& out, CastProbe* probe) override
    {
        run("meanPoolForward", [&] { m_cpu->meanPoolForward(x, out, probe); });
    }
    void meanPoolBackward(const Tensor& dOut, Tensor& dx, CastProbe* probe) override
    {
        run("meanPoolBackward", [&] { m_cpu->meanPoolBackward(dOut, dx, probe); });
    }
    void gemm(const Gemm& args) override
    {
        run("gemm", [&] { m_cpu->gemm(args); });
    }
    void columnSum(const Tensor& from, Tensor& out, CastProbe* probe) override
    {
        run("columnSum", [&] { m_cpu->columnSum(from, out, probe); });
    }
    void layerNormForward(const Tensor& x, const Tensor& gain, const Tensor& shift, Tensor& out, Tensor& mean,
                          Tensor& rstd, CastProbe* probe) override
    {
        run("layerNormForward", [&] { m_cpu->layerNormForward(x, gain, shift, out, mean, rstd, probe); });
    }
    void layerNormBackward(const Tensor& dOut, const Tensor& x, const Tensor& gain, const Tensor& mean,
                           const Tensor& rstd, const Tensor* residual, Tensor& dx, CastProbe* dxProbe, Tensor& dGain,
                           Tensor& dShift, CastProbe* weightProbe) override
    {
        run("layerNormBackward", [&] {
            m_cpu->layerNormBackward(dOut, x, gain, mean, rstd, residual, dx, dxProbe, dGain, dShift, weightProbe);
        });
    }
    void attentionForward(const AttentionShape& shape, FormatId format, const Tensor& qkv, Tensor& out,
                          Tensor& probabilities, CastProbe* probe) override
    {
        run("attentionForward", [&] { m_cpu->attentionForward(shape, format, qkv, out, probabilities, probe); });
    }
    void attentionBackward(const AttentionShape& shape, FormatId format, const Tensor& dOut, const Tensor& qkv,
                           const Tensor& probabilities, Tensor& dQkv, CastProbe* probe) override
    {
        run("attentionBackward",
            [&] { m_cpu->attentionBackward(shape, format, dOut, qkv, probabilities, dQkv, probe); });
    }
    double crossEntropy(const Tensor& logits, std::span<const std::int32_t> targets, float lossScale, Tensor* dLogits,
                        CastProbe* probe) override
    {
        return run("crossEntropy", [&] { return m_cpu->crossEntropy(logits, targets, lossScale, dLogits, probe); });
    }
    void argmax(const Tensor& x, std::span<std::int32_t> columns) override
    {
        run("argmax", [&] { m_cpu->argmax(x, columns); });
    }
    using Backend::unscale;
    Unscaled unscale(const Tensor& gradient, float inverseScale, Tensor& to) override
    {
        return run("unscale", [&] { return m_cpu->unscale(gradient, inverseScale, to); });
    }
    void adamw(const AdamW& hyper, const Tensor& gradient, Tensor& weights, Tensor& moment1, Tensor& moment2,
               UpdateProbe* probe) override
    {
        run("adamw", [&] { m_cpu->adamw(hyper, gradient, weights, moment1, moment2, probe); });
    }

private:
    template <typename Work>
    auto run(const char* operation, Work&& work) -> decltype(work())
    {
        if (m_faults->strikes(operation)) {
            if (m_faults->halfDone && !m_faults->lost)
                work();
            m_faults->fail(operation);
        }
        return work();
    }

    std::shared_ptr<Faults> m_faults;
    std::unique_ptr<Backend> m_cpu;
};

// Takes the place of the GPU's backend until the end of the program.
inline std::shared_ptr<Faults> pretendDevice()
{
    auto faults = std::make_shared<Faults>();
    replaceBackend({"cuda", "Pretended device", true, ""},
                   [faults](int threads) { return std::make_unique<FaultyBackend>(faults, threads); });
    return faults;
}

} // namespace halfscope::test
