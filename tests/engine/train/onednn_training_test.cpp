// SPDX-License-Identifier: GPL-3.0-or-later
#include <cmath>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "engine/backend/onednn/onednn_backend.h"
#include "engine/train/trainer.h"
#include "tests/engine/train/small_run.h"

namespace halfscope {
namespace {

std::vector<double> losses(const std::string& backend, const std::string& precision)
{
    RunConfig config = smallRun();
    config.backend = backend;
    config.precision = precision;
    Trainer trainer(config);
    std::vector<double> all;
    for (int i = 0; i < 60; ++i) {
        const StepRecord& record = trainer.step().record;
        EXPECT_EQ(record.outcome, StepOutcome::Applied) << backend << " step " << record.step;
        all.push_back(record.loss);
    }
    return all;
}

// One instance where the backend can be used, none elsewhere; see OnednnProblem for there.
class OnednnTraining : public testing::TestWithParam<std::string> {};
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(OnednnTraining);
INSTANTIATE_TEST_SUITE_P(Here, OnednnTraining,
                         testing::ValuesIn(onednnProblem().empty() ? std::vector<std::string>{"onednn"}
                                                                   : std::vector<std::string>()));

// The two sum in different orders, so BF16 roundings differ here and there. The yardstick is what BF16 itself changes:
// native and emulated BF16 may not be further apart than emulated BF16 and FP32 are.
TEST_P(OnednnTraining, IsNoFurtherFromEmulatedBf16ThanThatIsFromFp32)
{
    const std::vector<double> fp32 = losses("cpu", "fp32");
    const std::vector<double> emulated = losses("cpu", "mixed-bf16");
    const std::vector<double> native = losses(GetParam(), "mixed-bf16");
    double allowed = 0.0;
    double found = 0.0;
    for (std::size_t i = 0; i < fp32.size(); ++i) {
        allowed = std::max(allowed, std::abs(emulated[i] - fp32[i]));
        found = std::max(found, std::abs(native[i] - emulated[i]));
    }
    EXPECT_LE(found, allowed);
    EXPECT_LT(native.back(), native.front());
}

} // namespace
} // namespace halfscope
