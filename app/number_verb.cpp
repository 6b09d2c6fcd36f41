// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/number_verb.h"

#include <cmath>

#include "app/exit_status.h"
#include "app/output.h"
#include "app/text_table.h"
#include "engine/core/number_text.h"
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
                     "float (0x1p-25), a power of two (2^-24), inf, nan, or bits:0x33000001.");
}

// Every value is an FP32 number, hence exactly a double: the double's shortest text says it exactly to either reader.
std::string exactText(float value) { return numberText(static_cast<double>(value)); }

std::string csv(const std::vector<std::string>& inputs, const std::vector<float>& values)
{
    std::string out = "input,format,bits,value,class,relative_error\n";
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        for (const InspectedNumber& n : inspectAll(values[i])) // an accepted input needs no quoting
            out += inputs[i] + ',' + std::string(floatFormat(n.format).key) + ',' + n.bitsText + ',' +
                   exactText(n.value) + ',' + std::string(valueClassKey(n.valueClass)) + ',' +
                   numberText(n.relativeError) + '\n';
    }
    return out;
}

std::string table(const std::string& input, float value)
{
    std::string out = input + " is " + exactText(value) + " in FP32";
    if (std::isfinite(value) && value != 0)
        out += ", between 2^" + numberText(static_cast<std::int64_t>(std::ilogb(value))) + " and 2^" +
               numberText(static_cast<std::int64_t>(std::ilogb(value)) + 1);
    out += '\n';
    TextTable rows({"format", "bits", "stored value", "class", "relative error"});
    for (const InspectedNumber& n : inspectAll(value))
        rows.add({std::string(floatFormat(n.format).name), n.bitsText, exactText(n.value),
                  std::string(valueClassKey(n.valueClass)), numberText(n.relativeError)});
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
    if (options.csv) {
        writeOutput(csv(options.values, values));
    } else {
        for (std::size_t i = 0; i < values.size(); ++i)
            writeOutput((i == 0 ? "" : "\n") + table(options.values[i], values[i]));
    }
    flushOutput();
    return kExitDone;
}

} // namespace halfscope
