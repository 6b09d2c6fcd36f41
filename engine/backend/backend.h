// SPDX-License-Identifier: GPL-3.0-or-later
// The operations a transformer's training step needs. Model and trainer are written against this class alone; a new
// device is a new implementation of it, registered in backend_registry.h.
//
// Conventions. Matrices are row-major. N = batch * context rows ("tokens"), C = width, V = vocabulary. Every operation
// computes in FP32 (reductions as documented by the implementation) and rounds once, on store, into the format of the
// tensor it writes. Tensors of any format may meet: reading one is exact. Results may not depend on the number of
// threads. An implementation may run asynchronously: probes and host results are valid after synchronize().
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

#include "engine/backend/tensor.h"
#include "engine/core/memory.h"
#include "engine/numerics/tensor_statistics.h"
#include "engine/numerics/update_statistics.h"

namespace halfscope {

// Thrown when a device can no longer work (out of memory, lost device). what() is one sentence for the user.
class BackendError : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

// Watches the values an operation is about to round on store.
struct CastProbe {
    // in
    bool measure = false;      // fill `statistics`; the two flags below are always kept
    float inverseScale = 1.0F; // histogram and sums are of value * inverseScale
    float factor = 1.0F;       // values are multiplied by this before they are counted and rounded (scales, spikes)
    bool clamp = false; // finite values beyond the format's largest are stored as the largest, as FP8 hardware does it
    std::optional<FormatId> countedAs; // the format whose classes count; none: that of the tensor
    // out; operations add to them, so clear() them before a step. Valid after synchronize(); until then the probe must
    // exist.
    TensorStatistics statistics;
    bool saturated = false; // a finite value became nonfinite by rounding; never with `clamp`
    bool nonfinite = false; // a value was not finite before rounding

    void clear()
    {
        statistics.reset();
        saturated = nonfinite = false;
    }
};

enum class Activation : std::uint8_t { Gelu, Relu }; // GELU by the error function, as torch.nn.GELU()

// What a matrix product does with its FP32 result r (m, n), after it was multiplied by `alpha` and `bias` (n) was added
// to each row.
enum class Epilogue : std::uint8_t {
    Store,              // c = round(r)
    Activate,           // c = round(r); activated = round(act(c))
    AddResidual,        // c = round(operand + productFactor * roundTo(productFormat, r))
    ActivationBackward, // c = round(r * act'(operand)); operand is the pre-activation
};

struct Gemm {
    const Tensor& a; // op(a): (m, k)
    bool transposeA = false;
    const Tensor& b; // op(b): (k, n)
    bool transposeB = false;
    Tensor& c; // (m, n)
    const Tensor* bias = nullptr;
    Epilogue epilogue = Epilogue::Store;
    Activation activation = Activation::Gelu;
    const Tensor* operand = nullptr; // (m, n); may be c itself for AddResidual
    Tensor* activated = nullptr;     // (m, n)
    FormatId productFormat = FormatId::Fp32;
    float productFactor = 1.0F;
    float alpha = 1.0F;                  // undoes the scales of FP8 factors
    bool tf32 = false;                   // FP32 factors are rounded to TF32 as they are read
    CastProbe* probe = nullptr;          // of the value stored in c
    CastProbe* activatedProbe = nullptr; // of the value stored in `activated`
};

struct AttentionShape {
    int batch = 0;
    int context = 0; // T
    int heads = 0;
    int headWidth = 0; // C = heads * headWidth
    bool causal = true;
};

struct AdamW {
    float learningRate = 1e-3F;
    double beta1 = 0.9; // in double, so that 1 - beta is rounded once, as in torch
    double beta2 = 0.999;
    float epsilon = 1e-8F;
    float weightDecay = 0.0F;    // decoupled
    float biasCorrection1 = 1;   // 1 - beta1^t
    float biasCorrection2 = 1;   // 1 - beta2^t
    float gradientFactor = 1.0F; // clipping: the gradient is multiplied by this first
};

// Watches what an update does to the weights.
struct UpdateProbe {
    // in
    FormatId format = FormatId::Fp32; // in which a weight has to move to count as moved
    float factor = 1.0F;              // weights are multiplied by this before they are rounded into it (FP8's scale)
    // out; added to
    UpdateStatistics statistics;
};

class Backend {
public:
    Backend() = default;
    Backend(const Backend&) = delete;
    Backend& operator=(const Backend&) = delete;
    virtual ~Backend() = default;

