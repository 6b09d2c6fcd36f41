// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/train/update_history.h"

#include <map>
#include <random>

#include <gtest/gtest.h>

#include "engine/train/histogram_history.h"

namespace halfscope {
namespace {

Snapshot snapshotAt(std::int64_t step, std::mt19937& random)
{
    Snapshot snapshot;
    snapshot.step = snapshot.firstStep = step;
    for (std::int16_t module = 0; module < 3; ++module) {
        ModuleUpdates update;
        update.module = module;
        update.format = step % 2 == 0 ? FormatId::Fp16 : FormatId::Bf16;
        update.statistics.weights = 100;
        update.statistics.unchanged = random() % 50;
        update.statistics.nonfinite = random() % 3;
        update.statistics.fromZero = random() % 5;
        update.statistics.lost = random() % 7;
        for (int i = 0; i < 4; ++i)
            update.statistics.ratios.at(static_cast<int>(random() % 277) - 149) += random() % 9;
        snapshot.updates.push_back(update);
    }
    return snapshot;
}

TEST(UpdateHistory, KeepsEveryCountInBoundedMemory)
{
    std::mt19937 random(7);
    UpdateHistory history;
    EXPECT_EQ(history.bytes(), 0U);
    history.append(Snapshot{}); // updates were not measured
    EXPECT_EQ(history.bytes(), 0U);
    std::map<std::int16_t, UpdateStatistics> total;
    constexpr std::int64_t kSteps = 6000;
    std::vector<ModuleUpdates> last;
    for (std::int64_t step = 1; step <= kSteps; ++step) {
        const Snapshot snapshot = snapshotAt(step, random);
        for (const ModuleUpdates& u : snapshot.updates)
            total[u.module].merge(u.statistics);
        history.append(snapshot);
        last = snapshot.updates;
    }
    EXPECT_LT(history.rowCount(), HistogramHistory::kWholeRows + 3 * HistogramHistory::kRowsPerLevel + 1);
    std::map<std::int16_t, UpdateStatistics> kept;
    std::int64_t next = 1;
    for (std::size_t row = 0; row < history.rowCount(); ++row) {
        EXPECT_EQ(history.row(row).firstStep, next);
        EXPECT_EQ(history.row(row).measuredSteps, history.row(row).lastStep - next + 1);
        next = history.row(row).lastStep + 1;
        for (const SparseUpdates& u : history.row(row).modules) {
            kept[u.module].merge(u.expand().statistics);
            EXPECT_EQ(u.format, history.row(row).lastStep % 2 == 0 ? FormatId::Fp16 : FormatId::Bf16);
        }
    }
    EXPECT_EQ(next, kSteps + 1);
    EXPECT_TRUE(kept == total);
    const UpdateRow& newest = history.row(history.rowCount() - 1);
    for (std::size_t i = 0; i < last.size(); ++i)
        EXPECT_TRUE(newest.modules[i].expand().statistics == last[i].statistics);
    EXPECT_THROW(history.append(snapshotAt(kSteps, random)), std::invalid_argument);
    history.clear();
    EXPECT_EQ(history.rowCount(), 0U);
    EXPECT_THROW(history.row(0), std::out_of_range);
}

} // namespace
} // namespace halfscope
