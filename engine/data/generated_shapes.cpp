// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/data/generated_shapes.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/data/dataset_registry.h"
#include "engine/data/generated_dataset.h"
#include "engine/data/patches.h"

namespace halfscope {
namespace {

constexpr int kSide = 32;           // pixels
constexpr int kQuarter = kSide / 2; // a thing lies within one
constexpr int kMostThings = 4;
constexpr double kClearly = 2.0; // pixels between what is left and what is right
constexpr std::size_t kValidation = 1000;

enum class Shape : std::uint8_t { Circle, Square, Triangle, Cross };
constexpr std::array<std::string_view, 4> kShapes = {"circle", "square", "triangle", "cross"};
constexpr std::array<std::string_view, 6> kColours = {"red", "green", "blue", "yellow", "purple", "white"};
constexpr std::array<std::array<double, 3>, 6> kRgb = {
    {{225, 55, 50}, {50, 175, 75}, {60, 110, 235}, {240, 200, 45}, {175, 75, 205}, {240, 240, 240}}};

// Answers: the numbers 0 to kMostThings, the colours, the shapes, no, yes.
constexpr int kFirstColour = kMostThings + 1;
constexpr int kFirstShape = kFirstColour + static_cast<int>(kColours.size());
constexpr int kNo = kFirstShape + static_cast<int>(kShapes.size());
constexpr int kYes = kNo + 1;

// Words of questions, and the longest question.
constexpr std::array<std::string_view, 4> kShapesMany = {"circles", "squares", "triangles", "crosses"};
constexpr std::array<std::string_view, 31> kWords = {
    "circle", "square", "triangle", "cross", "circles", "squares",  "triangles", "crosses", "red",   "green", "blue",
    "yellow", "purple", "white",    "how",   "many",    "ones",     "what",      "colour",  "shape", "is",    "the",
    "a",      "there",  "left",     "of",    "above",   "leftmost", "rightmost", "topmost", "lowest"};
constexpr int kFill = static_cast<int>(kWords.size()); // the token that fills up
constexpr int kQuestionWords = 7;

struct Thing {
    Shape shape = Shape::Circle;
    int colour = 0;
    double x = 0; // centre, pixels
    double y = 0;
    double radius = 0; // half its width and height
};

using Scene = std::vector<Thing>;

template <typename Enum>
Enum pick(Rng& rng, std::size_t count)
{
    return static_cast<Enum>(rng.below(count));
}

double between(Rng& rng, double low, double high) { return low + (high - low) * rng.uniform(); }

// A thing in a quarter of its own, so that no patch shows parts of two; false when no room was found.
bool place(Rng& rng, Scene& scene, Shape shape, int colour)
{
    for (int attempt = 0; attempt < 30; ++attempt) {
        Thing thing{shape, colour, 0, 0, between(rng, 4.6, 6.2)};
        const std::uint64_t quarter = rng.below(4);
        thing.x = (static_cast<double>(quarter % 2) + 0.5) * kQuarter + between(rng, -1, 1);
        thing.y = (static_cast<double>(quarter / 2) + 0.5) * kQuarter + between(rng, -1, 1);
        const bool free = std::ranges::none_of(scene, [&](const Thing& other) {
            const double gap = thing.radius + other.radius + 2.0;
            return std::abs(thing.x - other.x) < gap && std::abs(thing.y - other.y) < gap;
        });
        if (free) {
            scene.push_back(thing);
            return true;
        }
    }
    return false;
}

// How much of a pixel a thing covers, by a grid of points within it.
double coverage(const Thing& thing, int px, int py)
{
    constexpr int kPoints = 4;
    if (std::abs(px + 0.5 - thing.x) > thing.radius + 1 || std::abs(py + 0.5 - thing.y) > thing.radius + 1)
        return 0;
    int inside = 0;
    for (int i = 0; i < kPoints * kPoints; ++i) {
        const double x = (px + (i % kPoints + 0.5) / kPoints - thing.x) / thing.radius;
        const double y = (py + (static_cast<double>(i / kPoints) + 0.5) / kPoints - thing.y) / thing.radius;
        if (std::abs(x) > 1 || std::abs(y) > 1)
            continue;
        switch (thing.shape) {
        case Shape::Circle:
            inside += x * x + y * y <= 1;
            break;
        case Shape::Square:
            inside += 1;
            break;
        case Shape::Triangle:
            inside += std::abs(x) <= (y + 1) / 2;
            break;
        case Shape::Cross:
            inside += std::abs(x) <= 0.34 || std::abs(y) <= 0.34;
            break;
        }
    }
    return static_cast<double>(inside) / (kPoints * kPoints);
}

void render(Rng& rng, const Scene& scene, std::span<std::uint8_t> pixels)
{
    const double ground = between(rng, 18, 44);
    std::array<std::array<double, 3>, kMostThings> colours{};
    for (std::size_t i = 0; i < scene.size(); ++i) {
        const double light = between(rng, 0.85, 1.0);
        std::ranges::transform(kRgb[static_cast<std::size_t>(scene[i].colour)], colours[i].begin(),
                               [light](double c) { return c * light; });
    }
    PixelNoise grain(rng);
    for (int y = 0; y < kSide; ++y) {
        for (int x = 0; x < kSide; ++x) {
            std::array<double, 3> pixel = {ground, ground, ground * 1.15};
            for (std::size_t i = 0; i < scene.size(); ++i) {
                const double share = coverage(scene[i], x, y);
                for (std::size_t c = 0; c < 3; ++c)
                    pixel[c] += share * (colours[i][c] - pixel[c]);
            }
            for (std::size_t c = 0; c < 3; ++c) {
                pixels[static_cast<std::size_t>((y * kSide + x) * 3) + c] =
                    static_cast<std::uint8_t>(std::clamp(std::lround(pixel[c] + 2.5 * grain.next()), 0L, 255L));
            }
        }
    }
}

// A question, what it is about, and its answer for a scene.
enum class Kind : std::uint8_t { CountShape, CountColour, ColourOf, ShapeOf, Outermost, IsThere, IsLeftOf, IsAbove };

struct Question {
    Kind kind = Kind::CountShape;
    Shape shape = Shape::Circle;
    Shape other = Shape::Square; // of IsLeftOf, IsAbove; not `shape`
    int colour = 0;
    int side = 0; // of Outermost: left, right, top, bottom
};

constexpr std::array<std::string_view, 4> kSides = {"leftmost", "rightmost", "topmost", "lowest"};

// What can be asked so that the answer is of `label`'s sort.
Kind kindFor(Rng& rng, int label)
{
    constexpr std::array<Kind, 3> kYesNo = {Kind::IsThere, Kind::IsLeftOf, Kind::IsAbove};
    if (label < kFirstColour)
        return rng.below(2) == 0 ? Kind::CountShape : Kind::CountColour;
    if (label < kFirstShape)
        return Kind::ColourOf;
    if (label < kNo)
        return rng.below(2) == 0 ? Kind::ShapeOf : Kind::Outermost;
    return kYesNo[rng.below(kYesNo.size())];
}

Question drawQuestion(Rng& rng, int label)
{
    Question question;
    question.kind = kindFor(rng, label);
    question.shape = pick<Shape>(rng, kShapes.size());
    question.other = static_cast<Shape>((static_cast<std::size_t>(question.shape) + 1 + rng.below(kShapes.size() - 1)) %
                                        kShapes.size());
    question.colour = pick<int>(rng, kColours.size());
    question.side = pick<int>(rng, kSides.size());
    return question;
}

// The only thing of that shape (or colour); nullptr when there are none or several.
template <typename Matches>
const Thing* onlyOne(const Scene& scene, const Matches& matches)
{
    const Thing* found = nullptr;
    for (const Thing& thing : scene) {
        if (!matches(thing))
            continue;
        if (found != nullptr)
            return nullptr;
        found = &thing;
    }
    return found;
}

// How far out on that side a thing is.
double outness(const Thing& thing, int side)
{
    const double along = side < 2 ? thing.x : thing.y;
    return side % 2 == 0 ? -along : along;
}

constexpr int kNoAnswer = -1; // the question does not suit the scene

int yesOrNo(double lesser, double greater)
{
    if (std::abs(greater - lesser) <= kClearly)
        return kNoAnswer;
    return lesser < greater ? kYes : kNo;
}

int answer(const Question& question, const Scene& scene)
{
    const auto hasShape = [&](const Thing& thing) { return thing.shape == question.shape; };
    const auto hasOther = [&](const Thing& thing) { return thing.shape == question.other; };
    const auto hasColour = [&](const Thing& thing) { return thing.colour == question.colour; };
    switch (question.kind) {
    case Kind::CountShape:
        return static_cast<int>(std::ranges::count_if(scene, hasShape));
    case Kind::CountColour:
        return static_cast<int>(std::ranges::count_if(scene, hasColour));
    case Kind::ColourOf: {
        const Thing* thing = onlyOne(scene, hasShape);
        return thing == nullptr ? kNoAnswer : kFirstColour + thing->colour;
    }
    case Kind::ShapeOf: {
        const Thing* thing = onlyOne(scene, hasColour);
        return thing == nullptr ? kNoAnswer : kFirstShape + static_cast<int>(thing->shape);
    }
    case Kind::Outermost: {
        const auto out = [&](const Thing& thing) { return outness(thing, question.side); };
        const Thing& outermost = *std::ranges::max_element(scene, {}, out);
        const bool clear = std::ranges::none_of(
            scene, [&](const Thing& thing) { return &thing != &outermost && out(thing) > out(outermost) - kClearly; });
        return clear && scene.size() > 1 ? kFirstShape + static_cast<int>(outermost.shape) : kNoAnswer;
    }
    case Kind::IsThere:
        return std::ranges::any_of(scene, [&](const Thing& t) { return hasShape(t) && hasColour(t); }) ? kYes : kNo;
    default: {
        const Thing* a = onlyOne(scene, hasShape);
        const Thing* b = onlyOne(scene, hasOther);
        if (a == nullptr || b == nullptr)
            return kNoAnswer;
        return question.kind == Kind::IsLeftOf ? yesOrNo(a->x, b->x) : yesOrNo(a->y, b->y);
    }
    }
}

// A scene that has something to do with the question: every other thing takes what it is about.
bool drawScene(Rng& rng, const Question& question, Scene& scene)
{
    scene.clear();
    const std::size_t things = 1 + rng.below(kMostThings);
    for (std::size_t i = 0; i < things; ++i) {
        Shape shape = pick<Shape>(rng, kShapes.size());
        int colour = pick<int>(rng, kColours.size());
        if (rng.below(2) == 0)
            shape = rng.below(2) == 0 ? question.shape : question.other;
        if (rng.below(2) == 0)
            colour = question.colour;
        if (!place(rng, scene, shape, colour))
            return false;
    }
    return true;
}

std::string words(const Question& question)
{
    const std::string shape(kShapes[static_cast<std::size_t>(question.shape)]);
    const std::string other(kShapes[static_cast<std::size_t>(question.other)]);
    const std::string colour(kColours[static_cast<std::size_t>(question.colour)]);
    switch (question.kind) {
    case Kind::CountShape:
        return "how many " + std::string(kShapesMany[static_cast<std::size_t>(question.shape)]);
    case Kind::CountColour:
        return "how many " + colour + " ones";
    case Kind::ColourOf:
        return "what colour is the " + shape;
    case Kind::ShapeOf:
        return "what shape is " + colour;
    case Kind::Outermost:
        return "what shape is " + std::string(kSides[static_cast<std::size_t>(question.side)]);
    case Kind::IsThere:
        return "is there a " + colour + " " + shape;
    case Kind::IsLeftOf:
        return "is the " + shape + " left of the " + other;
    default:
        return "is the " + shape + " above the " + other;
    }
}

int tokenOf(std::string_view word) { return static_cast<int>(std::ranges::find(kWords, word) - kWords.begin()); }

class Shapes final : public ExampleGenerator {
public:
    void make(Rng& rng, int label, GeneratedExample& to) const override
    {
        Question question;
        Scene scene;
        scene.reserve(kMostThings);
        do
            question = drawQuestion(rng, label);
        while (!drawScene(rng, question, scene) || answer(question, scene) != label);
        render(rng, scene, to.pixels);
        std::ranges::fill(to.tokens, kFill);
        const std::string text = words(question);
        std::size_t count = 0;
        for (std::size_t begin = 0; begin < text.size(); ++count) {
            const std::size_t end = std::min(text.find(' ', begin), text.size());
            to.tokens.at(count) = tokenOf(std::string_view(text).substr(begin, end - begin));
            begin = end + 1;
        }
    }

    std::string decode(const std::int32_t* tokens, std::size_t count) const override
    {
        std::string text;
        for (const std::int32_t token : std::span(tokens, count)) {
            if (token < kFill)
                text += (text.empty() ? "" : " ") + std::string(kWords[static_cast<std::size_t>(token)]);
        }
        return text.empty() ? text : text + "?";
    }
};

} // namespace

std::unique_ptr<Dataset> makeShapes(int patchSize)
{
    DatasetInfo info;
    info.title = "Generated shapes with questions";
    info.vocabulary = kFill + 1;
    info.tokens = kQuestionWords;
    for (int number = 0; number <= kMostThings; ++number)
        info.classNames.push_back(std::to_string(number));
    info.classNames.insert(info.classNames.end(), kColours.begin(), kColours.end());
    info.classNames.insert(info.classNames.end(), kShapes.begin(), kShapes.end());
    info.classNames.insert(info.classNames.end(), {"no", "yes"});
    info.classes = static_cast<int>(info.classNames.size());
    setPatches(info, kSide, kSide, 3, patchSize, findTask("shapes")->suitablePatch);
    return std::make_unique<GeneratedDataset>(std::move(info), std::make_unique<Shapes>(), "shapes 1", kValidation);
}

} // namespace halfscope
