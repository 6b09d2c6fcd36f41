// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/data/image_dataset.h"

#include <algorithm>
#include <filesystem>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

#include "engine/data/dataset_registry.h"
#include "engine/data/fnv.h"
#include "engine/data/generated_dataset.h"
#include "engine/data/idx_file.h"
#include "engine/data/patches.h"

namespace halfscope {
namespace {

namespace fs = std::filesystem;

struct LabelledImages {
    std::size_t count = 0;
    int height = 0;
    int width = 0;
    int channels = 1;
    std::vector<std::uint8_t> pixels;
    std::vector<std::uint8_t> labels;

    std::size_t bytesEach() const
    {
        return static_cast<std::size_t>(height) * static_cast<std::size_t>(width) * static_cast<std::size_t>(channels);
    }
    const std::uint8_t* image(std::size_t i) const { return pixels.data() + i * bytesEach(); }
};

LabelledImages readImages(const std::string& imagesPath, const std::string& labelsPath)
{
    constexpr std::size_t kLargestSide = 512;
    IdxArray images = readIdx(imagesPath, 3, 4);
    IdxArray labels = readIdx(labelsPath, 1, 1);
    const std::size_t channels = images.sizes.size() == 4 ? images.sizes[3] : 1;
    if (channels != 1 && channels != 3) {
        throw std::runtime_error("\"" + imagesPath + "\" has images of " + std::to_string(channels) +
                                 " channels; HalfScope takes grey ones and colour ones with 3.");
    }
    if (images.sizes[1] > kLargestSide || images.sizes[2] > kLargestSide) {
        throw std::runtime_error("\"" + imagesPath + "\" has images of " + std::to_string(images.sizes[2]) + " x " +
                                 std::to_string(images.sizes[1]) + " pixels; HalfScope takes them up to " +
                                 std::to_string(kLargestSide) + " x " + std::to_string(kLargestSide) + ".");
    }
    if (images.sizes[0] != labels.sizes[0]) {
        throw std::runtime_error("\"" + imagesPath + "\" has " + std::to_string(images.sizes[0]) + " images, but \"" +
                                 labelsPath + "\" has " + std::to_string(labels.sizes[0]) +
                                 " labels; they do not belong together.");
    }
    return {images.sizes[0],
            static_cast<int>(images.sizes[1]),
            static_cast<int>(images.sizes[2]),
            static_cast<int>(channels),
            std::move(images.bytes),
            std::move(labels.bytes)};
}

class ImageDataset final : public Dataset {
public:
    // Without `heldOut` a tenth of `images` is.
    ImageDataset(DatasetInfo info, LabelledImages images, std::optional<LabelledImages> heldOut)
        : m_info(std::move(info)), m_images(std::move(images))
    {
        m_info.hash = fnv1aBytes(m_images.labels.data(), m_images.count,
                                 fnv1aBytes(m_images.pixels.data(), m_images.pixels.size()));
        std::vector<std::size_t> order = shuffled(m_images.count);
        if (heldOut) {
            m_heldOutImages = *std::move(heldOut);
            m_training = std::move(order);
            m_heldOut = shuffled(m_heldOutImages.count);
            return;
        }
        const auto cut = order.begin() + static_cast<std::ptrdiff_t>(std::max<std::size_t>(1, m_images.count / 10));
        m_heldOut.assign(order.begin(), cut);
        m_training.assign(cut, order.end());
    }

    const DatasetInfo& info() const override { return m_info; }
    std::size_t validationSize() const override { return m_heldOut.size(); }
    std::size_t trainingSize() const override { return m_training.size(); }

    void sample(Rng& rng, int batch, Examples& to) const override
    {
        resizeExamples(m_info, batch, to);
        for (std::size_t b = 0; b < static_cast<std::size_t>(batch); ++b)
            store(m_images, m_training[rng.below(m_training.size())], b, to);
    }

    void validationExamples(std::size_t first, int count, Examples& to) const override
    {
        resizeExamples(m_info, count, to);
        const LabelledImages& images = m_heldOutImages.count > 0 ? m_heldOutImages : m_images;
        for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i)
            store(images, m_heldOut.at(first + i), i, to);
    }

