// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/data/text_dataset.h"

#include <algorithm>
#include <filesystem>
#include <stdexcept>
#include <utility>

#include "engine/data/fnv.h"
#include "engine/data/text_file.h"
#include "engine/data/utf8.h"

namespace halfscope {

TextSource loadTextFile(const std::string& path)
{
    TextSource source;
    source.text = stripPublisherText(readTextFile(path));
    const std::size_t characters = countUtf8Characters(source.text);
    if (characters < kMinTextCharacters) {
        throw std::runtime_error("\"" + path + "\" has only " + std::to_string(characters) +
                                 " characters of text; training needs at least " + std::to_string(kMinTextCharacters) +
                                 ".");
    }
    // A book may be one line end away from this: the closing one that stripPublisherText() adds is not counted.
    if (std::all_of(source.text.begin(), source.text.end() - 1, [&](char c) { return c == source.text.front(); })) {
        throw std::runtime_error("\"" + path +
                                 "\" repeats a single character; choose a text with something to learn in it.");
    }
    source.title = std::filesystem::path(path).filename().string();
    return source;
}

TextDataset::TextDataset(TextSource source, int maxVocabulary) : m_source(std::move(source))
{
    const std::u32string text = decodeUtf8(m_source.text);
    if (text.empty())
        throw std::invalid_argument("The text to train on is empty.");
    m_vocabulary = CharacterVocabulary(text, static_cast<std::size_t>(std::max(maxVocabulary, 0)));
    m_tokens = m_vocabulary.encode(text);
    m_trainSize = m_tokens.size() - m_tokens.size() / 10;
    m_hash = fnv1a(m_source.text);
}

std::vector<std::int32_t> TextDataset::encode(std::string_view text) const { return m_vocabulary.encodeKnown(text); }

std::string TextDataset::decode(std::span<const std::int32_t> tokens) const
{
    return m_vocabulary.decode(tokens.data(), tokens.size());
}

void TextDataset::sample(Rng& rng, int batch, int context, std::span<std::int32_t> inputs,
                         std::span<std::int32_t> targets) const
{
    const auto length = static_cast<std::size_t>(context);
    const std::size_t needed = static_cast<std::size_t>(batch) * length;
    if (batch < 1 || context < 1 || inputs.size() != needed || targets.size() != needed)
        throw std::invalid_argument("A batch holds batch * context inputs and as many targets.");
    if (m_trainSize <= length) {
        throw std::runtime_error("The text has " + std::to_string(m_trainSize) +
                                 " characters for training, too few for a context of " + std::to_string(context) +
                                 "; use a longer text or a shorter context.");
    }
    for (std::size_t b = 0; b < static_cast<std::size_t>(batch); ++b) {
        // A window takes context + 1 characters, so the last place it may start at is trainSize - context - 1.
        const std::size_t start = rng.below(m_trainSize - length);
        const auto from = m_tokens.begin() + static_cast<std::ptrdiff_t>(start);
        std::copy_n(from, length, inputs.begin() + static_cast<std::ptrdiff_t>(b * length));
        std::copy_n(from + 1, length, targets.begin() + static_cast<std::ptrdiff_t>(b * length));
    }
}

} // namespace halfscope
