// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/data/text_dataset.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <sys/stat.h>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/data/novels.h"
#include "engine/data/text_file.h"
#include "engine/data/utf8.h"
#include "tests/support/ordinary_user.h"
#include "tests/support/temporary_folder.h"

namespace halfscope {
namespace {

using test::OrdinaryUser;
using test::TemporaryFolder;
using ::testing::AllOf;
using ::testing::HasSubstr;

std::string problemOf(const std::string& path)
{
    try {
        loadTextFile(path);
    } catch (const std::runtime_error& e) {
        return e.what();
    }
    return "(no problem)";
}

// `characters` long, of words, so that it counts as a text.
std::string prose(std::size_t characters)
{
    std::string text;
    while (text.size() < characters)
        text += "the quick fox " + std::to_string(text.size()) + "\n";
    text.resize(characters - 2);
    return text + ".\n"; // ends with a letter, so that nothing is trimmed
}

TextSource sourceOf(const std::string& text)
{
    TextSource source;
    source.text = text;
    return source;
}

std::vector<std::string> linesOf(const std::string& text)
{
    std::vector<std::string> lines;
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);)
        lines.push_back(line);
    return lines;
}

TEST(Utf8, AcceptsEveryCodePointAndReturnsIt)
{
    std::string text;
    std::u32string expected;
    for (char32_t c = 1; c <= 0x10FFFF; ++c) {
        if (c >= 0xD800 && c <= 0xDFFF)
            continue;
        expected.push_back(c);
        appendUtf8(text, c);
    }
    EXPECT_EQ(firstInvalidUtf8(text), std::nullopt);
    EXPECT_EQ(decodeUtf8(text), expected);
    EXPECT_EQ(countUtf8Characters(text), expected.size());
}

TEST(Utf8, NamesTheFirstBadByte)
{
    using namespace std::string_literals;
    const std::array<std::pair<std::string, std::size_t>, 14> cases = {{
        {"abc\x80"s, 3},          // a continuation byte on its own
        {"\xC0\xAF"s, 0},         // overlong '/'
        {"\xC1\xBF"s, 0},         // overlong 0x7F
        {"a\xE0\x9F\xBF"s, 1},    // overlong, three bytes
        {"\xED\xA0\x80"s, 0},     // surrogate U+D800
        {"\xED\xBF\xBF"s, 0},     // surrogate U+DFFF
        {"\xF0\x8F\xBF\xBF"s, 0}, // overlong, four bytes
        {"\xF4\x90\x80\x80"s, 0}, // U+110000
        {"\xF5\x80\x80\x80"s, 0}, // a lead byte that never occurs
        {"\xFF"s, 0},
        {"ok \xC3"s, 3},           // cut off after one of two
        {"ok \xE2\x82"s, 3},       // cut off after two of three
        {"ok \xF0\x9F\x98"s, 3},   // cut off after three of four
        {"\xC3\xA9\xE2\x82z"s, 2}, // the third byte is a letter
    }};
    for (const auto& [bytes, position] : cases)
        EXPECT_EQ(firstInvalidUtf8(bytes), position) << ::testing::PrintToString(bytes);
}

TEST(TextFile, ReadsUtf8AndRepairsBomAndLineEnds)
{
    const TemporaryFolder folder;
    const std::string body = prose(2000);
    std::string crlf = "\xEF\xBB\xBF";
    for (const char c : body)
        crlf += c == '\n' ? std::string("\r\n") : std::string(1, c);
    const TextSource unix = loadTextFile(folder.write("unix.txt", body));
    const TextSource windows = loadTextFile(folder.write("windows.txt", crlf));
    std::string mac = body;
    std::ranges::replace(mac, '\n', '\r');
    const TextSource old = loadTextFile(folder.write("mac.txt", mac));
    EXPECT_TRUE(unix.text == body); // not EXPECT_EQ: it would print both
    EXPECT_TRUE(windows.text == body);
    EXPECT_TRUE(old.text == body);
    EXPECT_EQ(unix.title, "unix.txt");
    EXPECT_FALSE(unix.generated);
    EXPECT_EQ(unix.notice, "");
}

