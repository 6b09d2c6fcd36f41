// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/data/idx_file.h"

#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include "engine/data/dataset_registry.h"
#include "engine/data/image_dataset.h"
#include "tests/engine/data/support.h"
#include "tests/support/ordinary_user.h"
#include "tests/support/temporary_folder.h"

namespace halfscope {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string header(std::initializer_list<std::uint32_t> sizes, char type = 8)
{
    std::string bytes = {0, 0, type, static_cast<char>(sizes.size())};
    for (const std::uint32_t size : sizes) {
        for (int shift = 24; shift >= 0; shift -= 8)
            bytes.push_back(static_cast<char>(size >> shift & 0xFFU));
    }
    return bytes;
}

// `count` images of 2 x 3 pixels, all pixels of image i being i; labels i modulo `classes`.
std::string images(std::uint32_t count)
{
    std::string bytes = header({count, 2, 3});
    for (std::uint32_t i = 0; i < count; ++i)
        bytes.append(6, static_cast<char>(i));
    return bytes;
}

std::string labels(std::uint32_t count, std::uint32_t classes = 4)
{
    std::string bytes = header({count});
    for (std::uint32_t i = 0; i < count; ++i)
        bytes.push_back(static_cast<char>(i % classes));
    return bytes;
}

class Idx : public ::testing::Test {
protected:
    std::string pack(const std::string& name, const std::string& bytes) const
    {
        const std::string path = m_folder.file(name);
        gzFile file = gzopen(path.c_str(), "wb");
        EXPECT_EQ(gzwrite(file, bytes.data(), static_cast<unsigned>(bytes.size())), static_cast<int>(bytes.size()));
        gzclose(file);
        return path;
    }
    std::string problemOfFile(const std::string& bytes, std::size_t dimensions = 3) const
    {
        const std::string path = m_folder.write("file", bytes);
        return test::problemOf([&] { readIdx(path, dimensions, dimensions); });
    }
    std::string problemOfSet(const std::string& path) const
    {
        return test::problemOf([&] { makeIdx(path, kPatchRows); });
    }
    std::string folder() const { return m_folder.path().string(); }