    std::string decode(const std::int32_t* /*tokens*/, std::size_t /*count*/) const override { return {}; }

private:
    // In a fixed order that has nothing to do with that of the file, which may be sorted by label.
    static std::vector<std::size_t> shuffled(std::size_t count)
    {
        std::vector<std::size_t> order(count);
        std::iota(order.begin(), order.end(), std::size_t{0});
        Rng rng(0);
        for (std::size_t i = count; i > 1; --i)
            std::swap(order[i - 1], order[rng.below(i)]);
        return order;
    }

    void store(const LabelledImages& images, std::size_t from, std::size_t at, Examples& to) const
    {
        cutPatches(m_info, images.image(from), to.patches.data() + at * images.bytesEach());
        to.targets[at] = images.labels[from];
    }

    DatasetInfo m_info;
    LabelledImages m_images;
    LabelledImages m_heldOutImages; // none when a part of m_images is held out
    std::vector<std::size_t> m_training;
    std::vector<std::size_t> m_heldOut;
};

std::unique_ptr<Dataset> makeImageDataset(const std::string& title, std::vector<std::string> classNames,
                                          LabelledImages images, std::optional<LabelledImages> heldOut, int patchSize,
                                          int suitable)
{
    DatasetInfo info;
    info.title = title;
    int classes = *std::ranges::max_element(images.labels) + 1;
    if (heldOut)
        classes = std::max(classes, *std::ranges::max_element(heldOut->labels) + 1);
    const auto labelsOf = static_cast<int>(classNames.size());
    if (labelsOf > 0 && classes > labelsOf) {
        throw std::runtime_error("The labels of " + title + " go up to " + std::to_string(classes - 1) +
                                 ", beyond its " + std::to_string(labelsOf) + " classes; get its files again.");
    }
    for (int label = labelsOf; label < classes; ++label)
        classNames.push_back(std::to_string(label));
    info.classes = static_cast<int>(classNames.size());
    info.classNames = std::move(classNames);
    setPatches(info, images.width, images.height, images.channels, patchSize, suitable);
    return std::make_unique<ImageDataset>(std::move(info), std::move(images), std::move(heldOut));
}

// With the last occurrence of `what` replaced.
std::string replaced(std::string text, std::string_view what, std::string_view by)
{
    const std::size_t at = text.rfind(what);
    return at == std::string::npos ? text : text.replace(at, what.size(), by);
}

bool nameHas(const fs::path& path, std::string_view part)
{
    return path.filename().string().find(part) != std::string::npos;
}

bool isForTests(const fs::path& path) { return nameHas(path, "t10k") || nameHas(path, "test"); }

// The file of that name, packed or not as may be.
std::optional<fs::path> packedOrNot(fs::path path)
{
    std::error_code ignored;
    if (fs::is_regular_file(path, ignored))
        return path;
    path = path.extension() == ".gz" ? path.replace_extension() : fs::path(path.string() + ".gz");
    if (fs::is_regular_file(path, ignored))
        return path;
    return std::nullopt;
}

std::optional<fs::path> labelsBeside(const fs::path& images)
{
    const std::string name = replaced(replaced(images.filename().string(), "images", "labels"), "idx3", "idx1");
    if (name == images.filename().string())
        return std::nullopt;
    return packedOrNot(images.parent_path() / name);
}

std::optional<fs::path> testImagesBeside(const fs::path& images)
{
    if (!nameHas(images, "train"))
        return std::nullopt;
    for (const std::string_view word : {"t10k", "test"}) {
        const auto found = packedOrNot(images.parent_path() / replaced(images.filename().string(), "train", word));
        if (found && labelsBeside(*found))
            return found;
    }
    return std::nullopt;
}

// The only file of images for training in a folder.
fs::path imagesIn(const fs::path& folder)
{
    std::vector<fs::path> found;
    std::error_code error;
    for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
        const fs::path& path = entry->path();
        if (!entry->is_regular_file(error) || !nameHas(path, "images") || !labelsBeside(path))
            continue;
        const bool packedTwin = path.extension() == ".gz" && fs::exists(fs::path(path).replace_extension(), error);
        if (!packedTwin)
            found.push_back(path);
    }
    if (error)
        throw std::runtime_error("\"" + folder.string() + "\" cannot be read: " + error.message() + ".");
    if (std::ranges::any_of(found, [](const fs::path& path) { return !isForTests(path); }))
        std::erase_if(found, isForTests);
    if (found.empty()) {
        throw std::runtime_error("\"" + folder.string() + "\" has no pair of IDX files in it, such as " +
                                 "train-images-idx3-ubyte and train-labels-idx1-ubyte.");
    }
    std::ranges::sort(found);
    if (found.size() > 1) {
        throw std::runtime_error("\"" + folder.string() + "\" has several sets of images (" +
                                 found[0].filename().string() + ", " + found[1].filename().string() +
                                 (found.size() > 2 ? ", ..." : "") + "); choose one of these files.");
    }
    return found.front();
}

} // namespace

