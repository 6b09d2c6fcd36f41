// SPDX-License-Identifier: GPL-3.0-or-later
// Everything that decides a run: with the seed and the list of commands it reproduces it byte for byte.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "engine/amp/delayed_scaling.h"
#include "engine/amp/loss_scaler.h"
#include "engine/amp/precision_schedule.h"
#include "engine/data/dataset_registry.h"
#include "engine/model/precision_plan.h"
#include "engine/model/transformer_config.h"

namespace halfscope {

enum class LearningRateSchedule : std::uint8_t { Constant, WarmupCosine };

struct OptimizerConfig {
    float learningRate = 1e-3F;
    LearningRateSchedule schedule = LearningRateSchedule::Constant;
    std::int64_t warmupSteps = 100;
    std::int64_t decaySteps = 5000; // applied steps until the minimum is reached
    float minLearningRate = 1e-4F;
    double beta1 = 0.9;
    double beta2 = 0.999;
    float epsilon = 1e-8F;
    float weightDecay = 0.01F;
    float clipNorm = 1.0F; // of the unscaled gradients; 0: no clipping
    bool operator==(const OptimizerConfig&) const = default;
};

struct RunConfig {
    std::uint64_t seed = 1;
    std::string task = "language-model"; // a TaskInfo::key
    std::string data;                    // path of a file or folder, for tasks that need one of their own
    int patchSize = kSuitablePatch;      // of images; see DatasetRequest
    std::string text;                    // path of a UTF-8 file; empty: the installed novels, or generated text
    std::string backend = "cpu";         // or kAutomaticBackend
    std::string device;                  // of several GPUs: its place on the PCI bus, or its number; empty: the first
    int threads = 0;                     // 0: one a processor
    TransformerConfig model;
    OptimizerConfig optimizer;
    ScalerConfig scaler;
    std::string precision = "mixed-fp16";            // preset
    std::map<std::string, FormatId> modulePrecision; // exceptions, by module name
    PrecisionSchedule precisionSchedule;             // changes of the two above as training goes on
    WeightStorage weightStorage;
    Fp8Scaling fp8;
    bool scalePerModule = false; // linear layers and attention each have a loss scale
    int statisticsInterval = 1;  // measure every n-th step
    bool measureActivationGrads = true;
    bool measureActivations = false;       // the third tap
    bool measureUpdates = false;           // of the weights
    double lowQuantile = 0.01;             // of the stability band
    std::int64_t pretrainSteps = 0;        // that a classifier is a language model first
    std::int64_t validationInterval = 200; // look at held-out examples after every n-th step; 0: never
    std::int64_t validationExamples = 256; // at most
    int shadowInterval = 0;                // compare the gradients with FP32's every n-th step; 0: never
    bool shadowRun = false;                // train in FP32 alongside, from the same seed
    bool operator==(const RunConfig&) const = default;
};

// The experiment a first start shows: chosen by measuring so that flushed gradients, growth and a skipped step appear
// within the first minute on two cores.
RunConfig defaultExperiment();

} // namespace halfscope
