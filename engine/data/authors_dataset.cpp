// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/data/authors_dataset.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/data/character_vocabulary.h"
#include "engine/data/fnv.h"
#include "engine/data/generated_dataset.h"
#include "engine/data/novels.h"
#include "engine/data/utf8.h"

namespace halfscope {
namespace {

constexpr std::size_t kAuthors = 2;

std::string oneSpaceEach(std::string_view text)
{
    std::string out;
    out.reserve(text.size());
    for (const char c : text) {
        const bool space = c == ' ' || c == '\n' || c == '\t';
        if (!space)
            out.push_back(c);
        else if (!out.empty() && out.back() != ' ')
            out.push_back(' ');
    }
    return out;
}

class AuthorsDataset final : public Dataset {
public:
    AuthorsDataset(DatasetInfo info, const std::array<std::string, kAuthors>& texts, int context)
        : m_info(std::move(info)), m_length(static_cast<std::size_t>(context))
    {
        std::array<std::u32string, kAuthors> characters;
        m_info.hash = kFnvStart;
        for (std::size_t author = 0; author < kAuthors; ++author) {
            const std::string text = oneSpaceEach(texts[author]);
            m_info.hash = fnv1a(text, m_info.hash);
            characters[author] = decodeUtf8(text);
        }
        m_vocabulary = CharacterVocabulary(characters[0] + characters[1]);
        m_info.vocabulary = static_cast<int>(m_vocabulary.size());
        m_info.tokens = context;
        m_info.classes = static_cast<int>(kAuthors);
        std::size_t shortest = 0; // windows held out of the author with the fewest
        for (std::size_t author = 0; author < kAuthors; ++author) {
            Book& book = m_books[author];
            book.tokens = m_vocabulary.encode(characters[author]);
            book.trainingSize = book.tokens.size() - book.tokens.size() / 10;
            const std::size_t windows = (book.tokens.size() - book.trainingSize) / m_length;
            shortest = author == 0 ? windows : std::min(shortest, windows);
            m_trainingWindows += book.trainingSize / m_length;
        }
        if (shortest == 0) {
            throw std::runtime_error("A context of " + std::to_string(context) +
                                     " characters is longer than the passages held out; use a shorter one.");
        }
        m_validationWindows = shortest;
    }

    const DatasetInfo& info() const override { return m_info; }
    std::size_t validationSize() const override { return kAuthors * m_validationWindows; }
    std::size_t trainingSize() const override { return m_trainingWindows; }

    void sample(Rng& rng, int batch, Examples& to) const override
    {
        resizeExamples(m_info, batch, to);
        for (std::size_t b = 0; b < static_cast<std::size_t>(batch); ++b) {
            const std::size_t author = rng.below(kAuthors);
            store(author, rng.below(m_books[author].trainingSize - m_length + 1), b, to);
        }
    }

    // The authors take turns, and the windows are spread over the passage: however few are asked for, all of it counts.
    void validationExamples(std::size_t first, int count, Examples& to) const override
    {
        if (first + static_cast<std::size_t>(count) > validationSize())
            throw std::out_of_range("There are only " + std::to_string(validationSize()) + " held-out examples.");
        resizeExamples(m_info, count, to);
        for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
            const std::size_t author = (first + i) % kAuthors;
            const Book& book = m_books[author];
            const std::size_t windows = (book.tokens.size() - book.trainingSize) / m_length;
            const std::size_t window = scattered((first + i) / kAuthors) * windows / m_validationWindows;
            store(author, book.trainingSize + window * m_length, i, to);
        }
    }

    std::vector<std::int32_t> encode(std::string_view text) const override { return m_vocabulary.encodeKnown(text); }

    std::string decode(const std::int32_t* tokens, std::size_t count) const override
    {
        return m_vocabulary.decode(tokens, count);
    }

private:
    struct Book {
        std::vector<std::int32_t> tokens;
        std::size_t trainingSize = 0; // tokens
    };

    // A permutation of the windows' numbers that goes round in steps of about the golden section.
    std::size_t scattered(std::size_t i) const
    {
        std::size_t step = std::max<std::size_t>(1, m_validationWindows * 618 / 1000);
        while (std::gcd(step, m_validationWindows) != 1)
            ++step;
        return i * step % m_validationWindows;
    }

    void store(std::size_t author, std::size_t start, std::size_t at, Examples& to) const
    {
        std::copy_n(m_books[author].tokens.begin() + static_cast<std::ptrdiff_t>(start), m_length,
                    to.tokens.begin() + static_cast<std::ptrdiff_t>(at * m_length));
        to.targets[at] = static_cast<std::int32_t>(author);
    }

    DatasetInfo m_info;
    CharacterVocabulary m_vocabulary;
    std::array<Book, kAuthors> m_books;
    std::size_t m_length = 0;
    std::size_t m_validationWindows = 0; // of each author
    std::size_t m_trainingWindows = 0;   // of both
};

} // namespace

std::unique_ptr<Dataset> makeAuthors(std::span<const std::string> folders, int context)
{
    if (context < 1)
        throw std::runtime_error("A context of " + std::to_string(context) + " characters is none.");
    DatasetInfo info;
    std::array<std::string, kAuthors> texts;
    std::string missing;
    for (std::size_t author = 0; author < kAuthors; ++author) {
        const Novel& novel = kNovels[author];
        info.title += std::string(author == 0 ? "" : " · ") + novel.author + ", " + novel.title;
        info.classNames.emplace_back(novel.author);
        if (auto text = findNovel(novel, folders))
            texts[author] = *std::move(text);
        else
            missing += std::string(missing.empty() ? "" : " and ") + "\"" + novel.title + "\"";
    }
    if (!missing.empty()) {
        texts = generatedAuthors();
        info.title = "Two made-up authors";
        info.classNames = {"first author", "second author"};
        info.generated = true;
        info.notice = missing + (missing.find("\" and \"") == std::string::npos ? " is" : " are") +
                      " not installed, so the passages are of two made-up authors; install the package " +
                      kNovelsPackage + " for real ones.";
    }
    return std::make_unique<AuthorsDataset>(std::move(info), texts, context);
}

} // namespace halfscope