TEST(TextFile, RefusesWithOneSentenceNamingTheFile)
{
    using namespace std::string_literals;
    const TemporaryFolder folder;
    const auto refused = [&](const std::string& name, const std::string& bytes) {
        const std::string path = folder.write(name, bytes);
        const std::string problem = problemOf(path);
        EXPECT_THAT(problem, HasSubstr("\"" + path + "\""));
        EXPECT_EQ(problem.find('\n'), std::string::npos);
        EXPECT_EQ(problem.back(), '.');
        return problem;
    };
    EXPECT_THAT(refused("empty.txt", ""), HasSubstr("is empty"));
    EXPECT_THAT(refused("only-bom.txt", "\xEF\xBB\xBF"), HasSubstr("is empty"));
    EXPECT_THAT(refused("blank.txt", std::string(3000, '\n')), HasSubstr("only 0 characters"));
    EXPECT_THAT(refused("short.txt", "tiny\n"), AllOf(HasSubstr("only 5 characters"), HasSubstr("1024")));
    EXPECT_THAT(refused("zeros.bin", prose(2000) + "\0"s + prose(10)),
                AllOf(HasSubstr("binary"), HasSubstr("position 2000")));
    EXPECT_THAT(refused("latin1.txt", prose(2000) + "caf\xE9 au lait\n"),
                AllOf(HasSubstr("not UTF-8"), HasSubstr("0xE9"), HasSubstr("position 2003")));
    EXPECT_THAT(refused("cut.txt", prose(2000) + "\xE2\x82"), AllOf(HasSubstr("not UTF-8"), HasSubstr("0xE2")));
    EXPECT_THAT(refused("utf16le.txt", "\xFF\xFEh\0i\0"s), HasSubstr("UTF-16"));
    EXPECT_THAT(refused("utf16be.txt", "\xFE\xFF\0h\0i"s), HasSubstr("UTF-16"));
    EXPECT_THAT(refused("aaaa.txt", std::string(5000, 'a')), HasSubstr("single character"));
}

TEST(TextFile, CountsCharactersNotBytes)
{
    const TemporaryFolder folder;
    std::string greek; // 1000 characters in 2000 bytes: too short
    for (int i = 0; i < 1000; ++i)
        greek += i % 2 == 0 ? "α" : "β";
    EXPECT_THAT(problemOf(folder.write("greek.txt", greek)), HasSubstr("1001 characters"));
    EXPECT_EQ(loadTextFile(folder.write("long.txt", greek + greek)).text, greek + greek + "\n");
    EXPECT_EQ(loadTextFile(folder.write("limit.txt", prose(kMinTextCharacters))).text.size(), kMinTextCharacters);
    EXPECT_THAT(problemOf(folder.write("below.txt", prose(kMinTextCharacters - 1))), HasSubstr("only 1023 "));
}

TEST(TextFile, NamesTheLineOfTheFirstBadByte)
{
    const TemporaryFolder folder;
    EXPECT_THAT(problemOf(folder.write("bad.txt", "one\ntwo\nthr\x80")),
                AllOf(HasSubstr("line 3"), HasSubstr("position 11")));
}

TEST(TextFile, RefusesWhatIsNoReadableFile)
{
    const TemporaryFolder folder;
    EXPECT_THAT(problemOf(folder.file("nothing.txt")), HasSubstr("does not exist"));
    EXPECT_THAT(problemOf(folder.path().string()), HasSubstr("is a folder"));
    EXPECT_THAT(problemOf(""), HasSubstr("does not exist"));

    const std::string pipe = folder.file("pipe"); // opening it would wait for a writer for ever
    ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
    EXPECT_THAT(problemOf(pipe), HasSubstr("not a regular file"));

    const std::string loop = folder.file("loop");
    std::filesystem::create_symlink(loop, loop);
    EXPECT_THAT(problemOf(loop), HasSubstr("cannot be opened"));

    // A file that opens and then cannot be read: a process's memory, at address 0.
    EXPECT_THAT(problemOf("/proc/self/mem"), HasSubstr("cannot be read"));

    const std::string secret = folder.write("secret.txt", prose(2000));
    std::filesystem::permissions(folder.path(), std::filesystem::perms::all);
    std::filesystem::permissions(secret, std::filesystem::perms::none);
    const OrdinaryUser user;
    EXPECT_THAT(problemOf(secret), AllOf(HasSubstr("cannot be opened"), HasSubstr("ermission")));
}

