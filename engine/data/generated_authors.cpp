// SPDX-License-Identifier: GPL-3.0-or-later
// Two authors from one grammar and one set of words. No word or sign belongs to one of them alone; they differ in how
// often they use it: the first likes long sentences, "and", places and many adjectives; the second short ones, "but"
// and questions, and each has favourite words. So a short passage is hard to tell and a long one easy, as with real
// authors.
#include <array>
#include <cstddef>
#include <string>
#include <string_view>

#include "engine/core/rng.h"
#include "engine/data/authors_dataset.h"

namespace halfscope {
namespace {

constexpr std::size_t kBytes = 300'000;

using Words = std::array<std::string_view, 8>;
constexpr Words kPeople = {"miller", "sailor", "teacher", "gardener", "baker", "piper", "painter", "doctor"};
constexpr Words kVerbs = {"found", "carried", "hid", "painted", "lost", "drew", "brought", "dropped"};
constexpr Words kThings = {"apple", "lantern", "kettle", "ribbon", "stone", "feather", "button", "candle"};
constexpr Words kAdjectives = {"old", "quiet", "weary", "grey", "clever", "quick", "young", "merry"};
constexpr Words kPlaces = {"near the river",   "behind the barn", "under the bridge", "in the empty hall",
                           "on the long road", "by the gate",     "at the harbour",   "in the garden"};

struct Habits {
    double adjective; // shares of the places where there could be one
    double place;
    double goesOn;     // with another clause
    double joinsByAnd; // rather than "but"
    double asks;
    double favourite; // of the four words of a list that this author likes: the first, or the last
    bool likesFirst;
};

constexpr std::array<Habits, 2> kHabits = {
    {{0.65, 0.6, 0.6, 0.75, 0.08, 0.7, true}, {0.35, 0.4, 0.3, 0.35, 0.2, 0.7, false}}};

class Author {
public:
    Author(const Habits& habits, std::uint64_t seed) : m_habits(habits), m_rng(seed) {}

    std::string sentence()
    {
        const bool asks = chance(m_habits.asks);
        std::string text = asks ? "Was it the " + who() + " who " : "The " + who() + " ";
        text += deed();
        while (chance(m_habits.goesOn))
            text += std::string(chance(m_habits.joinsByAnd) ? ", and the " : ", but the ") + who() + " " + deed();
        return text + (asks ? "? " : ". ");
    }

private:
    bool chance(double share) { return m_rng.uniform() < share; }

    std::string pick(const Words& words)
    {
        const std::size_t half = words.size() / 2;
        const bool first = chance(m_habits.favourite) == m_habits.likesFirst;
        return std::string(words[(first ? 0 : half) + m_rng.below(half)]);
    }

    std::string who() { return (chance(m_habits.adjective) ? pick(kAdjectives) + " " : "") + pick(kPeople); }

    std::string deed()
    {
        std::string text = pick(kVerbs) + (chance(0.5) ? " the " : " a ");
        if (chance(m_habits.adjective))
            text += pick(kAdjectives) + " ";
        text += pick(kThings);
        return chance(m_habits.place) ? text + " " + pick(kPlaces) : text;
    }

    const Habits& m_habits;
    Rng m_rng;
};

} // namespace

std::array<std::string, 2> generatedAuthors()
{
    std::array<std::string, 2> texts;
    for (std::size_t author = 0; author < texts.size(); ++author) {
        Author writer(kHabits[author], 1 + author);
        while (texts[author].size() < kBytes)
            texts[author] += writer.sentence();
    }
    return texts;
}

} // namespace halfscope
