// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/data/csv_dataset.h"

#include <algorithm>
#include <map>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/data/csv_table.h"
#include "tests/engine/data/support.h"
#include "tests/support/temporary_folder.h"

namespace halfscope {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::vector<std::string>> fieldsOf(const std::string& text)
{
    std::vector<std::vector<std::string>> all;
    for (const CsvRecord& record : parseCsv(text, "f"))
        all.push_back(record.fields);
    return all;
}

TEST(CsvTable, ReadsQuotedFields)
{
    using Fields = std::vector<std::string>;
    EXPECT_THAT(fieldsOf("a,b\nc,d"), ElementsAre(Fields{"a", "b"}, Fields{"c", "d"}));
    EXPECT_THAT(fieldsOf("\"a,b\",\"c\nd\"\n"), ElementsAre(Fields{"a,b", "c\nd"}));
    EXPECT_THAT(fieldsOf("\"say \"\"yes\"\"\",\"\"\"\"\n"), ElementsAre(Fields{"say \"yes\"", "\""}));
    EXPECT_THAT(fieldsOf("5\" pipe,\"\"\n"), ElementsAre(Fields{"5\" pipe", ""}));
    EXPECT_THAT(fieldsOf("\n\na,\n\n"), ElementsAre(Fields{"a", ""}));
    EXPECT_THAT(fieldsOf(",\n"), ElementsAre(Fields{"", ""}));
    EXPECT_THAT(fieldsOf("a,"), ElementsAre(Fields{"a", ""}));
    EXPECT_TRUE(fieldsOf("\n\n").empty());
}

TEST(CsvTable, KnowsTheLineOfEachRecord)
{
    const auto records = parseCsv("a,b\n\nc,\"d\ne\"\nf,g\n", "f");
    ASSERT_EQ(records.size(), 3U);
    EXPECT_EQ(records[0].line, 1U);
    EXPECT_EQ(records[1].line, 3U);
    EXPECT_EQ(records[2].line, 5U);
}

TEST(CsvTable, SaysWhereQuotesAreWrong)
{
    EXPECT_EQ(test::problemOf([] { parseCsv("a,b\nc,\"d\ne\n", "f"); }),
              "\"f\", line 2: a quote is opened here and never closed.");
    EXPECT_EQ(test::problemOf([] { parseCsv("a,b\nc,\"d\ne\" e\n", "f"); }),
              "\"f\", line 3: there is text after a closing quote; a quote within a field is written twice.");
    EXPECT_THAT(test::problemOf([] { parseCsv("\"", "f"); }), HasSubstr("line 1"));
}

class Csv : public ::testing::Test {
protected:
    LabelledTexts read(const std::string& bytes) const { return readLabelledTexts(m_folder.write("t.csv", bytes)); }
    std::string problem(const std::string& bytes) const
    {
        const std::string path = m_folder.write("t.csv", bytes);
        return test::problemOf([&] { makeCsv(path, 16); });
    }
    std::unique_ptr<Dataset> make(const std::string& bytes, int context = 16) const
    {
        return makeCsv(m_folder.write("t.csv", bytes), context);
    }