TEST(TextFile, RefusesWhatIsTooLarge)
{
    const TemporaryFolder folder;
    const std::string path = folder.write("large.txt", "x");
    std::filesystem::resize_file(path, kMaxTextBytes + 1);
    EXPECT_THAT(problemOf(path), AllOf(HasSubstr("larger than 64 MiB"), HasSubstr(path)));
}

TEST(TextFile, StripsThePublishersTextAndNothingElse)
{
    const std::string book = "  THE TITLE\n\nby Somebody\n\nIt was a night.\nProduced by nobody.\n";
    EXPECT_EQ(
        stripPublisherText("Licence, header\n*** START OF THIS PROJECT GUTENBERG EBOOK X ***\n\nProduced by A\nand "
                           "B\n\n\n" +
                           book +
                           "\n\nEnd of the Project Gutenberg EBook of X\n*** END OF THIS PROJECT GUTENBERG "
                           "EBOOK X ***\nlicence *** START: FULL LICENSE\n"),
        book);
    EXPECT_EQ(stripPublisherText("*** START OF THE PROJECT GUTENBERG EBOOK X ***\n" + book +
                                 "*** END OF THE PROJECT GUTENBERG EBOOK X ***\n"),
              book);
    EXPECT_EQ(stripPublisherText("Produced by A. The previous edition was by\nB.\n\n\n" + book), book);
    EXPECT_EQ(stripPublisherText(book), book);
    EXPECT_EQ(stripPublisherText("\n\n \n" + book + " \n\n"), book);
    EXPECT_EQ(stripPublisherText("no line end"), "no line end\n");
    EXPECT_EQ(stripPublisherText(" \n \n"), "");
}

TEST(Novels, AreFoundWhereverTheyLie)
{
    const TemporaryFolder first;
    const TemporaryFolder second;
    const std::string holmes =
        "\xEF\xBB\xBFheader\r\n*** START OF THIS PROJECT GUTENBERG EBOOK H ***\r\n\r\nHolmes\r\n";
    first.write("pg1661.txt", holmes + prose(2000) + "End of the Project Gutenberg EBook\n");
    second.write("Mark.Twain-Tom.Sawyer.txt", "Produced by D.\n\nTom\n" + prose(3000));

    const std::vector<std::string> both = {first.path().string(), second.path().string()};
    const TextSource text = defaultTextFrom(both);
    EXPECT_TRUE(text.text == "Holmes\n" + prose(2000) + "\n\nTom\n" + prose(3000));
    EXPECT_EQ(text.title, "The Adventures of Sherlock Holmes · The Adventures of Tom Sawyer");
    EXPECT_EQ(text.notice, "");
    EXPECT_FALSE(text.generated);

    const TextSource one = defaultTextFrom(std::vector<std::string>{second.path().string()});
    EXPECT_TRUE(one.text == "Tom\n" + prose(3000));
    EXPECT_EQ(one.title, "The Adventures of Tom Sawyer");
    EXPECT_THAT(one.notice, AllOf(HasSubstr("Sherlock Holmes"), HasSubstr(kNovelsPackage)));
}

TEST(Novels, GiveWayToGeneratedTextWithANotice)
{
    const TemporaryFolder folder;
    const std::vector<std::string> folders = {folder.path().string(), folder.file("missing")};
    const TextSource none = defaultTextFrom(folders);
    EXPECT_TRUE(none.generated);
    EXPECT_TRUE(none.text == generatedText().text);
    EXPECT_THAT(none.notice, HasSubstr(kNovelsPackage));

    folder.write("pg1661.txt", "\xFF damaged");
    folder.write("Mark.Twain-Tom.Sawyer.txt", "");
    EXPECT_TRUE(defaultTextFrom(folders).generated);
}