    virtual std::string name() const = 0;        // "CPU"
    virtual std::string description() const = 0; // "CPU · AVX2 · 2 threads (FP16 emulated, exact)"

    // Whether the device itself multiplies numbers of this format, or they are widened to FP32 and what an instruction
    // of theirs would give is computed from that: exactly, but at FP32's speed. Of gemm(), and of attention's products.
    virtual bool multipliesNatively(FormatId inputs) const { return inputs == FormatId::Fp32; }
    virtual bool attendsNatively(FormatId inputs) const { return inputs == FormatId::Fp32; }

    // Of the memory that tensors are in; nullopt: unknown.
    virtual std::optional<MemoryRoom> memoryRoom() const { return machineMemory(); }
    // Bytes that tensors can still take; nullopt: unknown.
    std::optional<double> availableMemory() const
    {
        const std::optional<MemoryRoom> room = memoryRoom();
        return room ? std::optional(room->free) : std::nullopt;
    }
    // Whether that is the device's own, which is gone when the device is.
    virtual bool hasOwnMemory() const { return false; }
    virtual Tensor makeTensor(FormatId format, std::int64_t rows, std::int64_t cols) = 0; // zeroed
    virtual void upload(std::span<const float> host, Tensor& to) = 0;     // rounds into the tensor's format
    virtual void download(const Tensor& from, std::span<float> host) = 0; // widens; synchronises
    virtual void synchronize() = 0;
    // After an operation threw, before anything else is asked: drops the probes and results that have not come back
    // yet, which may no longer exist.
    virtual void forgetResults() noexcept {}
    // Stops the time since the lap before, in milliseconds, when the device comes to this point; null: the watch only
    // starts. Valid after synchronize(), and must exist until then.
    virtual void lap(float* milliseconds)
    {
        const auto now = std::chrono::steady_clock::now();
        if (milliseconds != nullptr)
            *milliseconds = std::chrono::duration<float, std::milli>(now - m_lap).count();
        m_lap = now;
    }

    // --- whole tensors -------------------------------------------------------------------------------------------
    virtual void fillZero(Tensor& t) = 0;
    virtual void cast(const Tensor& from, Tensor& to, CastProbe* probe) = 0; // same shape
    // The largest magnitude; infinite if a value is infinite or NaN, 0 of an empty tensor. Synchronises.
    virtual float largestMagnitude(const Tensor& t) = 0;
    // to = round(a + b); may be in place
    virtual void add(const Tensor& a, const Tensor& b, Tensor& to, CastProbe* probe) = 0;
    // to = keep ? from / (1 - p) : 0, keep decided per element by (seed, element index) alone, so forward and backward
    // pass the same seed. May be in place. `probe` as everywhere.
    virtual void dropout(const Tensor& from, Tensor& to, float p, std::uint64_t seed, CastProbe* probe) = 0;

    // --- embedding -----------------------------------------------------------------------------------------------
    // out (N, C) = token (V, C)[tokens[n]] + position (T, C)[n % T]. Where tokens[n] is -1 the next row of `patches`
    // takes the place of a token's: it has as many rows as there are such n, and may be empty.
    virtual void embeddingForward(std::span<const std::int32_t> tokens, const Tensor& token, const Tensor& patches,
                                  const Tensor& position, Tensor& out, CastProbe* probe) = 0;
    // dToken (V, C) = sum over n of dOut (N, C); dPosition (T, C) likewise. Summed in FP32 in the order of n.
    virtual void tokenEmbeddingBackward(std::span<const std::int32_t> tokens, const Tensor& dOut, Tensor& dToken,
                                        CastProbe* probe) = 0;
    virtual void positionEmbeddingBackward(const Tensor& dOut, Tensor& dPosition, CastProbe* probe) = 0;
    // to[i] = from[rows[i]], row by row
    virtual void gatherRows(const Tensor& from, std::span<const std::int32_t> rows, Tensor& to, CastProbe* probe) = 0;

    // --- pooling -------------------------------------------------------------------------------------------------
    // out (B, C) = the mean of each T rows of x (B * T, C): summed in FP32 in order, times 1/T. dx[n] = dOut[n / T] /
    // T.
    virtual void meanPoolForward(const Tensor& x, Tensor& out, CastProbe* probe) = 0;
    virtual void meanPoolBackward(const Tensor& dOut, Tensor& dx, CastProbe* probe) = 0;

