// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/data/sequence_tasks.h"

#include <algorithm>
#include <array>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/data/generated_dataset.h"

namespace halfscope {
namespace {

constexpr int kShortest = 8; // 4 pairs of brackets, 3 numbers
constexpr std::size_t kValidation = 1000;

// Characters from a fixed alphabet; the token after the last one fills up.
class CharacterGenerator : public ExampleGenerator {
public:
    explicit CharacterGenerator(std::string_view alphabet) : m_alphabet(alphabet) {}

    void make(Rng& rng, int label, GeneratedExample& to) const override
    {
        std::string text;
        text.reserve(to.tokens.size());
        do {
            text.clear();
            write(rng, label == 1, to.tokens.size(), text);
        } while (isRight(text) != (label == 1)); // a change may have led to another right one
        std::ranges::fill(to.tokens, static_cast<std::int32_t>(m_alphabet.size()));
        std::ranges::transform(text, to.tokens.begin(),
                               [&](char c) { return static_cast<std::int32_t>(m_alphabet.find(c)); });
    }

    std::vector<std::int32_t> encode(std::string_view text) const override
    {
        std::vector<std::int32_t> tokens;
        for (const char c : text) {
            if (const std::size_t at = m_alphabet.find(c); at != std::string::npos)
                tokens.push_back(static_cast<std::int32_t>(at));
        }
        return tokens;
    }

    std::string decode(const std::int32_t* tokens, std::size_t count) const override
    {
        std::string text;
        for (const std::int32_t token : std::span(tokens, count)) {
            if (static_cast<std::size_t>(token) < m_alphabet.size())
                text.push_back(m_alphabet[static_cast<std::size_t>(token)]);
        }
        return text;
    }

private:
    // A right one of random length, at most `room`; unless it is to be `right`, changed a little.
    virtual void write(Rng& rng, bool right, std::size_t room, std::string& text) const = 0;
    virtual bool isRight(std::string_view text) const = 0;

    std::string_view m_alphabet;
};

constexpr std::string_view kBrackets = "([{)]}"; // an opening one's partner is three further
constexpr std::size_t kKinds = kBrackets.size() / 2;

bool opens(char bracket) { return kBrackets.find(bracket) < kKinds; }
std::size_t kindOf(char bracket) { return kBrackets.find(bracket) % kKinds; }
char bracket(std::size_t kind, bool opening) { return kBrackets[opening ? kind : kind + kKinds]; }

class Brackets final : public CharacterGenerator {
public:
    Brackets() : CharacterGenerator(kBrackets) {}

private:
    // All shapes of this many pairs are equally likely: with `left` brackets to come and `depth` open ones, that share
    // of the ways to go on begins with an opening one.
    static void writeBalanced(Rng& rng, std::size_t pairs, std::string& text)
    {
        std::vector<std::size_t> open;
        for (std::size_t left = 2 * pairs; left > 0; --left) {
            const std::size_t depth = open.size();
            if (rng.below(2 * left * (depth + 1)) < (left - depth) * (depth + 2)) {
                open.push_back(rng.below(kKinds));
                text.push_back(bracket(open.back(), true));
            } else {
                text.push_back(bracket(open.back(), false));
                open.pop_back();
            }
        }
    }

    void write(Rng& rng, bool right, std::size_t room, std::string& text) const override
    {
        constexpr std::size_t kFewest = kShortest / 2;
        writeBalanced(rng, kFewest + rng.below(room / 2 - kFewest + 1), text);
        if (right)
            return;
        const std::size_t a = rng.below(text.size());
        const std::size_t b = rng.below(text.size());
        switch (rng.below(4)) {
        case 0: // of another kind
            text[a] = bracket((kindOf(text[a]) + 1 + rng.below(kKinds - 1)) % kKinds, opens(text[a]));
            break;
        case 1: // turned round
            text[a] = bracket(kindOf(text[a]), !opens(text[a]));
            break;
        case 2: // neighbours exchanged
            std::swap(text[a], text[(a + 1) % text.size()]);
            break;
        default: // any two exchanged: nothing that can be counted gives it away
            std::swap(text[a], text[b]);
            break;
        }
    }

    bool isRight(std::string_view text) const override
    {
        std::string open;
        for (const char c : text) {
            if (opens(c)) {
                open.push_back(c);
                continue;
            }
            if (open.empty() || kindOf(open.back()) != kindOf(c))
                return false;
            open.pop_back();
        }
        return open.empty();
    }
};

class Sortedness final : public CharacterGenerator {
public:
    Sortedness() : CharacterGenerator("0123456789 ") {}

private:
    void write(Rng& rng, bool right, std::size_t room, std::string& text) const override
    {
        constexpr std::size_t kFewest = 3;
        const std::size_t most = (room + 1) / 3; // two digits and a space, but for the last
        std::vector<std::uint64_t> numbers(kFewest + rng.below(most - kFewest + 1));
        for (std::uint64_t& number : numbers)
            number = 10 + rng.below(90);
        std::ranges::sort(numbers);
        if (!right) {
            const std::size_t a = rng.below(numbers.size() - 1);
            const auto at = [&](std::size_t i) { return numbers.begin() + static_cast<std::ptrdiff_t>(i); };
            switch (rng.below(4)) {
            case 0:
            case 1:
                std::swap(numbers[a], numbers[a + 1]);
                break;
            case 2: // one moved to the front of what came before it, or to the back of what came after
                if (rng.below(2) == 0)
                    std::rotate(numbers.begin(), at(a + 1), at(a + 2));
                else
                    std::rotate(at(a), at(a + 1), numbers.end());
                break;
            default:
                for (std::size_t i = numbers.size(); i > 1; --i)
                    std::swap(numbers[i - 1], numbers[rng.below(i)]);
                break;
            }
        }
        for (const std::uint64_t number : numbers)
            text += (text.empty() ? "" : " ") + std::to_string(number);
    }

    bool isRight(std::string_view text) const override
    {
        // Two digits each, so that text compares as the numbers do.
        for (std::size_t i = 3; i < text.size(); i += 3) {
            if (text.substr(i, 2) < text.substr(i - 3, 2))
                return false;
        }
        return true;
    }
};

std::unique_ptr<Dataset> makeSequenceTask(const std::string& title, std::vector<std::string> classNames, int vocabulary,
                                          int context, std::unique_ptr<ExampleGenerator> generator)
{
    if (context < kShortest) {
        throw std::runtime_error("A context of " + std::to_string(context) + " is too short for the task \"" + title +
                                 "\"; it needs at least " + std::to_string(kShortest) + ".");
    }
    DatasetInfo info;
    info.title = title;
    info.vocabulary = vocabulary;
    info.tokens = context;
    info.classes = static_cast<int>(classNames.size());
    info.classNames = std::move(classNames);
    return std::make_unique<GeneratedDataset>(std::move(info), std::move(generator),
                                              title + " 1 " + std::to_string(context), kValidation);
}

} // namespace

std::unique_ptr<Dataset> makeBrackets(int context)
{
    return makeSequenceTask("Balanced brackets", {"not balanced", "balanced"}, static_cast<int>(kBrackets.size()) + 1,
                            context, std::make_unique<Brackets>());
}

std::unique_ptr<Dataset> makeSortedness(int context)
{
    return makeSequenceTask("Sorted numbers", {"not sorted", "sorted"}, 12, context, std::make_unique<Sortedness>());
}

} // namespace halfscope