TEST(DefaultText, IsCleanAndLongEnoughOnThisMachine)
{
    const TextSource text = defaultText(); // the novels or generated text, whichever this machine has
    EXPECT_EQ(firstInvalidUtf8(text.text), std::nullopt);
    EXPECT_GT(countUtf8Characters(text.text), 300'000U);
    for (const char* unwanted : {"\r", "\xEF\xBB\xBF", "Gutenberg", "Produced by "})
        EXPECT_EQ(text.text.find(unwanted), std::string::npos) << unwanted;
    EXPECT_EQ(text.generated, !text.notice.empty());
    const TextDataset data(text);
    EXPECT_GT(data.vocabulary(), 30);
    EXPECT_LE(data.vocabulary(), 128);
}

TEST(GeneratedText, DependsOnTheSeedAlone)
{
    EXPECT_TRUE(generatedText(7).text == generatedText(7).text);
    EXPECT_FALSE(generatedText(7).text == generatedText(8).text);
    EXPECT_TRUE(generatedText(7).generated);
    EXPECT_FALSE(generatedText(7).title.empty());
}

bool bracketsBalance(const std::string& line)
{
    std::string open;
    for (const char c : line) {
        const std::string_view pairs = "()[]{}";
        const std::size_t at = pairs.find(c);
        if (at == std::string_view::npos)
            return false;
        if (at % 2 == 0) {
            open.push_back(pairs[at + 1]);
        } else {
            if (open.empty() || open.back() != c)
                return false;
            open.pop_back();
        }
    }
    return open.empty();
}

TEST(GeneratedText, EveryAnswerIsRight)
{
    const std::regex sum(R"((\d+)\+(\d+)=(\d+))");
    const std::regex sorting(R"(sort((?: \d+)+) =((?: \d+)+))");
    const std::regex brackets(R"([\[\](){}]+)");
    const std::regex sentence(
        R"(The [a-z]+ [a-z]+ [a-z]+s (one|two|three|four|five|six|seven|eight) [a-z]+ [a-z]+( [a-z]+)+\.)");
    std::map<std::string, std::size_t> seen;
    const std::vector<std::string> lines = linesOf(generatedText(3).text);
    for (const std::string& line : lines) {
        std::smatch m;
        if (std::regex_match(line, m, sum)) {
            ++seen["sum"];
            ASSERT_EQ(std::stoi(m[1]) + std::stoi(m[2]), std::stoi(m[3])) << line;
        } else if (std::regex_match(line, m, sorting)) {
            ++seen["sorting"];
            std::istringstream given(m[1]);
            std::istringstream answer(m[2]);
            std::vector<int> a(std::istream_iterator<int>(given), {});
            const std::vector<int> b(std::istream_iterator<int>(answer), {});
            std::ranges::sort(a);
            ASSERT_EQ(a, b) << line;
        } else if (std::regex_match(line, brackets)) {
            ++seen["brackets"];
            ASSERT_TRUE(bracketsBalance(line)) << line;
        } else {
            ASSERT_TRUE(std::regex_match(line, m, sentence)) << line;
            ++seen["sentence"];
            const std::string thing = line.substr(line.find(m[1].str() + " ") + m[1].str().size() + 1);
            const std::size_t nounAt = thing.find(' ') + 1;
            const std::string noun = thing.substr(nounAt, thing.find(' ', nounAt) - nounAt);
            ASSERT_EQ(noun.back() == 's', m[1] != "one") << line;
        }
    }
    // Each kind is drawn with probability 1/4: with n lines the count's deviation is sqrt(3 n) / 4; 6 of them is safe
    // (the text is fixed by its seed, so this cannot come and go).
    const double n = static_cast<double>(lines.size());
    ASSERT_EQ(seen.size(), 4U);
    for (const auto& [kind, count] : seen)
        EXPECT_NEAR(static_cast<double>(count), n / 4, 6 * std::sqrt(3 * n) / 4) << kind;
}

TEST(TextDataset, VocabularyIsTheCharactersInOrder)
{
    const TextDataset data(sourceOf("banané\n€banana"));
    EXPECT_EQ(data.vocabulary(), 6); // \n a b n é €
    EXPECT_EQ(data.decode(std::vector<std::int32_t>{0, 1, 2, 3, 4, 5}), "\nabné€");
    EXPECT_EQ(data.decode(data.tokens()), "banané\n€banana");
    EXPECT_EQ(data.tokens().size(), 14U);
    EXPECT_EQ(data.trainSize(), 13U); // the last tenth, rounded down, is for validation
}

TEST(TextDataset, RareCharactersShareOneToken)
{
    // Frequencies: a 4, b 3, c 2, d 2, e 1, ü 1. Five tokens: a b c d and the shared one. Four: d loses to c, being
    // equally frequent and later.
    const std::string text = "aaaabbbccddeü";
    const TextDataset five(sourceOf(text), 5);
    EXPECT_EQ(five.vocabulary(), 5);
    EXPECT_EQ(five.decode(five.tokens()), "aaaabbbccdd\uFFFD\uFFFD");
    const TextDataset four(sourceOf(text), 4);
    EXPECT_EQ(four.vocabulary(), 4);
    EXPECT_EQ(four.decode(four.tokens()), "aaaabbbcc\uFFFD\uFFFD\uFFFD\uFFFD");
    const TextDataset six(sourceOf(text), 6); // exactly enough
    EXPECT_EQ(six.decode(six.tokens()), text);
}

TEST(TextDataset, AReplacementCharacterInTheTextIsTheSharedToken)
{
    const TextDataset data(sourceOf("\uFFFD\uFFFD\uFFFDaabbc"), 3);
    EXPECT_EQ(data.vocabulary(), 3); // a, b, U+FFFD
    EXPECT_EQ(data.decode(data.tokens()), "\uFFFD\uFFFD\uFFFDaabb\uFFFD");
    const TextDataset roomy(sourceOf("\uFFFDab"), 3);
    EXPECT_EQ(roomy.decode(roomy.tokens()), "\uFFFDab");
}

TEST(TextDataset, HashIsFnv1a)
{
    // Published test vectors of the 64-bit FNV-1a function.
    EXPECT_EQ(TextDataset(sourceOf("a")).contentHash(), 0xaf63dc4c8601ec8cULL);
    EXPECT_EQ(TextDataset(sourceOf("foobar")).contentHash(), 0x85944171f73967e8ULL);
}

TEST(TextDataset, SamplesWindowsOfTheTrainingPart)
{
    // Every character occurs once, so a token tells its place.
    std::string text;
    for (char32_t c = 0x4E00; c < 0x4E00 + 200; ++c)
        appendUtf8(text, c);
    const TextDataset data(sourceOf(text));
    ASSERT_EQ(data.trainSize(), 180U);
    constexpr int kBatch = 8;
    constexpr int kContext = 16;
    std::vector<std::int32_t> inputs(kBatch * kContext);
    std::vector<std::int32_t> targets(kBatch * kContext);
    Rng rng(5);
    std::set<std::int32_t> starts;
    for (int round = 0; round < 1000; ++round) {
        data.sample(rng, kBatch, kContext, inputs, targets);
        for (std::size_t b = 0; b < kBatch; ++b) {
            const std::int32_t start = inputs[b * kContext];
            starts.insert(start);
            for (std::int32_t t = 0; t < kContext; ++t) {
                ASSERT_EQ(inputs[b * kContext + static_cast<std::size_t>(t)], start + t);
                ASSERT_EQ(targets[b * kContext + static_cast<std::size_t>(t)], start + t + 1);
            }
        }
    }
    // 164 places: the last window ends with the training part. 8000 draws miss one with probability 164 e^-48.
    EXPECT_EQ(starts.size(), 164U);
    EXPECT_EQ(*starts.begin(), 0);
    EXPECT_EQ(*starts.rbegin(), 163);
}

TEST(TextDataset, SamplingFollowsTheGenerator)
{
    const TextDataset data(generatedText(1));
    std::vector<std::int32_t> a(64), b(64), c(64), targets(64);
    Rng first(9);
    Rng second(9);
    Rng third(10);
    data.sample(first, 4, 16, a, targets);
    data.sample(second, 4, 16, b, targets);
    data.sample(third, 4, 16, c, targets);
    EXPECT_EQ(a, b);
    EXPECT_NE(a, c);
}

TEST(TextDataset, RefusesWhatCannotBeSampled)
{
    const TextDataset data(sourceOf("0123456789")); // 9 for training
    std::vector<std::int32_t> inputs(8);
    std::vector<std::int32_t> targets(8);
    Rng rng(1);
    data.sample(rng, 1, 8, inputs, targets); // exactly one window fits
    EXPECT_EQ(data.decode(inputs), "01234567");
    EXPECT_EQ(data.decode(targets), "12345678");
    inputs.resize(9);
    targets.resize(9);
    EXPECT_THROW(data.sample(rng, 1, 9, inputs, targets), std::runtime_error);
    EXPECT_THROW(data.sample(rng, 1, 8, inputs, targets), std::invalid_argument);
    EXPECT_THROW(data.sample(rng, 0, 8, inputs, targets), std::invalid_argument);
    EXPECT_THROW(TextDataset(sourceOf("")), std::invalid_argument);
    EXPECT_THROW(TextDataset(sourceOf("ab"), 1), std::invalid_argument);
}

} // namespace
} // namespace halfscope
