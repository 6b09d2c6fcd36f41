// SPDX-License-Identifier: GPL-3.0-or-later
// Images with labels, from IDX files.
#pragma once

#include <memory>
#include <string>

#include "engine/data/dataset.h"

namespace halfscope {

inline constexpr const char* kFashionMnistPackage = "dataset-fashion-mnist";
inline constexpr const char* kFashionMnistFolder = "/usr/share/datasets/fashion-mnist";

// The four files of Fashion-MNIST in `folder`. Throws std::runtime_error with one sentence; when they are missing, it
// says how to install them.
std::unique_ptr<Dataset> makeFashionMnist(const std::string& folder, int patchSize);

// `path`: a file of images (number x height x width, or with 1 or 3 channels as a fourth dimension), beside which that
// of the labels is found by its name ("images" becomes "labels", "idx3" "idx1"; packed or not), or a folder with one
// such pair. Where the training images' name says "train" and there is a pair "t10k" or "test" beside them, that is
// held out, otherwise a tenth. Throws std::runtime_error with one sentence.
std::unique_ptr<Dataset> makeIdx(const std::string& path, int patchSize);

} // namespace halfscope
