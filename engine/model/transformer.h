// SPDX-License-Identifier: GPL-3.0-or-later
// A transformer with a format for every module: a language model, or an encoder whose outputs' mean is classified.
// Written against Backend alone.
//
// What meets what follows PyTorch autocast: a linear layer or attn.core takes its inputs in its own format and hands
// its result on in that format; a sum has the wider of its operands' formats (FP16 and BF16 meet in FP32); norms and
// softmax compute in FP32. A norm's result is stored at once in the format its consumer will read, which is the same
// value as storing FP32 and casting.
//
// Activation gradients. Each module has one tap: the gradient with respect to its output, as the module uses it. It is
// counted where it is last rounded into 16 bits, on the FP32 value before that: on the store of the operation that
// produces it, or, when the module's format differs from that of the store, in the cast on arrival.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "engine/backend/backend.h"
#include "engine/core/rng.h"
#include "engine/model/precision_plan.h"
#include "engine/model/transformer_config.h"
#include "engine/train/telemetry.h"

namespace halfscope {

struct Parameter {
    std::string name; // "h0.attn.qkv.weight" (out, in), "h0.attn.qkv.bias" (1, out), as torch.nn names them
    int module = 0;
    Tensor master;   // FP32
    Tensor compute;  // the master rounded into the module's format; the master itself when that is FP32
    Tensor gradient; // of the scaled loss, in the module's format
    Tensor moment1;  // FP32, AdamW
    Tensor moment2;
};

class Transformer {
public:
    // `whileBuilding` is called before each parameter is made, which for a large model takes many seconds in all; it
    // may throw to give up.
    Transformer(Backend& backend, const TransformerConfig& config, const PrecisionPlan& plan, std::uint64_t seed,
                const std::function<void()>& whileBuilding = {});

    const TransformerConfig& config() const { return m_config; }
    const std::vector<ModuleInfo>& modules() const { return m_modules; }
    // The same weights, not copied, with activations and taps of its own and without dropout: to look at held-out
    // examples between two steps. It may be used until the plan or the head changes, and it cannot train.
    Transformer(const Transformer& trained, int batch);

    int moduleId(std::string_view name) const; // -1: none
    const PrecisionPlan& plan() const { return m_plan; }
    std::vector<Parameter>& parameters() { return m_parameters; }
    const std::vector<Parameter>& parameters() const { return m_parameters; }
    std::int64_t parameterCount() const;
    std::size_t bytes() const; // weights, gradients, moments and activations

    // At a step boundary. Masters and moments are untouched; computed copies and activations are made anew.
    void setPlan(const PrecisionPlan& plan);
    // After the masters changed.
    void refreshCompute();
    // Ends pretraining: a new head classifies the mean of the outputs. The optimizer's moments of all parameters are 0
    // again, as those of an optimizer made anew.
    void swapHead(std::uint64_t seed);

    struct Batch {
        std::span<const std::int32_t> inputs;  // batch * (context - patches) tokens
        std::span<const std::int32_t> targets; // config().predictions() of them; -1: nothing is predicted there
        std::span<const float> patches = {};   // batch * patches * patchWidth
    };
    // Probes are cleared; `measure...`: which taps fill in statistics.
    struct StepOptions {
        float lossScale = 1.0F;
        float inverseScale = 1.0F;
        bool measureWeightGrads = true;
        bool measureActivationGrads = true;
        bool measureActivations = false;
        std::uint64_t dropoutSeed = 0;
    };
    // The mean loss; leaves the scaled gradient of the logits for backward().
    double forward(const Batch& batch, const StepOptions& options);
    void backward(const Batch& batch);
    // The mean loss alone; nothing is measured.
    double evaluate(const Batch& batch);
    const Tensor& logits() const { return m_logits; }

    // The probe behind a tap. Set `factor` before forward() to inject a spike; it is reset by the end of backward().
    CastProbe& probe(int module, Tap tap) { return m_taps[index(module, tap)].probe; }
    const CastProbe& probe(int module, Tap tap) const { return m_taps[index(module, tap)].probe; }
    // The format the tap's values were rounded into in the last step.
    FormatId tapFormat(int module, Tap tap) const { return m_taps[index(module, tap)].format; }
    bool hasTap(int module, Tap tap) const;
    // Taps of gradients in backward order: next to the loss first; of one module the activation gradient first.
    const std::vector<std::pair<int, Tap>>& backwardOrder() const { return m_backwardOrder; }

private:
    struct TapState {
        CastProbe probe;
        FormatId format = FormatId::Fp32;
    };
    struct Linear {
        int module = 0;
        int weight = 0; // index of the parameter
        int bias = -1;  // -1: none
    };
    struct Norm {
        int module = 0;
        int gain = 0;
        int shift = 0;
        Tensor mean;
        Tensor rstd;
    };
    struct Block {
        Norm norm1;
        Linear qkv;
        int core = 0;
        Linear proj;
        Norm norm2;
        Linear fc;
        Linear fc2;
        // Activations, kept for the backward pass. (N, ...) each.
        Tensor normed1; // pre-norm: LN1(x), what qkv reads
        Tensor qkvOut;
        Tensor probabilities;
        Tensor mixed;  // attention's result
        Tensor sum1;   // x + attention
        Tensor middle; // post-norm: LN1(sum1)
        Tensor normed2;
        Tensor hidden;    // before the activation
        Tensor activated; // after it
        Tensor sum2;
        Tensor out; // post-norm: LN2(sum2)
    };
    // Temporary matrices, one a purpose and format, made at first use.
    enum class Slot : std::uint8_t {
        Stream,
        Branch,
        Normed,
        Arrived,
        Mixed,
        Qkv,
        Hidden,
        Product,
        Pooled,
        TokenRows,
        PatchRows,
    };

