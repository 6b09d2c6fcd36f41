// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/data/authors_dataset.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/data/novels.h"
#include "tests/engine/data/support.h"
#include "tests/support/temporary_folder.h"

namespace halfscope {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A book that says where in it each passage is from: "a000123 a000124 ...", broken into lines.
std::string book(char name, int words)
{
    std::string text;
    for (int i = 0; i < words; ++i) {
        std::string number = std::to_string(i);
        text += name + std::string(6 - number.size(), '0') + number + (i % 7 == 0 ? "\n\n  " : " ");
    }
    return text;
}

TEST(Authors, WindowsOfTheHeldOutTenthsAndOfTheRest)
{
    const test::TemporaryFolder folder;
    folder.write(kNovels[0].fileName, book('a', 3000));
    folder.write(kNovels[1].fileName, book('b', 2000));
    const std::vector<std::string> folders = {folder.path().string()};
    constexpr int kContext = 40; // five words
    const auto dataset = makeAuthors(folders, kContext);
    EXPECT_THAT(dataset->info().classNames, ElementsAre("Doyle", "Twain"));
    EXPECT_EQ(dataset->info().notice, "");
    EXPECT_FALSE(dataset->info().generated);
    // The shorter book: 2000 words of 8 characters (white space is one), the last tenth, in windows of 40.
    EXPECT_EQ(dataset->validationSize(), 2U * 40U);

    std::set<int> heldWords[2];
    int fullWords = 0;
    const auto eachWord = [&](const Examples& examples, const auto& visit) {
        const auto texts = test::textsOf(*dataset, examples);
        for (std::size_t i = 0; i < texts.size(); ++i) {
            EXPECT_EQ(texts[i].find("  "), std::string::npos);
            EXPECT_EQ(texts[i].find('\n'), std::string::npos);
            const char name = examples.targets[i] == 0 ? 'a' : 'b';
            for (std::size_t at = texts[i].find(name); at != std::string::npos && at + 7 <= texts[i].size();
                 at = texts[i].find(name, at + 1))
                visit(static_cast<std::size_t>(examples.targets[i]), std::stoi(texts[i].substr(at + 1, 6)));
            EXPECT_EQ(texts[i].find(name == 'a' ? 'b' : 'a'), std::string::npos);
        }
    };
    eachWord(test::heldOut(*dataset), [&](std::size_t author, int word) {
        EXPECT_GE(word, author == 0 ? 2700 : 1800);
        EXPECT_TRUE(heldWords[author].insert(word).second) << "windows overlap";
        ++fullWords;
    });
    EXPECT_GT(fullWords, 2 * 40 * 4 - 1);
    EXPECT_GT(*heldWords[0].rbegin() - *heldWords[0].begin(), 250); // spread over the longer one
    eachWord(test::trainingExamples(*dataset, 3000),
             [&](std::size_t author, int word) { EXPECT_LT(word, author == 0 ? 2700 : 1800); });
}

TEST(Authors, MadeUpOnesStepInWhenANovelIsMissing)
{
    const test::TemporaryFolder folder;
    const std::vector<std::string> folders = {folder.path().string()};
    const auto both = makeAuthors(folders, 64);
    EXPECT_TRUE(both->info().generated);
    EXPECT_EQ(both->info().notice,
              "\"The Adventures of Sherlock Holmes\" and \"The Adventures of Tom Sawyer\" are not installed, so the "
              "passages are of two made-up authors; install the package golang-github-pierrec-lz4-dev for real ones.");
    folder.write(kNovels[0].fileName, book('a', 3000));
    const auto one = makeAuthors(folders, 64);
    EXPECT_TRUE(one->info().generated);
    EXPECT_THAT(one->info().notice, HasSubstr("\"The Adventures of Tom Sawyer\" is not installed"));
}

TEST(Authors, MadeUpOnesShareTheirWordsAndAreHardButPossibleToTell)
{
    const auto words = [](const std::string& text) {
        std::set<std::string> all;
        std::string word;
        for (const char c : text) {
            if (c != ' ' && c != '.' && c != ',' && c != '?') {
                word.push_back(c);
            } else if (!word.empty()) {
                all.insert(word);
                word.clear();
            }
        }
        return all;
    };
    const auto texts = generatedAuthors();
    EXPECT_EQ(words(texts[0]), words(texts[1]));
    const auto dataset = makeAuthors({}, 64);
    const double accuracy = test::runsAccuracy(*dataset, 3, 4000);
    EXPECT_GT(accuracy, 0.75);
    EXPECT_LT(accuracy, 0.97);
}

TEST(Authors, SayWhenTheContextIsTooLong)
{
    EXPECT_THAT(test::problemOf([] { makeAuthors({}, 100'000); }), HasSubstr("longer than the passages held out"));
    EXPECT_THAT(test::problemOf([] { makeAuthors({}, 0); }), HasSubstr("is none"));
}

} // namespace
} // namespace halfscope
