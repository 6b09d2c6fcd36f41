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
// produces it, or, when the module's format differs from that of the store, in the cast on arrival. For an FP8 module
// that is the cast to E5M2, scaled; what is counted of a TF32 module is judged as TF32, which its products read it as.
//
// FP8. A linear layer's input, weight and output gradient are kept in BF16 (weights: as the optimizer has them) and
// cast for its three products, each with a scale of its own (delayed_scaling.h), which the product undoes in FP32.
// Finite values beyond the largest are clamped to it, as the hardware's conversion does; infinite ones stay nonfinite,
// so that found_inf sees them. With scaling off values are cast as they are, and overflow as in a plain cast. Biases
// and their gradients are not rounded to FP8.
//
// Loss scale by module. A linear layer or attn.core whose gradients have a smaller range than FP32, and no scale of
// FP8's, may have a loss scale of its own: its output gradient is brought to it where that is stored or cast for it, by
// a power of two, so that nothing but underflow and overflow changes. All else, the residual stream above all, has the
// step's scale.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "engine/amp/delayed_scaling.h"
#include "engine/backend/backend.h"
#include "engine/core/rng.h"
#include "engine/model/memory_estimate.h"
#include "engine/model/precision_plan.h"
#include "engine/model/transformer_config.h"
#include "engine/train/telemetry.h"

namespace halfscope {

struct Parameter {
    std::string name; // "h0.attn.qkv.weight" (out, in), "h0.attn.qkv.bias" (1, out), as torch.nn names them
    int module = 0;
    bool product = false; // a factor of matrix products: in FP8 where the module is
    Tensor master;        // what the optimizer updates: FP32, or the module's storage format without master weights
    Tensor compute;       // the master rounded into the format it is used in; the master itself when that is the same
    Tensor gradient;      // of the scaled loss, in the module's storage format
    Tensor moment1;       // AdamW
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

    // The FP8 tensors of a linear layer.
    struct Fp8Scales {
        DelayedScale input;
        DelayedScale weight;
        DelayedScale gradient;
    };
    // What training makes of a model, between two steps, as another backend can take it over bit for bit: what the host
    // holds, and what is in the backend's memory.
    struct HostState {
        std::vector<Fp8Scales> fp8; // by module
        std::vector<float> spikes;  // injected for the next step, in backward order
    };
    using Values = std::vector<std::vector<float>>; // of each parameter the master and both moments
    void copyTo(HostState& state) const;
    void copyTo(Values& values) const; // synchronises
    // Into a model of the same configuration, plan, storage and scaling.
    void restore(const HostState& state);
    void restore(const Values& values);

    int moduleId(std::string_view name) const; // -1: none
    const PrecisionPlan& plan() const { return m_plan; }
    std::vector<Parameter>& parameters() { return m_parameters; }
    const std::vector<Parameter>& parameters() const { return m_parameters; }
    std::int64_t parameterCount() const;
    MemoryUse memory() const;
    std::size_t bytes() const { return static_cast<std::size_t>(memory().total()); }

    // At a step boundary. Masters and moments are untouched; computed copies and activations are made anew.
    void setPlan(const PrecisionPlan& plan);
    // At a step boundary. Weights and moments are rounded into the formats they have from now on.
    const WeightStorage& weightStorage() const { return m_storage; }
    void setWeightStorage(const WeightStorage& storage);
    // At a step boundary. Switching off forgets the scales.
    void setFp8Scaling(const Fp8Scaling& scaling);
    // After the masters changed.
    void refreshCompute();
    // After the optimizer, skipped or not: FP8 tensors get their scales for the next step.
    void finishStep();
    // In which format the weights of a module have to move to be felt, and what they are multiplied by before that.
    UpdateProbe updateProbe(const Parameter& parameter) const;
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
        std::span<const float> moduleScales = {}; // by module, powers of two; empty: all have lossScale
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
    // What the tap's values were multiplied by, where that was not the step's loss scale; else 0.
    float tapOwnScale(int module, Tap tap) const { return m_taps[index(module, tap)].ownScale; }
    // Whether a module can have a loss scale of its own in this plan, and the scale its gradients have in this step.
    bool canHaveScale(int module) const;
    float scaleOf(int module) const;
    // The format the tap's values were rounded into in the last step.
    FormatId tapFormat(int module, Tap tap) const { return m_taps[index(module, tap)].format; }
    bool hasTap(int module, Tap tap) const;
    // Taps of gradients in backward order: next to the loss first; of one module the activation gradient first.
    const std::vector<std::pair<int, Tap>>& backwardOrder() const { return m_backwardOrder; }

private:
    struct TapState {
        CastProbe probe;
        FormatId format = FormatId::Fp32;
        float spike = 1.0F; // the factor injected for this step
        float ownScale = 0.0F;
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
        Precise,
        Logits,
        Tied,
        Pooled,
        TokenRows,
        PatchRows,
    };

