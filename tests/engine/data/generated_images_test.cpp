// SPDX-License-Identifier: GPL-3.0-or-later
// The images that are made up: looked at by other means than those that drew them.
#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <regex>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/data/dataset_registry.h"
#include "engine/data/generated_digits.h"
#include "engine/data/generated_shapes.h"
#include "tests/engine/data/support.h"

namespace halfscope {
namespace {

using ::testing::HasSubstr;
using Image = std::vector<std::uint8_t>;

TEST(Digits, LookAsTheirLabelsSay)
{
    // Digits that nearly lie on one another are the same digit.
    const auto dataset = makeDigits(kPatchRows);
    const Examples known = test::trainingExamples(*dataset, 1500);
    const Examples asked = test::heldOut(*dataset);
    constexpr std::size_t kPixels = 28 * 28;
    constexpr std::size_t kAsked = 200;
    std::size_t right = 0;
    for (std::size_t a = 0; a < kAsked; ++a) {
        float best = 1e9F;
        std::int32_t answer = -1;
        for (std::size_t k = 0; k < known.targets.size(); ++k) {
            float distance = 0;
            for (std::size_t i = 0; i < kPixels; ++i) {
                const float d = asked.patches[a * kPixels + i] - known.patches[k * kPixels + i];
                distance += d * d;
            }
            if (distance < best) {
                best = distance;
                answer = known.targets[k];
            }
        }
        right += answer == asked.targets[a];
    }
    EXPECT_GT(right, kAsked * 85 / 100);
}

TEST(Digits, FillTheImageAndStayWithinIt)
{
    const auto dataset = makeDigits(kPatchRows);
    const Examples examples = test::trainingExamples(*dataset, 300);
    for (std::size_t i = 0; i < 300; ++i) {
        const Image image = test::imageOf(*dataset, examples, i);
        int ink = 0;
        int inkAtTheEdge = 0;
        for (std::size_t p = 0; p < image.size(); ++p) {
            const std::size_t x = p % 28;
            const std::size_t y = p / 28;
            ink += image[p] > 120;
            inkAtTheEdge += image[p] > 120 && (x == 0 || y == 0 || x == 27 || y == 27);
        }
        EXPECT_GT(ink, 15);
        EXPECT_LT(ink, 350);
        EXPECT_EQ(inkAtTheEdge, 0) << "example " << i;
    }
}

// A thing found on an image of shapes.
struct Seen {
    std::string shape;
    std::string colour;
    double x = 0; // middle of what it covers, pixels
    double y = 0;
};

constexpr int kSide = 32;

std::string colourOf(double red, double green, double blue)
{
    if (red > 1.8 * green && red > 1.8 * blue)
        return "red";
    if (green > 1.8 * red && green > 1.8 * blue)
        return "green";
    if (blue > 1.8 * red && blue > 1.8 * green)
        return "blue";
    if (red > 2.0 * blue && green > 2.0 * blue)
        return "yellow";
    if (red > 1.8 * green && blue > 1.8 * green)
        return "purple";
    return red > 180 && green > 180 && blue > 180 ? "white" : "(no colour)";
}

// Connected parts that are lighter than the ground, told apart by their widths near the top, in the middle and near the
// bottom.
std::vector<Seen> lookAt(const Image& image)
{
    const auto channel = [&](int p, int c) { return static_cast<int>(image[static_cast<std::size_t>(p * 3 + c)]); };
    const auto lit = [&](int p) { return std::max({channel(p, 0), channel(p, 1), channel(p, 2)}) > 105; };
    std::vector<bool> visited(kSide * kSide);
    std::vector<Seen> seen;
    for (int start = 0; start < kSide * kSide; ++start) {
        if (visited[static_cast<std::size_t>(start)] || !lit(start))
            continue;
        std::vector<int> part = {start};
        visited[static_cast<std::size_t>(start)] = true;
        for (std::size_t i = 0; i < part.size(); ++i) {
            const int x = part[i] % kSide;
            const int y = part[i] / kSide;
            for (const auto& [nx, ny] : {std::pair(x - 1, y), {x + 1, y}, {x, y - 1}, {x, y + 1}}) {
                const int p = ny * kSide + nx;
                if (nx < 0 || ny < 0 || nx >= kSide || ny >= kSide || visited[static_cast<std::size_t>(p)] || !lit(p))
                    continue;
                visited[static_cast<std::size_t>(p)] = true;
                part.push_back(p);
            }
        }
        int left = kSide, right = -1, top = kSide, bottom = -1;
        for (const int p : part) {
            left = std::min(left, p % kSide);
            right = std::max(right, p % kSide);
            top = std::min(top, p / kSide);
            bottom = std::max(bottom, p / kSide);
        }
        // A pixel that is covered fully: the lightest.
        const int full =
            *std::ranges::max_element(part, {}, [&](int p) { return channel(p, 0) + channel(p, 1) + channel(p, 2); });
        const std::array<int, 3> rgb = {channel(full, 0), channel(full, 1), channel(full, 2)};
        const int brightest = static_cast<int>(std::ranges::max_element(rgb) - rgb.begin());
        const double ground = channel(0, brightest); // nothing lies at the edge
        const auto width = [&](int y) { // of what is covered in a row, pixels that are covered in part counted as such
            double sum = 0;
            for (int x = std::max(0, left - 1); x <= std::min(kSide - 1, right + 1); ++x)
                sum += channel(y * kSide + x, brightest) - ground;
            return sum / (rgb[static_cast<std::size_t>(brightest)] - ground);
        };
        const double across = width((top + bottom) / 2);
        const double upper = width(top + 1) / across;
        const double lower = width(bottom - 1) / across;
        Seen thing;
        if (lower > 1.2)
            thing.shape = "triangle";
        else
            thing.shape = upper > 0.93 ? "square" : upper > 0.45 ? "circle" : "cross";
        thing.colour = colourOf(rgb[0], rgb[1], rgb[2]);
        thing.x = (left + right) / 2.0;
        thing.y = (top + bottom) / 2.0;
        seen.push_back(thing);
    }
    return seen;
}

std::vector<Seen> those(const std::vector<Seen>& all, const std::string& word)
{
    std::vector<Seen> found;
    std::ranges::copy_if(all, std::back_inserter(found),
                         [&](const Seen& thing) { return thing.shape == word || thing.colour == word; });
    return found;
}

// The answer by looking; nothing when the question does not suit what is there.
std::optional<std::string> answerByLooking(const std::string& question, const std::vector<Seen>& all)
{
    static const std::map<std::string, std::string> kOneOf = {
        {"circles", "circle"}, {"squares", "square"}, {"triangles", "triangle"}, {"crosses", "cross"}};
    std::smatch m;
    if (std::regex_match(question, m, std::regex("how many (\\w+)( ones)?\\?"))) {
        const std::string word = kOneOf.contains(m[1]) ? kOneOf.at(m[1]) : m[1].str();
        return std::to_string(those(all, word).size());
    }
    if (std::regex_match(question, m, std::regex("what colour is the (\\w+)\\?"))) {
        const auto found = those(all, m[1]);
        return found.size() == 1 ? std::optional(found[0].colour) : std::nullopt;
    }
    if (std::regex_match(question, m, std::regex("what shape is (left|right|top|low)(most|est)\\?"))) {
        const auto out = [&](const Seen& thing) {
            const std::string side = m[1];
            return side == "left" ? -thing.x : side == "right" ? thing.x : side == "top" ? -thing.y : thing.y;
        };
        const Seen& outermost = *std::ranges::max_element(all, {}, out);
        for (const Seen& thing : all) {
            if (&thing != &outermost && out(thing) > out(outermost) - 1.0) // it keeps 2, and looking is right to 0.5
                return std::nullopt;
        }
        return outermost.shape;
    }
    if (std::regex_match(question, m, std::regex("what shape is (\\w+)\\?"))) {
        const auto found = those(all, m[1]);
        return found.size() == 1 ? std::optional(found[0].shape) : std::nullopt;
    }
    if (std::regex_match(question, m, std::regex("is there a (\\w+) (\\w+)\\?")))
        return those(those(all, m[1]), m[2]).empty() ? "no" : "yes";
    if (std::regex_match(question, m, std::regex("is the (\\w+) (left of|above) the (\\w+)\\?"))) {
        const auto a = those(all, m[1]);
        const auto b = those(all, m[3]);
        if (a.size() != 1 || b.size() != 1)
            return std::nullopt;
        return (m[2] == "above" ? a[0].y < b[0].y : a[0].x < b[0].x) ? "yes" : "no";
    }
    return std::nullopt;
}

TEST(Shapes, AnswersAreRight)
{
    const auto dataset = makeShapes(kSuitablePatch);
    const DatasetInfo& info = dataset->info();
    std::set<std::string> beginnings;
    for (const Examples& examples : {test::heldOut(*dataset), test::trainingExamples(*dataset, 2000)}) {
        const std::vector<std::string> questions = test::textsOf(*dataset, examples);
        for (std::size_t i = 0; i < questions.size(); ++i) {
            const std::vector<Seen> all = lookAt(test::imageOf(*dataset, examples, i));
            const std::string& truth = info.classNames[static_cast<std::size_t>(examples.targets[i])];
            const auto seen = answerByLooking(questions[i], all);
            ASSERT_TRUE(seen) << questions[i] << " does not suit its image (" << all.size() << " things)";
            ASSERT_EQ(*seen, truth) << questions[i];
            beginnings.insert(questions[i].substr(0, questions[i].find(' ', questions[i].find(' ') + 1)));
        }
    }
    EXPECT_THAT(beginnings,
                ::testing::UnorderedElementsAre("how many", "what colour", "what shape", "is there", "is the"));
}

TEST(Shapes, HaveAsManyAnswersAsTheyNeed)
{
    const DatasetInfo info = makeShapes(kSuitablePatch)->info();
    EXPECT_EQ(info.classes, 17);
    EXPECT_EQ(info.patches, 16);
    EXPECT_EQ(info.patchWidth, 8 * 8 * 3);
    EXPECT_EQ(info.context(), 16 + 7);
    EXPECT_EQ(makeShapes(4)->info().patches, 64);
    EXPECT_EQ(makeShapes(kPatchRows)->info().patchWidth, 96);
    EXPECT_THAT(test::problemOf([] { makeShapes(5); }), HasSubstr("2, 4, 8, 16, 32"));
}

TEST(GeneratedImages, HeldOutOnesAreNeverTrainedOn)
{
    for (const auto& dataset : {makeDigits(7), makeShapes(8)}) {
        const Examples held = test::heldOut(*dataset);
        std::set<Image> images;
        for (std::size_t i = 0; i < held.targets.size(); ++i)
            images.insert(test::imageOf(*dataset, held, i));
        EXPECT_EQ(images.size(), held.targets.size()) << dataset->info().title;
        const Examples trained = test::trainingExamples(*dataset, 1000);
        for (std::size_t i = 0; i < trained.targets.size(); ++i)
            ASSERT_FALSE(images.contains(test::imageOf(*dataset, trained, i))) << dataset->info().title;
    }
}

} // namespace
} // namespace halfscope
