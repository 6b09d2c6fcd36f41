// SPDX-License-Identifier: GPL-3.0-or-later
// What every data set promises, asked of each.
#include "engine/data/dataset_registry.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <ostream>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/data/image_dataset.h"
#include "engine/data/utf8.h"
#include "tests/engine/data/support.h"
#include "tests/support/temporary_folder.h"

namespace halfscope {

void PrintTo(const TaskInfo& task, std::ostream* out) { *out << task.key; }

namespace {

using ::testing::HasSubstr;

TEST(Tasks, HaveNamesOfTheirOwnAndSentences)
{
    std::set<std::string_view> keys;
    std::set<std::string_view> names;
    for (const TaskInfo& task : tasks()) {
        EXPECT_TRUE(keys.insert(task.key).second) << task.key;
        EXPECT_TRUE(names.insert(task.name).second) << task.name;
        EXPECT_TRUE(task.description.ends_with(".")) << task.key;
        EXPECT_EQ(findTask(task.key), &task);
        EXPECT_TRUE(task.hasImage || task.usesContext) << task.key << " needs a length";
    }
    EXPECT_EQ(tasks().front().key, DatasetRequest().task);
    EXPECT_EQ(findTask("digit"), nullptr);
}

TEST(Tasks, UnknownOnesAndMissingFilesAreRefused)
{
    DatasetRequest request;
    request.task = "digit";
    EXPECT_EQ(test::problemOf([&] { makeDataset(request); }), "There is no task \"digit\".");
    for (const TaskInfo& task : tasks()) {
        if (!task.needsFile)
            continue;
        request.task = task.key;
        EXPECT_THAT(test::problemOf([&] { makeDataset(request); }), HasSubstr("needs a file")) << task.key;
    }
}

class EveryDataset : public ::testing::TestWithParam<TaskInfo> {
protected:
    void SetUp() override
    {
        const TaskInfo& task = GetParam();
        DatasetRequest request;
        request.task = task.key;
        request.context = 24;
        if (task.key == "fashion-mnist" && !std::filesystem::exists(kFashionMnistFolder))
            GTEST_SKIP() << "the package is not installed";
        if (task.key == "csv") {
            std::string csv = "label,text\n";
            for (int i = 0; i < 60; ++i)
                csv += (i % 3 == 0 ? "été," : "winter,") + std::string("text number ") + std::to_string(i) + "\n";
            request.dataPath = m_folder.write("texts.csv", csv);
        }
        if (task.key == "idx") {
            std::string images("\0\0\x08\x03\0\0\0\x28\0\0\0\4\0\0\0\6", 16);
            std::string labels("\0\0\x08\x01\0\0\0\x28", 8);
            for (int i = 0; i < 40; ++i) {
                images.append(24, static_cast<char>(i * 6));
                labels.push_back(static_cast<char>(i % 4));
            }
            m_folder.write("images", images);
            m_folder.write("labels", labels);
            request.dataPath = m_folder.path().string();
        }
        m_dataset = makeDataset(request);
    }

