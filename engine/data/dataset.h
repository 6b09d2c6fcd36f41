// SPDX-License-Identifier: GPL-3.0-or-later
// What a task trains on: examples, each a sequence of patches (of an image) followed by tokens (of a text), and what is
// to be predicted from it. The model takes its vocabulary, context and number of classes from DatasetInfo.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/core/rng.h"

namespace halfscope {

struct DatasetInfo {
    std::string title;      // "Fashion-MNIST", "Sherlock Holmes · Tom Sawyer"
    bool generated = false; // made by a generator of ours; needs no files
    std::string notice;     // one sentence when this is not what the user would expect; or empty
    std::uint64_t hash = 0; // FNV-1a of what was read or of the generator's parameters

    int vocabulary = 0; // tokens are in [0, vocabulary); 0: examples have no tokens
    int tokens = 0;     // tokens of an example, in the sequence after its patches
    int patches = 0;    // patches of an example; 0: no image
    int patchWidth = 0; // numbers a patch is made of
    int classes = 0;    // targets are in [0, classes), one an example; 0: the next token is predicted, everywhere
    std::vector<std::string> classNames; // `classes` of them

    int imageWidth = 0; // pixels, to draw an example; 0: no image
    int imageHeight = 0;
    int imageChannels = 0; // 1: grey, 3: red, green, blue
    int patchRows = 0;     // pixels a patch covers
    int patchCols = 0;

    int context() const { return patches + tokens; } // length of the sequence
};

// A batch; reused from step to step, so that filling it allocates nothing.
struct Examples {
    std::vector<std::int32_t> tokens;  // batch * info.tokens
    std::vector<float> patches;        // batch * info.patches * info.patchWidth
    std::vector<std::int32_t> targets; // batch * tokens where classes == 0, otherwise batch
};

class Dataset {
public:
    virtual ~Dataset() = default;

    virtual const DatasetInfo& info() const = 0;
    // Examples held out; never seen in training. validationExamples() hands them out in a fixed order.
    virtual std::size_t validationSize() const = 0;
    // Examples one pass over the training part has; what an epoch is.
    virtual std::size_t trainingSize() const = 0;
    // `batch` random examples of the training part.
    virtual void sample(Rng& rng, int batch, Examples& to) const = 0;
    // Examples first, first + 1, ..., of the held-out part; `first + count` <= validationSize().
    virtual void validationExamples(std::size_t first, int count, Examples& to) const = 0;
    // Tokens of a well-formed UTF-8 text, without characters that there are no tokens for; empty where examples have
    // none.
    virtual std::vector<std::int32_t> encode(std::string_view /*text*/) const { return {}; }
    // UTF-8 of the tokens, for people; without those that only fill up the sequence.
    virtual std::string decode(const std::int32_t* tokens, std::size_t count) const = 0;
};

} // namespace halfscope
