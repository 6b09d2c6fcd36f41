// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/core/nearest_word.h"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

namespace halfscope {

int editDistance(std::string_view a, std::string_view b)
{
    // Row i holds the distances of a's first i characters to every beginning of b; a swap looks two rows back.
    std::vector<int> before(b.size() + 1);
    std::vector<int> last(b.size() + 1);
    std::vector<int> row(b.size() + 1);
    for (std::size_t j = 0; j <= b.size(); ++j)
        last[j] = static_cast<int>(j);
    for (std::size_t i = 1; i <= a.size(); ++i) {
        row[0] = static_cast<int>(i);
        for (std::size_t j = 1; j <= b.size(); ++j) {
            const int replaced = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
            row[j] = std::min({replaced, last[j] + 1, row[j - 1] + 1});
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                row[j] = std::min(row[j], before[j - 2] + 1);
        }
        std::swap(before, last);
        std::swap(last, row);
    }
    return last[b.size()];
}

std::string_view nearestWord(std::string_view given, std::span<const std::string_view> words)
{
    std::string_view nearest;
    int smallest = std::numeric_limits<int>::max();
    for (const std::string_view word : words) {
        const int distance = editDistance(given, word);
        if (distance < smallest) {
            smallest = distance;
            nearest = word;
        }
    }
    constexpr std::size_t kShortest = 3; // of a part that says enough
    const auto most = std::max<std::size_t>(1, std::max(given.size(), nearest.size()) / 3);
    if (!nearest.empty() && static_cast<std::size_t>(smallest) <= most)
        return nearest;
    for (const std::string_view word : words) {
        if (std::min(given.size(), word.size()) >= kShortest &&
            (word.find(given) != std::string_view::npos || given.find(word) != std::string_view::npos))
            return word;
    }
    return {};
}

std::string nearestHint(std::string_view given, std::span<const std::string_view> words)
{
    constexpr std::size_t kMostChoices = 20;
    if (const std::string_view nearest = nearestWord(given, words); !nearest.empty())
        return "; the nearest is " + std::string(nearest) + ".";
    if (words.empty() || words.size() > kMostChoices)
        return ".";
    std::string choices;
    for (std::size_t i = 0; i < words.size(); ++i)
        choices += (i == 0 ? "" : i + 1 == words.size() ? " or " : ", ") + std::string(words[i]);
    return "; choose " + choices + ".";
}

} // namespace halfscope
