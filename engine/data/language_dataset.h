// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/data/dataset.h"
#include "engine/data/text_dataset.h"

namespace halfscope {

// The next character of a text, everywhere. An example is `context` characters; its targets are the same moved on by
// one. Training examples begin anywhere in the first nine tenths; the last tenth, held out, is cut up from its
// beginning.
class LanguageDataset final : public Dataset {
public:
    // Throws std::runtime_error with one sentence when the text is too short for the context.
    LanguageDataset(TextSource source, int context);

    const DatasetInfo& info() const override { return m_info; }
    std::size_t validationSize() const override;
    std::size_t trainingSize() const override;
    void sample(Rng& rng, int batch, Examples& to) const override;
    void validationExamples(std::size_t first, int count, Examples& to) const override;
    std::vector<std::int32_t> encode(std::string_view text) const override { return m_text.encode(text); }
    std::string decode(const std::int32_t* tokens, std::size_t count) const override;

private:
    TextDataset m_text;
    DatasetInfo m_info;
};

} // namespace halfscope
