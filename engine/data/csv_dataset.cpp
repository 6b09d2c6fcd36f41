// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/data/csv_dataset.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <stdexcept>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "engine/core/number_text.h"
#include "engine/data/character_vocabulary.h"
#include "engine/data/csv_table.h"
#include "engine/data/fnv.h"
#include "engine/data/generated_dataset.h"
#include "engine/data/text_file.h"
#include "engine/data/utf8.h"

namespace halfscope {
namespace {

constexpr std::size_t kVocabulary = 256; // and the token that fills up

[[noreturn]] void fail(const std::string& path, const std::string& what)
{
    throw std::runtime_error("\"" + path + "\"" + what);
}

std::string trimmed(std::string_view text)
{
    constexpr std::string_view kBlank = " \t\n";
    const std::size_t begin = text.find_first_not_of(kBlank);
    return begin == std::string_view::npos ? std::string()
                                           : std::string(text.substr(begin, text.find_last_not_of(kBlank) - begin + 1));
}

bool isOneOf(std::string word, std::span<const std::string_view> names)
{
    std::ranges::transform(word, word.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? char(c - 'A' + 'a') : c; });
    return std::ranges::find(names, word) != names.end();
}

bool namesLabel(const std::string& field)
{
    static constexpr std::array<std::string_view, 7> kNames = {"label",  "labels",    "class", "category",
                                                               "target", "sentiment", "y"};
    return isOneOf(trimmed(field), kNames);
}

bool namesText(const std::string& field)
{
    static constexpr std::array<std::string_view, 7> kNames = {"text",    "texts",  "sentence", "content",
                                                               "message", "review", "x"};
    return isOneOf(trimmed(field), kNames);
}

void checkColumns(const std::string& path, const std::vector<CsvRecord>& records)
{
    for (const CsvRecord& record : records) {
        if (record.fields.size() == 2)
            continue;
        const bool otherSeparator =
            record.fields.size() == 1 && record.fields.front().find_first_of(";\t") != std::string::npos;
        fail(path, ", line " + std::to_string(record.line) + ": there " +
                       (record.fields.size() == 1 ? "is 1 column"
                                                  : "are " + std::to_string(record.fields.size()) + " columns") +
                       " instead of 2, label and text; " +
                       (otherSeparator ? "columns are separated by commas."
                                       : "a text with commas in it is put between double quotes."));
    }
}

// Labels that are all numbers in the order of the numbers, others in that of their characters.
std::vector<std::string> sortedLabels(const std::vector<std::string>& labels)
{
    const std::set<std::string> distinct(labels.begin(), labels.end());
    std::vector<std::string> sorted(distinct.begin(), distinct.end());
    if (std::ranges::all_of(sorted, [](const std::string& label) { return parseDouble(label).has_value(); }))
        std::ranges::stable_sort(sorted, {}, [](const std::string& label) { return *parseDouble(label); });
    return sorted;
}

class CsvDataset final : public Dataset {
public:
    CsvDataset(const std::string& path, const LabelledTexts& table, int context)
    {
        m_info.title = std::filesystem::path(path).filename().string();
        m_info.classNames = sortedLabels(table.labels);
        m_info.classes = static_cast<int>(m_info.classNames.size());
        m_info.tokens = context;
        m_info.hash = kFnvStart;
        std::u32string all;
        std::vector<std::u32string> texts;
        for (std::size_t i = 0; i < table.texts.size(); ++i) {
            m_info.hash = fnv1a(table.texts[i] + '\0' + table.labels[i] + '\0', m_info.hash);
            texts.push_back(decodeUtf8(table.texts[i]));
            all += texts.back();
        }
        m_vocabulary = CharacterVocabulary(all, kVocabulary);
        m_info.vocabulary = static_cast<int>(m_vocabulary.size()) + 1;
        encode(texts);
        for (const std::string& label : table.labels) {
            const auto at = std::ranges::find(m_info.classNames, label);
            m_labels.push_back(static_cast<std::int32_t>(at - m_info.classNames.begin()));
        }
        split(table.texts);
        writeNotice(table, texts);
    }

    const DatasetInfo& info() const override { return m_info; }
    std::size_t validationSize() const override { return m_heldOut.size(); }
    std::size_t trainingSize() const override { return m_training.size(); }

    void sample(Rng& rng, int batch, Examples& to) const override
    {
        resizeExamples(m_info, batch, to);
        for (std::size_t b = 0; b < static_cast<std::size_t>(batch); ++b)
            store(m_training[rng.below(m_training.size())], b, to);
    }

    void validationExamples(std::size_t first, int count, Examples& to) const override
    {
        resizeExamples(m_info, count, to);
        for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i)
            store(m_heldOut.at(first + i), i, to);
    }

    std::vector<std::int32_t> encode(std::string_view text) const override { return m_vocabulary.encodeKnown(text); }

    std::string decode(const std::int32_t* tokens, std::size_t count) const override
    {
        const auto end = std::find(tokens, tokens + count, fill());
        return m_vocabulary.decode(tokens, static_cast<std::size_t>(end - tokens));
    }

private:
    std::int32_t fill() const { return static_cast<std::int32_t>(m_vocabulary.size()); }
    std::size_t length() const { return static_cast<std::size_t>(m_info.tokens); }

    void encode(const std::vector<std::u32string>& texts)
    {
        m_tokens.assign(texts.size() * length(), fill());
        for (std::size_t i = 0; i < texts.size(); ++i) {
            const std::vector<std::int32_t> tokens = m_vocabulary.encode(texts[i].substr(0, length()));
            std::ranges::copy(tokens, m_tokens.begin() + static_cast<std::ptrdiff_t>(i * length()));
        }
    }

