// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/number_verb.h"

#include <cmath>

#include "app/exit_status.h"
#include "app/output.h"
#include "engine/amp/scaler_config.h"
#include "engine/core/number_text.h"
#include "engine/core/text_table.h"
#include "engine/numerics/number_inspector.h"

namespace halfscope {

namespace {

float parseValue(const std::string& text)
{
    if (const std::optional<float> value = parseInspected(text))
        return *value;
    if (text.starts_with("bits:"))
        throw UsageError('"' + text +
                         "\" is not an FP32 pattern; give up to eight hexadecimal digits, as in "
                         "bits:0x33000001.");
    throw UsageError('"' + text +
                     "\" is not a number; give a decimal with a point (1e-8, 65519.99), a C hexadecimal "
                     "float (0x1p-25), a power of two (2^-24), inf, nan, or a pattern (bits:0x33000001, "
                     "fp16:0x3c00).");
}

// Nothing: no scale was asked for.
std::optional<double> parseScale(const std::string& text)
{
    if (text.empty())
        return std::nullopt;
    const std::optional<float> scale = parseFloat(text);
    // Its reciprocal must be finite too: unscaling multiplies by it.
    if (!scale || !std::isfinite(*scale) || *scale < static_cast<float>(kLowestUsableScale))
        throw UsageError("--scale \"" + text +
                         "\" is not a loss scale; give a finite number of at least 2^-126, as 65536 or 2^16.");
    return static_cast<double>(*scale);
}

// Every value is an FP32 number, hence exactly a double: the double's shortest text says it exactly to either reader.
std::string exactText(float value) { return numberText(static_cast<double>(value)); }

// Nothing that is not zero is written as if it were.
std::string ulpText(double error) { return error > 0 && error < 0.0005 ? "< 0.001" : fixedText(error, 3); }

std::string csv(const std::vector<std::string>& inputs, const std::vector<float>& values, std::optional<double> scale)
{
    std::string out = "input,format,bits,value,class,relative_error,absolute_error,ulp_error,below,above,fields";
    out += scale ? ",scale,scaled_class,scaled_value,scaled_relative_error\n" : "\n";
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        for (const InspectedNumber& n : inspectAll(values[i], scale.value_or(1.0))) {
            out += inputs[i] + ',' + std::string(floatFormat(n.format).key) + ',' + n.bitsText +
                   ',' + // needs no quotes
                   exactText(n.value) + ',' + std::string(valueClassKey(n.valueClass)) + ',' +
                   numberText(n.relativeError) + ',' + numberText(n.absoluteError) + ',' + numberText(n.ulpError) +
                   ',' + exactText(n.below) + ',' + exactText(n.above) + ',' + n.fieldsText;
            if (scale)
                out += ',' + numberText(*scale) + ',' + std::string(valueClassKey(n.scaled.valueClass)) + ',' +
                       exactText(n.scaled.value) + ',' + numberText(n.scaled.relativeError);
            out += '\n';
        }
    }
    return out;
}

std::string table(const std::string& input, float value, std::optional<double> scale)
{
    std::string out = input + " is " + exactText(value) + " in FP32";
    if (std::isfinite(value) && value != 0)
        out += ", between 2^" + numberText(static_cast<std::int64_t>(std::ilogb(value))) + " and 2^" +
               numberText(static_cast<std::int64_t>(std::ilogb(value)) + 1);
    out += '\n';
    std::vector<std::string> titles = {"format",         "bits", "stored value", "class",
                                       "relative error", "ulp",  "below",        "above"};
    if (scale)
        titles.insert(titles.end(), {"times " + powerText(*scale), "what remains", "relative error"});
    TextTable rows(titles);
    for (const InspectedNumber& n : inspectAll(value, scale.value_or(1.0))) {
        std::vector<std::string> cells = {std::string(floatFormat(n.format).name),
                                          n.bitsText,
                                          exactText(n.value),
                                          std::string(valueClassKey(n.valueClass)),
                                          numberText(n.relativeError),
                                          ulpText(n.ulpError),
                                          exactText(n.below),
                                          exactText(n.above)};
        if (scale)
            cells.insert(cells.end(), {std::string(valueClassKey(n.scaled.valueClass)), exactText(n.scaled.value),
                                       numberText(n.scaled.relativeError)});
        rows.add(cells);
    }
    return out + rows.text(2);
}

} // namespace

int runNumber(const NumberOptions& options)
{
    if (options.values.empty())
        throw UsageError("Give at least one value, as in: halfscope number 1e-8 65519.99 0x1p-25");
    std::vector<float> values;
    for (const std::string& text : options.values)
        values.push_back(parseValue(text)); // all of them before anything is printed
    const std::optional<double> scale = parseScale(options.scale);
    if (options.csv) {
        writeOutput(csv(options.values, values, scale));
    } else {
        for (std::size_t i = 0; i < values.size(); ++i)
            writeOutput((i == 0 ? "" : "\n") + table(options.values[i], values[i], scale));
    }
    flushOutput();
    return kExitDone;
}

} // namespace halfscope
