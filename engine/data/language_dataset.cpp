// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/data/language_dataset.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace halfscope {

LanguageDataset::LanguageDataset(TextSource source, int context) : m_text(std::move(source))
{
    if (m_text.trainSize() < static_cast<std::size_t>(context) + 1)
        throw std::runtime_error("The text is too short for a context of " + std::to_string(context) +
                                 " characters; open a longer text or set a smaller context.");
    m_info.title = m_text.source().title;
    m_info.generated = m_text.source().generated;
    m_info.notice = m_text.source().notice;
    m_info.hash = m_text.contentHash();
    m_info.vocabulary = m_text.vocabulary();
    m_info.tokens = context;
}

std::size_t LanguageDataset::validationSize() const
{
    const std::size_t heldOut = m_text.tokens().size() - m_text.trainSize();
    return heldOut == 0 ? 0 : (heldOut - 1) / static_cast<std::size_t>(m_info.tokens);
}

std::size_t LanguageDataset::trainingSize() const
{
    return (m_text.trainSize() - 1) / static_cast<std::size_t>(m_info.tokens);
}

void LanguageDataset::sample(Rng& rng, int batch, Examples& to) const
{
    const std::size_t size = static_cast<std::size_t>(batch) * static_cast<std::size_t>(m_info.tokens);
    to.tokens.resize(size);
    to.targets.resize(size);
    m_text.sample(rng, batch, m_info.tokens, to.tokens, to.targets);
}

void LanguageDataset::validationExamples(std::size_t first, int count, Examples& to) const
{
    const auto length = static_cast<std::size_t>(m_info.tokens);
    const std::size_t size = static_cast<std::size_t>(count) * length;
    if (count < 0 || first + static_cast<std::size_t>(count) > validationSize())
        throw std::invalid_argument("There are not so many held-out examples.");
    const auto text = m_text.tokens().begin() + static_cast<std::ptrdiff_t>(m_text.trainSize() + first * length);
    to.tokens.assign(text, text + static_cast<std::ptrdiff_t>(size));
    to.targets.assign(text + 1, text + 1 + static_cast<std::ptrdiff_t>(size));
}

std::string LanguageDataset::decode(const std::int32_t* tokens, std::size_t count) const
{
    return m_text.decode({tokens, count});
}

} // namespace halfscope