    // Texts in the order of their hashes: fixed, and nothing to do with the order of the file, which may be by label.
    void split(const std::vector<std::string>& texts)
    {
        std::unordered_map<std::string_view, std::vector<std::size_t>> rows; // of each text that is different
        for (std::size_t i = 0; i < texts.size(); ++i)
            rows[texts[i]].push_back(i);
        std::map<std::pair<std::uint64_t, std::string_view>, const std::vector<std::size_t>*> order;
        std::vector<std::size_t> left(static_cast<std::size_t>(m_info.classes)); // texts of a label to hold out
        std::vector<std::size_t> textsOf(left.size());
        for (const auto& [text, of] : rows) {
            order[{hash64(fnv1a(text), 0), text}] = &of;
            ++textsOf[static_cast<std::size_t>(m_labels[of.front()])];
        }
        for (std::size_t label = 0; label < left.size(); ++label)
            left[label] = textsOf[label] < 2 ? 0 : std::max<std::size_t>(1, textsOf[label] / 10);
        for (const auto& [key, of] : order) {
            std::size_t& more = left[static_cast<std::size_t>(m_labels[of->front()])];
            std::vector<std::size_t>& side = more > 0 ? m_heldOut : m_training;
            more -= more > 0 ? 1 : 0;
            side.insert(side.end(), of->begin(), of->end());
        }
    }

    void writeNotice(const LabelledTexts& table, const std::vector<std::u32string>& texts)
    {
        const auto longer = std::ranges::count_if(texts, [&](const auto& text) { return text.size() > length(); });
        if (longer > 0) {
            m_info.notice = "Texts longer than the context of " + std::to_string(m_info.tokens) +
                            " characters are cut there: " + std::to_string(longer) + " of " +
                            std::to_string(texts.size()) + ".";
        }
        if (table.rowsWithoutText > 0) {
            m_info.notice += (m_info.notice.empty() ? "" : " ") + std::string("Rows without a text are left out: ") +
                             std::to_string(table.rowsWithoutText) + ".";
        }
    }

    void store(std::size_t row, std::size_t at, Examples& to) const
    {
        std::copy_n(m_tokens.begin() + static_cast<std::ptrdiff_t>(row * length()), length(),
                    to.tokens.begin() + static_cast<std::ptrdiff_t>(at * length()));
        to.targets[at] = m_labels[row];
    }

    DatasetInfo m_info;
    CharacterVocabulary m_vocabulary;
    std::vector<std::int32_t> m_tokens; // length() of each row
    std::vector<std::int32_t> m_labels;
    std::vector<std::size_t> m_training; // rows
    std::vector<std::size_t> m_heldOut;
};

} // namespace

LabelledTexts readLabelledTexts(const std::string& path)
{
    const std::vector<CsvRecord> records = parseCsv(readTextFile(path), path);
    if (records.empty())
        fail(path, " has nothing but empty lines; it should have rows of a label and a text.");
    checkColumns(path, records);

    const std::vector<std::string>& first = records.front().fields;
    const bool swapped = namesText(first[0]) && namesLabel(first[1]);
    const std::size_t labelColumn = swapped ? 1 : 0;
    const auto labelOf = [&](const CsvRecord& record) { return trimmed(record.fields[labelColumn]); };
    const std::string firstLabel = labelOf(records.front());
    const bool named = swapped || (namesLabel(first[0]) && namesText(first[1]));
    const bool header = named || std::none_of(records.begin() + 1, records.end(),
                                              [&](const CsvRecord& record) { return labelOf(record) == firstLabel; });
    LabelledTexts table;
    for (std::size_t i = header ? 1 : 0; i < records.size(); ++i) {
        std::string label = labelOf(records[i]);
        std::string text = trimmed(records[i].fields[1 - labelColumn]);
        if (label.empty())
            fail(path, ", line " + std::to_string(records[i].line) + ": the label is empty.");
        if (const std::size_t length = countUtf8Characters(label); length > kMaxCsvLabel) {
            fail(path, ", line " + std::to_string(records[i].line) + ": the label has " + std::to_string(length) +
                           " characters, more than " + std::to_string(kMaxCsvLabel) +
                           "; the label is the first column and the text the second, unless a header says otherwise.");
        }
        if (text.empty()) {
            ++table.rowsWithoutText;
            continue;
        }
        table.labels.push_back(std::move(label));
        table.texts.push_back(std::move(text));
    }
    return table;
}

std::unique_ptr<Dataset> makeCsv(const std::string& path, int context)
{
    const LabelledTexts table = readLabelledTexts(path);
    if (table.texts.size() < kMinCsvRows) {
        fail(path, " has only " + std::to_string(table.texts.size()) + (table.texts.size() == 1 ? " row" : " rows") +
                       " with a text; training needs at least " + std::to_string(kMinCsvRows) + ".");
    }
    const std::size_t labels = std::set<std::string>(table.labels.begin(), table.labels.end()).size();
    if (labels < 2)
        fail(path, " has only the label \"" + table.labels.front() + "\"; there is nothing to tell apart.");
    if (labels > kMaxCsvClasses) {
        fail(path, " has " + std::to_string(labels) + " different labels, more than " + std::to_string(kMaxCsvClasses) +
                       "; the label is the first column and the text the second, unless a header says otherwise.");
    }
    auto dataset = std::make_unique<CsvDataset>(path, table, context);
    if (dataset->validationSize() == 0)
        fail(path, " has only one text of each label, so none can be held out; add more texts.");
    return dataset;
}

} // namespace halfscope
