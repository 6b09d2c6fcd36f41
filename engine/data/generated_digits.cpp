// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/data/generated_digits.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "engine/data/dataset_registry.h"
#include "engine/data/generated_dataset.h"
#include "engine/data/patches.h"

namespace halfscope {
namespace {

constexpr int kSide = 28; // pixels
constexpr std::size_t kValidation = 1000;

struct Point {
    double x = 0; // 0 the left, 1 the right end of the digit's box
    double y = 0; // 0 the top, 1 the bottom
};

using Stroke = std::vector<Point>; // a smooth curve through the points; a corner is where one ends and the next begins
using Glyph = std::vector<Stroke>;

// The ways people write each digit.
const std::array<std::vector<Glyph>, 10>& glyphs()
{
    static const std::array<std::vector<Glyph>, 10> all = {{
        {{{{.58, .01}, {.27, .12}, {.09, .48}, {.24, .88}, {.52, 1}, {.82, .83}, {.92, .48}, {.8, .12}, {.52, .01}}}},
        {{{{.55, 0}, {.5, .5}, {.47, 1}}},
         {{{.22, .27}, {.42, .15}, {.56, 0}}, {{.56, 0}, {.55, .5}, {.54, 1}}},
         {{{.25, .25}, {.43, .13}, {.54, 0}}, {{.54, 0}, {.53, .5}, {.53, 1}}, {{.24, 1}, {.53, 1}, {.82, .99}}}},
        {{{{.13, .25}, {.27, .06}, {.52, 0}, {.8, .1}, {.84, .33}, {.62, .6}, {.33, .83}, {.1, .99}},
          {{.1, .99}, {.5, .97}, {.92, .98}}},
         {{{.12, .2},
           {.32, .03},
           {.6, .02},
           {.83, .2},
           {.76, .46},
           {.46, .76},
           {.17, .95},
           {.12, .82},
           {.32, .8},
           {.62, .95},
           {.92, .92}}}},
        {{{{.13, .15}, {.4, 0}, {.76, .07}, {.82, .28}, {.65, .43}, {.38, .47}},
          {{.38, .47}, {.75, .53}, {.9, .74}, {.72, .95}, {.4, 1}, {.1, .88}}},
         {{{.14, .03}, {.5, .03}, {.86, .03}},
          {{.86, .03}, {.65, .22}, {.45, .4}},
          {{.45, .4}, {.8, .5}, {.88, .75}, {.66, .97}, {.36, 1}, {.11, .88}}}},
        {{{{.3, .02}, {.2, .3}, {.1, .57}}, {{.1, .57}, {.5, .57}, {.92, .54}}, {{.74, .2}, {.7, .6}, {.66, 1}}},
         {{{.68, 0}, {.4, .34}, {.07, .68}}, {{.07, .68}, {.5, .68}, {.93, .68}}, {{.68, 0}, {.68, .5}, {.68, 1}}}},
        {{{{.86, .03}, {.55, .02}, {.26, .03}},
          {{.26, .03}, {.22, .23}, {.18, .45}},
          {{.18, .45}, {.48, .37}, {.78, .47}, {.88, .7}, {.72, .94}, {.4, 1}, {.1, .9}}}},
        {{{{.75, .02},
           {.44, .16},
           {.2, .46},
           {.13, .76},
           {.32, .97},
           {.62, .99},
           {.86, .8},
           {.76, .57},
           {.48, .52},
           {.2, .68}}},
         {{{.6, 0}, {.34, .3}, {.15, .65}, {.25, .94}, {.58, 1}, {.85, .83}, {.76, .6}, {.45, .56}, {.18, .74}}}},
        {{{{.1, .04}, {.5, .03}, {.9, .04}}, {{.9, .04}, {.65, .42}, {.43, 1}}},
         {{{.1, .05}, {.5, .04}, {.9, .03}}, {{.9, .03}, {.68, .45}, {.48, 1}}, {{.3, .52}, {.55, .5}, {.82, .49}}}},
        {{{{.8, .16},
           {.52, 0},
           {.23, .13},
           {.27, .36},
           {.52, .48},
           {.8, .64},
           {.84, .87},
           {.5, 1},
           {.16, .87},
           {.2, .64},
           {.52, .47},
           {.76, .34},
           {.8, .16}}},
         {{{.5, .46}, {.24, .34}, {.25, .1}, {.52, 0}, {.78, .11}, {.77, .34}, {.5, .46}},
          {{.5, .46}, {.16, .64}, {.17, .9}, {.5, 1}, {.84, .9}, {.84, .64}, {.5, .46}}}},
        {{{{.84, .2}, {.6, .01}, {.28, .07}, {.14, .29}, {.32, .48}, {.6, .47}, {.84, .24}},
          {{.84, .22}, {.78, .6}, {.66, 1}}},
         {{{.82, .16}, {.55, 0}, {.25, .1}, {.16, .32}, {.38, .49}, {.68, .4}, {.83, .17}},
          {{.83, .17}, {.87, .55}, {.72, .88}, {.42, 1}, {.2, .93}}}},
    }};
    return all;
}

double between(Rng& rng, double low, double high) { return low + (high - low) * rng.uniform(); }

// One writing: how the box of a digit lies on the image.
class Hand {
public:
    explicit Hand(Rng& rng)
    {
        const double turn = between(rng, -0.16, 0.16);
        const double slant = between(rng, -0.12, 0.38);
        const double width = between(rng, 10.0, 15.5);
        const double height = between(rng, 16.5, 21.5);
        m_cos = std::cos(turn);
        m_sin = std::sin(turn);
        m_slant = slant;
        m_width = width;
        m_height = height;
        m_x = kSide / 2.0 + between(rng, -1.8, 1.8);
        m_y = kSide / 2.0 + between(rng, -1.8, 1.8);
        m_penRadius = between(rng, 0.75, 1.75);
    }