    // --- matrix product ------------------------------------------------------------------------------------------
    virtual void gemm(const Gemm& args) = 0;
    // out (1, cols) = sum over rows
    virtual void columnSum(const Tensor& from, Tensor& out, CastProbe* probe) = 0;

    // --- layer norm (eps 1e-5) -------------------------------------------------------------------------------------
    // x (N, C), gain and shift (1, C), out (N, C), mean and rstd (N, 1) FP32
    virtual void layerNormForward(const Tensor& x, const Tensor& gain, const Tensor& shift, Tensor& out, Tensor& mean,
                                  Tensor& rstd, CastProbe* probe) = 0;
    // dx = round(residual + d(norm)/dx); residual (N, C) may be null, and may be dx itself.
    virtual void layerNormBackward(const Tensor& dOut, const Tensor& x, const Tensor& gain, const Tensor& mean,
                                   const Tensor& rstd, const Tensor* residual, Tensor& dx, CastProbe* dxProbe,
                                   Tensor& dGain, Tensor& dShift, CastProbe* weightProbe) = 0;

    // --- attention -----------------------------------------------------------------------------------------------
    // qkv (N, 3C) holds q | k | v of each token; out (N, C); probabilities (batch * heads * T, T). `format` is the
    // module's: q, k, v, the scores q·k and the probabilities are rounded into it, softmax((q·k) / sqrt(headWidth))
    // itself is FP32. probabilities is stored in `format`. `saturated`: a score or an input saturated in `format`.
    // TF32: all tensors are FP32, and only factors of products (q, k, v, dOut, the probabilities, dScores) are rounded.
    virtual void attentionForward(const AttentionShape& shape, FormatId format, const Tensor& qkv, Tensor& out,
                                  Tensor& probabilities, CastProbe* probe) = 0;
    // dOut (N, C) -> dQkv (N, 3C). dScores are rounded into `format` before they are multiplied.
    virtual void attentionBackward(const AttentionShape& shape, FormatId format, const Tensor& dOut, const Tensor& qkv,
                                   const Tensor& probabilities, Tensor& dQkv, CastProbe* probe) = 0;

    // --- loss ----------------------------------------------------------------------------------------------------
    // Mean cross-entropy, FP32 softmax of logits (targets.size(), V). Targets are in [0, V), or -1: nothing is
    // predicted there. Writes dLogits = round((p - y) * lossScale / n), 0 where nothing is predicted, when dLogits is
    // given; n is the number of predictions, at least 1. Returns the mean loss, the sum taken in double; synchronises.
    virtual double crossEntropy(const Tensor& logits, std::span<const std::int32_t> targets, float lossScale,
                                Tensor* dLogits, CastProbe* probe) = 0;

    // columns[i] = where row i of x is largest, the first of equals; -1 where the row has a NaN. Synchronises.
    virtual void argmax(const Tensor& x, std::span<std::int32_t> columns) = 0;

    // --- optimizer -----------------------------------------------------------------------------------------------
    struct Unscaled {
        bool foundInf = false;
        double sumSquares = 0.0;
    };
    // to (FP32) = gradient * inverseScale; foundInf if a value was not finite before or after; synchronises.
    virtual Unscaled unscale(const Tensor& gradient, float inverseScale, Tensor& to) = 0;
    // The same without waiting: `result` is valid after synchronize(), and must exist until then.
    virtual void unscale(const Tensor& gradient, float inverseScale, Tensor& to, Unscaled& result)
    {
        result = unscale(gradient, inverseScale, to);
    }
    // One update from an FP32 gradient. The weights and both moments, of any format, are updated in place. It computes
    // in FP32 and rounds each of the three once, except where weights and moments have one narrow format: there the
    // result of every operation is rounded into it, as by torch.optim.AdamW on half parameters (not fused), to which
    // epsilon = 1e-8 is nothing in FP16. `probe` may be null; if it
    // is not, it synchronises.
    virtual void adamw(const AdamW& hyper, const Tensor& gradient, Tensor& weights, Tensor& moment1, Tensor& moment2,
                       UpdateProbe* probe = nullptr) = 0;

private:
    std::chrono::steady_clock::time_point m_lap;
};

} // namespace halfscope