    test::TemporaryFolder m_folder;
};

TEST_F(Idx, ReadsFilesPackedOrNot)
{
    const std::string bytes = header({2, 1, 3}) + "abcdef";
    for (const std::string& path : {m_folder.write("plain", bytes), pack("packed.gz", bytes)}) {
        const IdxArray array = readIdx(path, 3, 3);
        EXPECT_THAT(array.sizes, ElementsAre(2, 1, 3));
        EXPECT_THAT(array.bytes, ElementsAre('a', 'b', 'c', 'd', 'e', 'f'));
    }
}

TEST_F(Idx, SaysWhatIsWrongWithAFile)
{
    EXPECT_THAT(problemOfFile(""), HasSubstr("is not an IDX file"));
    EXPECT_THAT(problemOfFile("abc"), HasSubstr("is not an IDX file"));
    EXPECT_THAT(problemOfFile("label,text\n"), HasSubstr("is not an IDX file"));
    EXPECT_THAT(problemOfFile(header({1, 1, 1}, 0x0D) + "abcd"), HasSubstr("not unsigned bytes (type 13"));
    EXPECT_THAT(problemOfFile(header({5}) + "abcde"), HasSubstr("has 1 dimension instead of 3"));
    EXPECT_THAT(problemOfFile(header({5, 2, 2}), 1), HasSubstr("has 3 dimensions instead of 1"));
    EXPECT_THAT(problemOfFile(header({2, 2, 2}).substr(0, 14)), HasSubstr("cut off within its header"));
    EXPECT_THAT(problemOfFile(header({2, 2, 2}) + "abcdefg"), HasSubstr("cut off: 7 of the 8 bytes"));
    EXPECT_THAT(problemOfFile(header({2, 2, 2}) + "abcdefghi"), HasSubstr("longer than the 8 bytes"));
    EXPECT_THAT(problemOfFile(header({2, 0, 2})), HasSubstr("dimension 2 is 0"));
    EXPECT_THAT(problemOfFile(header({0xFFFFFFFFU, 0xFFFFFFFFU, 0xFFFFFFFFU}) + "abc"),
                HasSubstr("more than 1024 MiB"));
    EXPECT_THAT(problemOfFile(header({1U << 30U, 1, 1}) + "abc"), HasSubstr("cut off: 3 of the 1073741824"));
    EXPECT_THAT(problemOfFile(header({(1U << 30U) + 1, 1, 1}) + "abc"), HasSubstr("more than 1024 MiB"));
}

TEST_F(Idx, SaysWhatIsWrongWithPackedData)
{
    std::string noise = header({1, 100, 100});
    Rng rng(1);
    for (int i = 0; i < 10'000; ++i)
        noise.push_back(static_cast<char>(rng.next()));
    const std::string packed = test::readWholeFile(pack("whole.gz", noise));
    EXPECT_EQ(test::problemOf([&] { readIdx(m_folder.file("whole.gz"), 3, 3); }), "(no problem)");
    EXPECT_THAT(problemOfFile(packed.substr(0, packed.size() / 2)), HasSubstr("is cut off"));
    EXPECT_THAT(problemOfFile(packed.substr(0, packed.size() - 4)), HasSubstr("is cut off"));
    std::string damaged = packed;
    damaged[packed.size() / 2] = static_cast<char>(damaged[packed.size() / 2] ^ 0x55);
    EXPECT_THAT(problemOfFile(damaged), HasSubstr("is damaged"));
    EXPECT_THAT(problemOfFile(packed.substr(0, 5)), HasSubstr("\"")); // whatever it is taken for, a sentence
}

TEST_F(Idx, SaysWhenAFileCannotBeOpened)
{
    EXPECT_THAT(test::problemOf([&] { readIdx(m_folder.file("none"), 3, 3); }), HasSubstr("does not exist"));
    EXPECT_THAT(test::problemOf([&] { readIdx(folder(), 3, 3); }), HasSubstr("is not a regular file"));
    const std::string path = m_folder.write("secret", images(4));
    std::filesystem::permissions(m_folder.path(), std::filesystem::perms::all);
    std::filesystem::permissions(path, std::filesystem::perms::none);
    const test::OrdinaryUser user;
    EXPECT_THAT(test::problemOf([&] { readIdx(path, 3, 3); }), HasSubstr("cannot be opened: Permission denied"));
}

TEST_F(Idx, FindsTheLabelsBesideTheImages)
{
    const std::string path = pack("my-images-idx3-ubyte.gz", images(40));
    EXPECT_THAT(problemOfSet(path), HasSubstr("no file of labels beside"));
    EXPECT_THAT(problemOfSet(folder()), HasSubstr("has no pair of IDX files"));
    m_folder.write("my-labels-idx1-ubyte", labels(40)); // not packed, though the images are
    for (const std::string& from : {path, folder()}) {
        const auto dataset = makeIdx(from, kPatchRows);
        EXPECT_EQ(dataset->info().classes, 4);
        EXPECT_THAT(dataset->info().classNames, ElementsAre("0", "1", "2", "3"));
        EXPECT_EQ(dataset->info().patches, 2);
        EXPECT_EQ(dataset->info().patchWidth, 3);
        EXPECT_EQ(dataset->trainingSize(), 36U);
        EXPECT_EQ(dataset->validationSize(), 4U);
    }
    m_folder.write("your-images", images(40));
    m_folder.write("your-labels", labels(40));
    EXPECT_THAT(problemOfSet(folder()), HasSubstr("several sets of images"));
    EXPECT_EQ(problemOfSet(m_folder.file("your-images")), "(no problem)");
    EXPECT_THAT(problemOfSet(m_folder.file("their-images")), HasSubstr("does not exist"));
}

TEST_F(Idx, LabelsStayWithTheirImagesAndNoHeldOutImageIsTrainedOn)
{
    m_folder.write("images", images(200));
    m_folder.write("labels", labels(200, 7));
    const auto dataset = makeIdx(folder(), 1);
    std::vector<int> side(200);
    const Examples held = test::heldOut(*dataset);
    for (const auto& [examples, mark] : {std::pair(held, 1), std::pair(test::trainingExamples(*dataset, 4000), 2)}) {
        for (std::size_t i = 0; i < examples.targets.size(); ++i) {
            const std::vector<std::uint8_t> image = test::imageOf(*dataset, examples, i);
            ASSERT_EQ(image, std::vector<std::uint8_t>(6, image.front()));
            ASSERT_EQ(examples.targets[i], image.front() % 7);
            side[image.front()] |= mark;
        }
    }
    EXPECT_EQ(std::ranges::count(side, 1), 20);
    EXPECT_EQ(std::ranges::count(side, 2), 180);
    // Not simply the last or the first ones, which may all be of one class.
    EXPECT_THAT(held.targets, ::testing::Not(::testing::Each(held.targets.front())));
}

TEST_F(Idx, ATestSetBesideTheTrainingSetIsWhatIsHeldOut)
{
    m_folder.write("train-images-idx3-ubyte", images(60));
    m_folder.write("train-labels-idx1-ubyte", labels(60, 3));
    pack("t10k-images-idx3-ubyte.gz", images(30));
    pack("t10k-labels-idx1-ubyte.gz", labels(30, 5));
    const auto dataset = makeIdx(folder(), kPatchRows);
    EXPECT_EQ(dataset->trainingSize(), 60U);
    EXPECT_EQ(dataset->validationSize(), 30U);
    EXPECT_EQ(dataset->info().classes, 5); // the test set has more
    m_folder.write("t10k-images-idx3-ubyte", header({30, 3, 3}) + std::string(270, 'x'));
    EXPECT_THAT(problemOfSet(folder()), HasSubstr("differ in size"));
}

TEST_F(Idx, SaysWhenASetIsOfNoUse)
{
    m_folder.write("images", images(40));
    m_folder.write("labels", labels(39));
    EXPECT_THAT(problemOfSet(folder()), HasSubstr("has 40 images, but"));
    m_folder.write("labels", labels(40, 1));
    EXPECT_THAT(problemOfSet(folder()), HasSubstr("the same label"));
    m_folder.write("images", images(10));
    m_folder.write("labels", labels(10));
    EXPECT_THAT(problemOfSet(folder()), HasSubstr("at least 20"));
    m_folder.write("images", images(1));
    m_folder.write("labels", labels(1));
    EXPECT_THAT(problemOfSet(folder()), HasSubstr("has only 1 image; training needs"));
    m_folder.write("images", header({2, 600, 1}) + std::string(1200, 'x'));
    EXPECT_THAT(problemOfSet(folder()), HasSubstr("1 x 600 pixels"));
    m_folder.write("images", header({2, 2, 1, 4}) + std::string(16, 'x'));
    EXPECT_THAT(problemOfSet(folder()), HasSubstr("4 channels"));
    EXPECT_THAT(problemOfSet(m_folder.write("data.idx", images(40))), HasSubstr("no file of labels"));
}

TEST_F(Idx, ColourImagesHaveThreeChannels)
{
    std::string bytes = header({20, 1, 2, 3});
    for (int i = 0; i < 20; ++i)
        bytes += "abcdef";
    m_folder.write("images", bytes);
    m_folder.write("labels", labels(20));
    const auto dataset = makeIdx(folder(), kPatchRows);
    EXPECT_EQ(dataset->info().imageChannels, 3);
    EXPECT_THAT(test::imageOf(*dataset, test::heldOut(*dataset), 0), ElementsAre('a', 'b', 'c', 'd', 'e', 'f'));
}

TEST_F(Idx, FashionMnistSaysHowToInstallIt)
{
    EXPECT_THAT(test::problemOf([&] { makeFashionMnist(folder(), kPatchRows); }),
                HasSubstr("install the package dataset-fashion-mnist"));
}

TEST(FashionMnist, IsAllThere)
{
    if (!std::filesystem::exists(kFashionMnistFolder))
        GTEST_SKIP() << "the package is not installed";
    const auto dataset = makeFashionMnist(kFashionMnistFolder, 7);
    EXPECT_EQ(dataset->trainingSize(), 60'000U);
    EXPECT_EQ(dataset->validationSize(), 10'000U);
    EXPECT_EQ(dataset->info().classNames[9], "Ankle boot");
    EXPECT_EQ(dataset->info().patches, 16);
    // 1000 of each class are in the test set, as published.
    std::vector<int> of(10);
    const Examples held = test::heldOut(*dataset);
    for (const std::int32_t target : held.targets)
        ++of[static_cast<std::size_t>(target)];
    EXPECT_THAT(of, ::testing::Each(1000));
}

} // namespace
} // namespace halfscope
