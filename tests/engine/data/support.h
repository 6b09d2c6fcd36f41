// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "engine/data/dataset.h"

namespace halfscope::test {

// What() of the std::runtime_error that `make` throws; "(no problem)" when it does not.
std::string problemOf(const std::function<void()>& make);

// Everything held out, and `count` training examples from one seed.
Examples heldOut(const Dataset& dataset);
Examples trainingExamples(const Dataset& dataset, int count, std::uint64_t seed = 1);

// The share of what is held out that counting gets right: naive Bayes over runs of `length` characters, add one, learnt
// from `training` examples of two classes. What a model of text has to beat.
double runsAccuracy(const Dataset& dataset, std::size_t length, int training);

// The decoded texts of a batch.
std::vector<std::string> textsOf(const Dataset& dataset, const Examples& examples);
// The pixels of one example of a batch.
std::vector<std::uint8_t> imageOf(const Dataset& dataset, const Examples& examples, std::size_t index);

} // namespace halfscope::test