    std::size_t index(int module, Tap tap) const
    {
        return static_cast<std::size_t>(module * kTapCount + static_cast<int>(tap));
    }
    FormatId formatOf(int module) const { return m_plan[static_cast<std::size_t>(module)]; }
    Parameter& parameter(int i) { return m_parameters[static_cast<std::size_t>(i)]; }
    const Tensor& weight(int i) const { return m_parameters[static_cast<std::size_t>(i)].compute; }
    const Tensor& headWeight() const { return m_config.tiedHead ? m_tiedWeight : weight(m_head.weight); }
    bool pools() const { return !m_config.predictsNext(); }
    bool joins() const { return m_config.patches > 0 && m_config.hasTokens(); } // patches and tokens in one sequence
    int embeddingModule() const;     // that the gradient of the whole embedded sequence arrives at first
    Tensor& stream(FormatId format); // the next buffer for a gradient of the residual stream

    Transformer(const Transformer&) = default;

    void initialise(Parameter& p, std::int64_t rows, std::int64_t cols, float deviation, float constant, Rng& rng);
    int addParameter(int module, std::string name, std::int64_t rows, std::int64_t cols, float deviation,
                     float constant, Rng& rng);
    Linear addLinear(const std::string& module, std::int64_t out, std::int64_t in, bool bias, float deviation,
                     Rng& rng);
    Norm addNorm(const std::string& module, Rng& rng);
    void makeActivations();
    Tensor& scratch(Slot slot, int instance, FormatId format, std::int64_t rows, std::int64_t cols);

    // Forward pieces
    void clearTaps(const StepOptions& options);
    void embed(const Batch& batch);
    void run(const Batch& batch); // from the batch to the logits
    CastProbe* outputProbe(int module, FormatId stored);
    bool needsCast(int module, const Tensor& x) const;
    const Tensor& castInput(int module, const Tensor& x, CastProbe& probe);
    const Tensor& linearInput(int module, const Tensor& x) const;
    void linearForward(const Linear& layer, const Tensor& x, Tensor& out);
    void residualForward(const Linear& layer, const Tensor& x, const Tensor& residual, Tensor& sum, std::uint64_t seed);
    void normForward(Norm& norm, const Tensor& x, Tensor& out);
    void attentionSublayer(Block& block, const Tensor& input);
    // Backward pieces
    // Where a dropout lies between a module's output and its reader, the gradient passes it on arrival.
    struct Arrival {
        int module = 0;
        bool dropout = false;
        std::uint64_t seed = 0;
        bool spike = false; // injected here: this module's copy alone is to carry it, not the whole stream
    };
    Arrival branchArrival(int module, int place) const;
    bool changesOnArrival(const Arrival& to, FormatId stored) const;
    CastProbe* storeProbe(const Arrival& to, FormatId stored);
    const Tensor& arrive(const Arrival& to, const Tensor& gradient, Slot slot);
    void weightGradients(const Linear& layer, const Tensor& dOut, const Tensor& x);
    void inputGradient(const Linear& layer, const Tensor& dOut, Tensor& dInput, const Tensor* residual,
                       CastProbe* probe);
    const Tensor& mlpBackward(Block& block, int place, const Tensor& dSum, const Tensor& input);
    const Tensor& attentionBackward(Block& block, int place, const Tensor& dSum, const Tensor& input);
    void normBackward(Norm& norm, const Tensor& dOut, const Tensor& x, const Tensor* residual, Tensor& dx,
                      CastProbe* probe);
    void featureGradient(Tensor& dFeatures, const Arrival& to);
    const Tensor& arriveRows(int module, const Tensor& gradient, std::span<const std::int32_t> rows, Slot slot);
    void embeddingBackward(const Batch& batch, const Tensor& dx);
    void tokenGradient(const Batch& batch, const Tensor& dToken);
    std::uint64_t dropoutSeed(int place) const;

    Backend& m_backend;
    std::function<void()> m_whileBuilding; // empty once it is built
    TransformerConfig m_config;
    std::vector<ModuleInfo> m_modules;
    std::map<std::string, int, std::less<>> m_moduleIds;
    PrecisionPlan m_plan;
    std::vector<Parameter> m_parameters;
    std::vector<TapState> m_taps;
    std::vector<std::pair<int, Tap>> m_backwardOrder;
    StepOptions m_options;

    int m_token = -1; // parameter indices; -1: none
    int m_position = 0;
    int m_tokenModule = -1; // -1: examples have no tokens
    int m_positionModule = 0;
    Linear m_patch;
    int m_pool = -1;
    std::vector<Block> m_blocks;
    Norm m_finalNorm;
    Linear m_head;
    int m_lossModule = 0;
    Tensor m_embedded;
    Tensor m_finalNormed;
    Tensor m_patchInput; // FP32, as the data set gave them
    Tensor m_patched;
    Tensor m_pooled;
    // Of a batch of patches and tokens: which row is which, for the embedding and for taking its gradient apart.
    std::vector<std::int32_t> m_sequence; // a token, or -1 for a patch
    std::vector<std::int32_t> m_tokenRows;
    std::vector<std::int32_t> m_patchRows;
    Tensor m_logits;
    Tensor m_dLogits;
    Tensor m_tiedWeight;                // tied head only: the token embedding in the head's format
    Tensor m_tiedGradient;              // and the head's share of its gradient
    Tensor m_tokenShare;                // the other share, FP32, where the gradient is not
    std::map<int, Tensor> m_castInputs; // by module: its input in its own format, where that had to be made
    std::map<std::tuple<Slot, int, FormatId>, Tensor> m_scratch;
    int m_streamTurn = 0;
};

} // namespace halfscope