std::unique_ptr<Dataset> makeFashionMnist(const std::string& folder, int patchSize)
{
    const auto file = [&](const char* name) { return packedOrNot(fs::path(folder) / name); };
    const auto images = file("train-images-idx3-ubyte.gz");
    const auto labels = file("train-labels-idx1-ubyte.gz");
    const auto testImages = file("t10k-images-idx3-ubyte.gz");
    const auto testLabels = file("t10k-labels-idx1-ubyte.gz");
    if (!images || !labels || !testImages || !testLabels) {
        throw std::runtime_error(std::string("Fashion-MNIST is not installed (") + folder + "); install the package " +
                                 kFashionMnistPackage + ", or choose the generated digits, which need no files.");
    }
    return makeImageDataset(
        "Fashion-MNIST",
        {"T-shirt/top", "Trouser", "Pullover", "Dress", "Coat", "Sandal", "Shirt", "Sneaker", "Bag", "Ankle boot"},
        readImages(images->string(), labels->string()), readImages(testImages->string(), testLabels->string()),
        patchSize, findTask("fashion-mnist")->suitablePatch);
}

std::unique_ptr<Dataset> makeIdx(const std::string& path, int patchSize)
{
    std::error_code ignored;
    const fs::path imagesPath = fs::is_directory(path, ignored) ? imagesIn(path) : fs::path(path);
    const auto labelsPath = labelsBeside(imagesPath);
    if (!fs::exists(imagesPath, ignored))
        throw std::runtime_error("\"" + imagesPath.string() + "\" does not exist; check the name of the IDX file.");
    if (!labelsPath) {
        throw std::runtime_error(
            "There is no file of labels beside \"" + imagesPath.string() +
            "\"; it has the same name with \"labels\" for \"images\" (and \"idx1\" for \"idx3\").");
    }
    LabelledImages images = readImages(imagesPath.string(), labelsPath->string());
    std::optional<LabelledImages> heldOut;
    if (const auto testPath = testImagesBeside(imagesPath)) {
        heldOut = readImages(testPath->string(), labelsBeside(*testPath)->string());
        if (heldOut->height != images.height || heldOut->width != images.width ||
            heldOut->channels != images.channels) {
            throw std::runtime_error("The images of \"" + testPath->string() + "\" differ in size from those of \"" +
                                     imagesPath.string() + "\"; keep sets that do not belong together in folders of " +
                                     "their own.");
        }
    }
    constexpr std::size_t kFewest = 20;
    if (images.count < kFewest) {
        throw std::runtime_error("\"" + imagesPath.string() + "\" has only " + std::to_string(images.count) +
                                 (images.count == 1 ? " image" : " images") + "; training needs at least " +
                                 std::to_string(kFewest) + ".");
    }
    if (std::ranges::all_of(images.labels, [&](std::uint8_t label) { return label == images.labels.front(); }))
        throw std::runtime_error("\"" + labelsPath->string() + "\" gives all images the same label; there is nothing " +
                                 "to tell apart.");
    return makeImageDataset(imagesPath.filename().string(), {}, std::move(images), std::move(heldOut), patchSize,
                            findTask("idx")->suitablePatch);
}

} // namespace halfscope