    test::TemporaryFolder m_folder;
    std::unique_ptr<Dataset> m_dataset;
};

TEST_P(EveryDataset, DescribesItself)
{
    const DatasetInfo& info = m_dataset->info();
    EXPECT_FALSE(info.title.empty());
    EXPECT_NE(info.hash, 0U);
    EXPECT_GT(info.context(), 0);
    EXPECT_EQ(info.classes > 0, GetParam().classifies);
    EXPECT_EQ(info.classNames.size(), static_cast<std::size_t>(info.classes));
    EXPECT_EQ(std::set<std::string>(info.classNames.begin(), info.classNames.end()).size(), info.classNames.size());
    EXPECT_EQ(info.patches > 0, GetParam().hasImage);
    EXPECT_EQ(info.tokens > 0, info.vocabulary > 0);
    EXPECT_EQ(info.patches * info.patchWidth, info.imageWidth * info.imageHeight * info.imageChannels);
    if (GetParam().usesContext) {
        EXPECT_EQ(info.tokens, 24);
    }
    EXPECT_GT(m_dataset->validationSize(), 0U);
    EXPECT_GT(m_dataset->trainingSize(), 0U);
}

TEST_P(EveryDataset, FillsBatchesWithinItsRanges)
{
    const DatasetInfo& info = m_dataset->info();
    constexpr int kBatch = 30;
    Examples training;
    Rng rng(3);
    m_dataset->sample(rng, 2, training); // of another size before
    m_dataset->sample(rng, kBatch, training);
    const int count = static_cast<int>(std::min<std::size_t>(m_dataset->validationSize(), kBatch));
    Examples validation;
    m_dataset->validationExamples(m_dataset->validationSize() - static_cast<std::size_t>(count), count, validation);
    for (const auto& [examples, size] : {std::pair(&training, kBatch), std::pair(&validation, count)}) {
        const auto batch = static_cast<std::size_t>(size);
        ASSERT_EQ(examples->tokens.size(), batch * static_cast<std::size_t>(info.tokens));
        ASSERT_EQ(examples->patches.size(), batch * static_cast<std::size_t>(info.patches * info.patchWidth));
        ASSERT_EQ(examples->targets.size(), info.classes > 0 ? batch : batch * static_cast<std::size_t>(info.tokens));
        for (const std::int32_t token : examples->tokens)
            ASSERT_TRUE(token >= 0 && token < info.vocabulary) << token;
        for (const std::int32_t target : examples->targets)
            ASSERT_TRUE(target >= 0 && target < (info.classes > 0 ? info.classes : info.vocabulary)) << target;
        for (const float number : examples->patches)
            ASSERT_TRUE(number >= -1.0F && number <= 1.0F) << number;
        for (const std::string& text : test::textsOf(*m_dataset, *examples))
            ASSERT_FALSE(firstInvalidUtf8(text));
    }
}

TEST_P(EveryDataset, RepeatsItself)
{
    const Examples once = test::trainingExamples(*m_dataset, 20, 8);
    const Examples again = test::trainingExamples(*m_dataset, 20, 8);
    const Examples other = test::trainingExamples(*m_dataset, 20, 9);
    EXPECT_EQ(once.tokens, again.tokens);
    EXPECT_EQ(once.patches, again.patches);
    EXPECT_EQ(once.targets, again.targets);
    EXPECT_TRUE(once.tokens != other.tokens || once.patches != other.patches);

    // Held-out examples are the same however many are asked for at once.
    const auto number = std::min<std::size_t>(m_dataset->validationSize(), 12);
    Examples together;
    m_dataset->validationExamples(0, static_cast<int>(number), together);
    std::vector<std::int32_t> tokens;
    std::vector<std::int32_t> targets;
    std::vector<float> patches;
    for (std::size_t i = 0; i < number; ++i) {
        Examples one;
        m_dataset->validationExamples(i, 1, one);
        tokens.insert(tokens.end(), one.tokens.begin(), one.tokens.end());
        targets.insert(targets.end(), one.targets.begin(), one.targets.end());
        patches.insert(patches.end(), one.patches.begin(), one.patches.end());
    }
    EXPECT_EQ(together.tokens, tokens);
    EXPECT_EQ(together.targets, targets);
    EXPECT_EQ(together.patches, patches);
}

// Those whose examples are drawn or chosen here; the classes of the others are as they come.
class OwnDataset : public EveryDataset {};

TEST_P(OwnDataset, HasTheWholeHeldOutPartBalanced)
{
    const DatasetInfo& info = m_dataset->info();
    std::vector<int> of(static_cast<std::size_t>(info.classes));
    for (const std::int32_t target : test::heldOut(*m_dataset).targets)
        ++of[static_cast<std::size_t>(target)];
    for (const int count : of)
        EXPECT_EQ(count, of.front());

    // Training draws the class first: each share lies within 5 deviations of the binomial distribution.
    constexpr int kDraws = 2000;
    std::ranges::fill(of, 0);
    for (const std::int32_t target : test::trainingExamples(*m_dataset, kDraws).targets)
        ++of[static_cast<std::size_t>(target)];
    const double share = 1.0 / info.classes;
    for (const int count : of)
        EXPECT_NEAR(count, kDraws * share, 5 * std::sqrt(kDraws * share * (1 - share)));
}

std::string testName(const ::testing::TestParamInfo<TaskInfo>& task)
{
    std::string name(task.param.key);
    std::erase(name, '-');
    return name;
}

std::vector<TaskInfo> ownTasks()
{
    std::vector<TaskInfo> own;
    for (const TaskInfo& task : tasks()) {
        for (const char* key : {"authors", "brackets", "sortedness", "digits", "shapes"}) {
            if (task.key == key)
                own.push_back(task);
        }
    }
    return own;
}

INSTANTIATE_TEST_SUITE_P(Tasks, EveryDataset, ::testing::ValuesIn(tasks().begin(), tasks().end()), testName);
INSTANTIATE_TEST_SUITE_P(Tasks, OwnDataset, ::testing::ValuesIn(ownTasks()), testName);

} // namespace
} // namespace halfscope
