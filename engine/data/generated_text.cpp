// SPDX-License-Identifier: GPL-3.0-or-later
// Text from a small seeded grammar: always there, the same on every machine, and with parts whose answer is known, so
// that one can tell learning from guessing. Each line is one of
//   sum        37+58=95
//   sorting    sort 42 7 19 = 7 19 42
//   brackets   ([]{()})
//   sentence   The old miller finds two red apples near the river.
// What stands right of '=', every closing bracket that is forced, and the plural after a number follow from what came
// before; the rest is drawn uniformly.
#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/core/rng.h"
#include "engine/data/text_dataset.h"

namespace halfscope {
namespace {

constexpr std::size_t kGeneratedBytes = 600'000; // about the length of a novel

class Grammar {
public:
    explicit Grammar(std::uint64_t seed) : m_rng(seed) {}

    std::string line()
    {
        switch (m_rng.below(4)) {
        case 0:
            return sum();
        case 1:
            return sorting();
        case 2:
            return brackets();
        default:
            return sentence();
        }
    }

private:
    template <std::size_t N>
    std::string pick(const std::array<std::string_view, N>& words)
    {
        return std::string(words[m_rng.below(N)]);
    }

    std::string sum()
    {
        const std::uint64_t a = m_rng.below(100);
        const std::uint64_t b = m_rng.below(100);
        return std::to_string(a) + "+" + std::to_string(b) + "=" + std::to_string(a + b);
    }

    std::string sorting()
    {
        std::vector<std::uint64_t> numbers(2 + m_rng.below(4));
        for (std::uint64_t& n : numbers)
            n = m_rng.below(100);
        std::string text = "sort";
        const auto appendAll = [&] {
            for (const std::uint64_t n : numbers)
                text += " " + std::to_string(n);
        };
        appendAll();
        std::ranges::sort(numbers);
        text += " =";
        appendAll();
        return text;
    }

    std::string brackets()
    {
        constexpr std::string_view kOpen = "([{";
        constexpr std::string_view kClose = ")]}";
        const std::size_t pairs = 2 + m_rng.below(7);
        std::string text;
        std::vector<std::size_t> open;
        std::size_t opened = 0;
        while (opened < pairs || !open.empty()) {
            const bool mayOpen = opened < pairs;
            const bool mayClose = !open.empty();
            if (mayOpen && (!mayClose || m_rng.below(2) == 0)) {
                open.push_back(m_rng.below(kOpen.size()));
                text.push_back(kOpen[open.back()]);
                ++opened;
            } else {
                text.push_back(kClose[open.back()]);
                open.pop_back();
            }
        }
        return text;
    }

    std::string sentence()
    {
        static constexpr std::array<std::string_view, 8> kAdjectives = {"old",    "young", "tall",  "clever",
                                                                        "sleepy", "kind",  "brave", "quiet"};
        static constexpr std::array<std::string_view, 8> kPeople = {"miller", "sailor", "teacher", "gardener",
                                                                    "baker",  "piper",  "painter", "doctor"};
        static constexpr std::array<std::string_view, 8> kVerbs = {"finds", "carries", "counts", "paints",
                                                                   "hides", "draws",   "loses",  "brings"};
        static constexpr std::array<std::string_view, 8> kNumbers = {"one",  "two", "three", "four",
                                                                     "five", "six", "seven", "eight"};
        static constexpr std::array<std::string_view, 8> kColours = {"red",   "blue",  "green", "white",
                                                                     "brown", "black", "grey",  "yellow"};
        static constexpr std::array<std::string_view, 8> kThings = {"apple", "lantern", "kettle", "ribbon",
                                                                    "stone", "feather", "button", "candle"};
        static constexpr std::array<std::string_view, 8> kPlaces = {
            "near the river",   "in the garden",  "behind the barn", "under the bridge",
            "on the long road", "by the old oak", "at the harbour",  "in the empty hall"};
        std::string text = "The " + pick(kAdjectives) + " " + pick(kPeople) + " " + pick(kVerbs) + " ";
        const std::uint64_t number = m_rng.below(kNumbers.size());
        text += std::string(kNumbers[number]) + " " + pick(kColours) + " " + pick(kThings);
        text += number == 0 ? " " : "s ";
        return text + pick(kPlaces) + ".";
    }

    Rng m_rng;
};

} // namespace

TextSource generatedText(std::uint64_t seed)
{
    TextSource source;
    source.title = "Generated text (sums, sorted lists, brackets, sentences)";
    source.generated = true;
    Grammar grammar(seed);
    source.text.reserve(kGeneratedBytes + 128);
    while (source.text.size() < kGeneratedBytes) {
        source.text += grammar.line();
        source.text.push_back('\n');
    }
    return source;
}

} // namespace halfscope