    test::TemporaryFolder m_folder;
};

// `count` rows whose label follows from their text.
std::string rows(int count, const std::string& header = "label,text\n")
{
    std::string text = header;
    for (int i = 0; i < count; ++i)
        text += (i % 2 == 0 ? "even," : "odd,") + std::string("no ") + std::to_string(i) + "\n";
    return text;
}

TEST_F(Csv, TellsAHeaderFromData)
{
    EXPECT_THAT(read("label,text\na,one\nb,two\n").labels, ElementsAre("a", "b"));
    EXPECT_THAT(read("Text,CLASS\none,a\ntwo,b\n").labels, ElementsAre("a", "b"));
    EXPECT_THAT(read("Text,CLASS\none,a\ntwo,b\n").texts, ElementsAre("one", "two"));
    EXPECT_THAT(read("mood,what they said\na,one\nb,two\na,three\n").labels, ElementsAre("a", "b", "a"));
    EXPECT_THAT(read("a,one\nb,two\na,three\n").labels, ElementsAre("a", "b", "a"));
}

TEST_F(Csv, TakesWhatSpreadsheetsWrite)
{
    const LabelledTexts table = read("\xEF\xBB\xBFlabel,text\r\n a ,\"Grüße, \"\"Welt\"\"\r\n2\"\r\nb,two\r\n");
    EXPECT_THAT(table.labels, ElementsAre("a", "b"));
    EXPECT_THAT(table.texts, ElementsAre("Grüße, \"Welt\"\n2", "two"));
}

TEST_F(Csv, SaysWhereAFileIsWrong)
{
    EXPECT_THAT(problem("label,text\na,one\nb,two,three\n"), HasSubstr("line 3: there are 3 columns"));
    EXPECT_THAT(problem("label,text\na,one\nb\n"), HasSubstr("line 3: there is 1 column instead of 2"));
    EXPECT_THAT(problem("label;text\na;one\n"), HasSubstr("separated by commas"));
    EXPECT_THAT(problem("label,text\na,one\n ,two\n"), HasSubstr("line 3: the label is empty"));
    EXPECT_THAT(problem("label,text\na,\"one\n"), HasSubstr("line 2: a quote is opened"));
    EXPECT_THAT(problem("\n\n\n"), HasSubstr("nothing but empty lines"));
    EXPECT_THAT(problem(rows(19)), HasSubstr("has only 19 rows"));
    EXPECT_THAT(problem("label,text\n"), HasSubstr("has only 0 rows"));
    EXPECT_THAT(problem("label,text\na,one\n"), HasSubstr("has only 1 row with a text"));
    EXPECT_THAT(problem(rows(19) + std::string(201, 'x') + ",text\n"),
                HasSubstr("the label has 201 characters, more than 200"));
    EXPECT_EQ(problem(rows(30) + std::string(200, 'x') + ",text\n"), "(no problem)");
    EXPECT_THAT(problem("a,\xFF\n"), HasSubstr("is not UTF-8"));
    EXPECT_THAT(problem(""), HasSubstr("is empty"));
    std::string same = "label,text\n";
    std::string all = "label,text\n";
    std::string each = "label,text\n";
    for (int i = 0; i < 150; ++i) {
        same += "a,text " + std::to_string(i) + "\n";
        all += std::to_string(i) + ",text\n";
        each += std::to_string(i % 50) + ",text " + std::to_string(i % 50) + "\n";
    }
    EXPECT_THAT(problem(same), HasSubstr("only the label \"a\""));
    EXPECT_THAT(problem(all), HasSubstr("150 different labels, more than 100"));
    EXPECT_THAT(problem(each), HasSubstr("only one text of each label"));
    EXPECT_THAT(test::problemOf([&] { makeCsv(m_folder.file("none.csv"), 16); }), HasSubstr("does not exist"));
}

TEST_F(Csv, ClassesAreInTheirNaturalOrder)
{
    std::string text;
    for (int i = 0; i < 40; ++i)
        text += std::to_string(12 - i % 4) + ",text " + std::to_string(i) + "\n";
    EXPECT_THAT(make(text)->info().classNames, ElementsAre("9", "10", "11", "12"));
    EXPECT_THAT(make(rows(40))->info().classNames, ElementsAre("even", "odd"));
}

TEST_F(Csv, LongTextsAreCutAndShortOnesFilledUp)
{
    std::string text = rows(40);
    text += "odd,äöü and much more than that\n";
    text += "odd,\n";
    const auto dataset = make(text, 6);
    EXPECT_EQ(dataset->info().notice, "Texts longer than the context of 6 characters are cut there: 1 of 41. "
                                      "Rows without a text are left out: 1.");
    const Examples examples = test::trainingExamples(*dataset, 500);
    const std::vector<std::string> texts = test::textsOf(*dataset, examples);
    EXPECT_THAT(texts, ::testing::Contains("äöü an"));
    EXPECT_THAT(texts, ::testing::Contains("no 1"));
    for (std::size_t i = 0; i < texts.size(); ++i) {
        if (texts[i] == "no 1") {
            EXPECT_EQ(examples.tokens[i * 6 + 4], dataset->info().vocabulary - 1);
            EXPECT_EQ(examples.tokens[i * 6 + 5], dataset->info().vocabulary - 1);
        }
    }
}

TEST_F(Csv, RareCharactersShareAToken)
{
    std::string text;
    for (int i = 0; i < 400; ++i) {
        text += i % 2 == 0 ? "a," : "b,";
        text += "x";
        text += static_cast<char>(0xE4 + i / 64 / 8); // three bytes: U+4000 and on
        text += static_cast<char>(0x80 + i / 64 % 64);
        text += static_cast<char>(0x80 + i % 64);
        text += "\n";
    }
    const auto dataset = make(text, 4);
    EXPECT_EQ(dataset->info().vocabulary, 257);
    const auto texts = test::textsOf(*dataset, test::trainingExamples(*dataset, 1000));
    EXPECT_THAT(texts, ::testing::Contains("x\uFFFD"));
}

TEST_F(Csv, HoldsOutATenthOfEachLabelAndNoTextThatIsTrainedOn)
{
    // A file sorted by label, with every text twice and one under both labels.
    std::string text;
    for (int i = 0; i < 400; ++i)
        text += std::string(i < 200 ? "a" : "b") + ",text " + std::to_string(i / 2) + "\n";
    for (int i = 0; i < 10; ++i)
        text += "a,both\nb,both\n";
    const auto dataset = make(text);
    const Examples held = test::heldOut(*dataset);
    const auto heldTexts = test::textsOf(*dataset, held);
    const std::set<std::string> different(heldTexts.begin(), heldTexts.end());
    EXPECT_EQ(dataset->validationSize() + dataset->trainingSize(), 420U);
    std::map<std::int32_t, int> of;
    for (const std::string& t : different) {
        if (t != "both")
            ++of[std::stoi(t.substr(5)) < 100 ? 0 : 1];
    }
    EXPECT_GE(of[0], 9); // 100 texts each, and "both" may be one of the first label's
    EXPECT_LE(of[0], 10);
    EXPECT_EQ(of[1], 10);
    for (const std::string& t : test::textsOf(*dataset, test::trainingExamples(*dataset, 5000)))
        ASSERT_FALSE(different.contains(t)) << t;
    EXPECT_THAT(held.targets, ::testing::Contains(1));
    EXPECT_THAT(held.targets, ::testing::Contains(0));

    // The order of the rows changes nothing in what is held out.
    std::vector<std::string> lines;
    for (std::size_t at = 0; at < text.size(); at = text.find('\n', at) + 1)
        lines.push_back(text.substr(at, text.find('\n', at) + 1 - at));
    std::string reversed;
    for (auto line = lines.rbegin(); line != lines.rend(); ++line)
        reversed += *line;
    const auto other = make(reversed);
    auto otherTexts = test::textsOf(*other, test::heldOut(*other));
    EXPECT_EQ(std::set<std::string>(otherTexts.begin(), otherTexts.end()).size(), different.size());
}

TEST_F(Csv, LabelsStayWithTheirTexts)
{
    const auto dataset = make(rows(300));
    for (const Examples& examples : {test::heldOut(*dataset), test::trainingExamples(*dataset, 1000)}) {
        const auto texts = test::textsOf(*dataset, examples);
        for (std::size_t i = 0; i < texts.size(); ++i)
            ASSERT_EQ(examples.targets[i], std::stoi(texts[i].substr(3)) % 2) << texts[i];
    }
}

} // namespace
} // namespace halfscope