    Point toImage(Point p) const
    {
        const double y = (p.y - 0.5) * m_height;
        const double x = (p.x - 0.5) * m_width - m_slant * y;
        return {m_x + m_cos * x - m_sin * y, m_y + m_sin * x + m_cos * y};
    }
    double penRadius() const { return m_penRadius; }

private:
    double m_cos, m_sin, m_slant, m_width, m_height, m_x, m_y, m_penRadius;
};

using Ink = std::array<double, static_cast<std::size_t>(kSide) * kSide>; // 0 nothing, 1 white

// The pen along a straight line; an edge is one pixel soft, as of a pixel that is covered in part.
void draw(Point a, Point b, double radius, Ink& ink)
{
    const double reach = radius + 1.0;
    const auto first = [](double v) { return std::max(0, static_cast<int>(std::floor(v))); };
    const auto last = [](double v) { return std::min(kSide - 1, static_cast<int>(std::ceil(v))); };
    const double dx = b.x - a.x;
    const double dy = b.y - a.y;
    const double square = std::max(dx * dx + dy * dy, 1e-12);
    for (int y = first(std::min(a.y, b.y) - reach); y <= last(std::max(a.y, b.y) + reach); ++y) {
        for (int x = first(std::min(a.x, b.x) - reach); x <= last(std::max(a.x, b.x) + reach); ++x) {
            const double px = x + 0.5 - a.x;
            const double py = y + 0.5 - a.y;
            const double along = std::clamp((px * dx + py * dy) / square, 0.0, 1.0);
            const double distance = std::hypot(px - along * dx, py - along * dy);
            double& pixel = ink[static_cast<std::size_t>(y * kSide + x)];
            pixel = std::max(pixel, std::clamp(radius + 0.5 - distance, 0.0, 1.0));
        }
    }
}

// A Catmull-Rom spline through the points.
void draw(std::span<const Point> points, double radius, Ink& ink)
{
    constexpr int kPieces = 5;
    Point from = points.front();
    for (std::size_t i = 0; i + 1 < points.size(); ++i) {
        const Point& p0 = points[i == 0 ? 0 : i - 1];
        const Point& p1 = points[i];
        const Point& p2 = points[i + 1];
        const Point& p3 = points[std::min(i + 2, points.size() - 1)];
        for (int piece = 1; piece <= kPieces; ++piece) {
            const double t = static_cast<double>(piece) / kPieces;
            const auto at = [t](double a, double b, double c, double d) {
                return 0.5 * (2 * b + (c - a) * t + (2 * a - 5 * b + 4 * c - d) * t * t +
                              (3 * b - a - 3 * c + d) * t * t * t);
            };
            const Point to = {at(p0.x, p1.x, p2.x, p3.x), at(p0.y, p1.y, p2.y, p3.y)};
            draw(from, to, radius, ink);
            from = to;
        }
    }
}

// Moves what comes closer than that to an edge of the image.
void keepWithin(double margin, Glyph& glyph)
{
    for (double Point::*along : {&Point::x, &Point::y}) {
        double low = kSide;
        double high = 0;
        for (const Stroke& stroke : glyph) {
            for (const Point& p : stroke) {
                low = std::min(low, p.*along);
                high = std::max(high, p.*along);
            }
        }
        const double move = std::max(0.0, margin - low) - std::max(0.0, high - (kSide - margin));
        for (Stroke& stroke : glyph) {
            for (Point& p : stroke)
                p.*along += move;
        }
    }
}

class Digits final : public ExampleGenerator {
public:
    void make(Rng& rng, int label, GeneratedExample& to) const override
    {
        const std::vector<Glyph>& ways = glyphs()[static_cast<std::size_t>(label)];
        const Glyph& glyph = ways[rng.below(ways.size())];
        const Hand hand(rng);
        const double shake = between(rng, 0.0, 0.035);
        // Neighbouring points of two strokes that meet are shaken alike, or the strokes would come apart: the push is
        // smooth in the place of the point.
        const std::array<double, 4> phase = {between(rng, 0, 6.3), between(rng, 0, 6.3), between(rng, 0, 6.3),
                                             between(rng, 0, 6.3)};
        const auto pushed = [&](Point p) -> Point {
            return {p.x + shake * (std::sin(5 * p.y + phase[0]) + std::sin(7 * p.x + phase[1])),
                    p.y + shake * (std::sin(5 * p.x + phase[2]) + std::sin(7 * p.y + phase[3]))};
        };
        Glyph onImage = glyph;
        for (Stroke& stroke : onImage)
            std::ranges::transform(stroke, stroke.begin(), [&](Point p) { return hand.toImage(pushed(p)); });
        keepWithin(hand.penRadius() + 1.5, onImage);
        Ink ink{};
        for (const Stroke& stroke : onImage)
            draw(stroke, hand.penRadius(), ink);
        const double white = between(rng, 200.0, 250.0);
        const double noise = between(rng, 0.0, 10.0);
        PixelNoise grain(rng);
        for (std::size_t i = 0; i < ink.size(); ++i) {
            const double value = white * ink[i] + noise * grain.next();
            to.pixels[i] = static_cast<std::uint8_t>(std::clamp(std::lround(value), 0L, 255L));
        }
    }

    std::string decode(const std::int32_t* /*tokens*/, std::size_t /*count*/) const override { return {}; }
};

} // namespace

std::unique_ptr<Dataset> makeDigits(int patchSize)
{
    DatasetInfo info;
    info.title = "Generated digits";
    info.classes = 10;
    for (int digit = 0; digit < info.classes; ++digit)
        info.classNames.push_back(std::to_string(digit));
    setPatches(info, kSide, kSide, 1, patchSize, findTask("digits")->suitablePatch);
    return std::make_unique<GeneratedDataset>(std::move(info), std::make_unique<Digits>(), "digits 1", kValidation);
}

} // namespace halfscope
