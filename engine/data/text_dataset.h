// SPDX-License-Identifier: GPL-3.0-or-later
// Text to train a character language model on: installed novels, a file of the user's, or generated text.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "engine/core/rng.h"
#include "engine/data/character_vocabulary.h"

namespace halfscope {

struct TextSource {
    std::string title; // "The Adventures of Sherlock Holmes · The Adventures of Tom Sawyer"
    std::string text;  // UTF-8, no byte-order mark, '\n' line ends, publisher's header and licence stripped
    bool generated = false;
    std::string notice; // one sentence when this is not what the user would expect (novels not installed); or empty
};

TextSource defaultText(); // the novels of golang-github-pierrec-lz4-dev if installed, otherwise generatedText()
TextSource generatedText(std::uint64_t seed = 1); // sums, sorted lists, brackets, short sentences: known answers
// Throws std::runtime_error with one sentence: missing, unreadable, a folder, empty, binary, not UTF-8, shorter than
// kMinTextCharacters.
TextSource loadTextFile(const std::string& path);
inline constexpr std::size_t kMinTextCharacters = 1024;

class TextDataset {
public:
    // The vocabulary is a CharacterVocabulary of at most `maxVocabulary`. The last tenth of the text is for validation.
    explicit TextDataset(TextSource source, int maxVocabulary = 256);

    const TextSource& source() const { return m_source; }
    int vocabulary() const { return static_cast<int>(m_vocabulary.size()); }
    std::span<const std::int32_t> tokens() const { return m_tokens; }
    std::size_t trainSize() const { return m_trainSize; }
    std::uint64_t contentHash() const { return m_hash; }            // FNV-1a of the text
    std::vector<std::int32_t> encode(std::string_view text) const;  // of well-formed UTF-8
    std::string decode(std::span<const std::int32_t> tokens) const; // UTF-8

    // `batch` windows of context+1 characters at random places of the training part: inputs and targets, both
    // batch * context long, targets shifted by one.
    void sample(Rng& rng, int batch, int context, std::span<std::int32_t> inputs,
                std::span<std::int32_t> targets) const;

private:
    TextSource m_source;
    CharacterVocabulary m_vocabulary;
    std::vector<std::int32_t> m_tokens;
    std::size_t m_trainSize = 0;
    std::uint64_t m_hash = 0;
};

} // namespace halfscope