    std::size_t index(int module, Tap tap) const
    {
        return static_cast<std::size_t>(module * kTapCount + static_cast<int>(tap));
    }
    FormatId formatOf(int module) const { return m_plan[static_cast<std::size_t>(module)]; }
    FormatId storedFormat(int module) const { return storageFormat(formatOf(module)); }
    bool isFp8(int module) const { return formatOf(module) == FormatId::Fp8E4M3; }
    bool isTf32(int module) const { return formatOf(module) == FormatId::Tf32; }
    Parameter& parameter(int i) { return m_parameters[static_cast<std::size_t>(i)]; }
    const Tensor& weight(int i) const { return m_parameters[static_cast<std::size_t>(i)].compute; }
    const Tensor& headWeight() const { return m_config.tiedHead ? m_tiedWeight : weight(m_head.weight); }
    bool pools() const { return !m_config.predictsNext(); }
    bool joins() const { return m_config.patches > 0 && m_config.hasTokens(); } // patches and tokens in one sequence
    AttentionShape attentionShape() const;
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
    void makeWeights(Parameter& p);
    Tensor recast(const Tensor& from, FormatId format);
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
        bool spike = false;  // injected here: this module's copy alone is to carry it, not the whole stream
        bool shared = false; // the tensor is the stream, which goes on to other modules as it is
    };
    // The gradient of a linear layer's output.
    struct OutputGradient {
        const Tensor* product; // as its matrix products read it
        const Tensor* precise; // before it was cast to FP8; else the same
    };
    Arrival branchArrival(int module, int place) const;
    bool countedOnArrival(const Arrival& to, FormatId stored) const;
    CastProbe* tapProbe(int module, FormatId counted, float factor);
    CastProbe* storeProbe(const Arrival& to, FormatId stored, float scale);
    const Tensor& arrive(const Arrival& to, const Tensor& gradient, float scale, Slot slot);
    OutputGradient arriveAtLinear(const Arrival& to, const Tensor& gradient, float scale, Slot slot);
    void weightGradients(const Linear& layer, const OutputGradient& dOut, const Tensor& x);
    void inputGradient(const Linear& layer, const OutputGradient& dOut, Tensor& dInput, const Tensor* residual,
                       CastProbe* probe, float factor = 1.0F);
    OutputGradient mlpBackward(Block& block, int place, const Tensor& dSum, const Tensor& input);
    OutputGradient attentionBackward(Block& block, int place, const Tensor& dSum, const Tensor& input);
    void normBackward(Norm& norm, const Tensor& dOut, const Tensor& x, const Tensor* residual, Tensor& dx,
                      CastProbe* probe);
    float featureGradient(Tensor& dFeatures, const Arrival& to);
    const Tensor& arriveRows(int module, const Tensor& gradient, std::span<const std::int32_t> rows, Slot slot);
    OutputGradient arriveAtPatches(const Tensor& gradient);
    void embeddingBackward(const Batch& batch, const Tensor& dx);
    void tokenGradient(const Batch& batch, const Tensor& dToken);
    std::uint64_t dropoutSeed(int place) const;
    // FP8: scales, and what undoes them after a product.
    void castFp8Weights();
    void castToFp8(const Tensor& from, Tensor& to, DelayedScale& scale, CastProbe& probe);
    float undoForward(int module) const;
    float undoInputGradient(int module) const;
    float undoWeightGradient(int module) const;
    Fp8Scales& fp8(int module) { return (*m_fp8)[static_cast<std::size_t>(module)]; }
    const Fp8Scales& fp8(int module) const { return (*m_fp8)[static_cast<std::size_t>(module)]; }

    Backend& m_backend;
    std::function<void()> m_whileBuilding; // empty once it is built
    TransformerConfig m_config;
    std::vector<ModuleInfo> m_modules;
    std::map<std::string, int, std::less<>> m_moduleIds;
    PrecisionPlan m_plan;
    WeightStorage m_storage;
    Fp8Scaling m_fp8Scaling;
    std::shared_ptr<std::vector<Fp8Scales>> m_fp8; // by module; those in FP8 use it. A copy has those of the trained
    bool m_training = true;                        // the pass is one of training, whose maxima count
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
    struct InputProbe {
        CastProbe probe;
        CastProbe* reader = nullptr; // of the module, which is to know of saturation
    };
    std::map<int, InputProbe> m_inputProbes;
    std::map<std::tuple<Slot, int, FormatId>, Tensor> m_scratch;
    int m_streamTurn = 0;
};

} // namespace halfscope
