// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/info_verb.h"

#include <iostream>
#include <optional>
#include <string>
#include <unistd.h>

#include "app/exit_status.h"
#include "app/interrupt.h"
#include "app/output.h"
#include "engine/amp/loss_scaler.h"
#include "engine/backend/backend_registry.h"
#include "engine/core/number_text.h"
#include "engine/core/text_table.h"
#include "engine/core/version.h"
#include "engine/io/machine_report.h"
#include "engine/model/precision_plan.h"
#include "engine/numerics/float_format.h"

namespace halfscope {

namespace {

// With what each computes natively; the rest it emulates exactly.
std::string devices()
{
    TextTable table({"backend", "device", "name", "memory", "natively", "available"});
    for (const DeviceInfo& device : listDevices()) {
        std::string native;
        for (const FormatId format : device.native)
            native += (native.empty() ? "" : " ") + std::string(floatFormat(format).key);
        table.add({device.backend, device.id, device.name,
                   device.bytes ? fixedText(*device.bytes / 1e9, 1) + " GB" : "", native,
                   device.reason.empty() ? "yes" : "no: " + device.reason});
    }
    return table.text(2);
}

std::string formats()
{
    TextTable table({"key", "name", "exponent + mantissa bits", "bytes", "largest", "smallest normal",
                     "smallest subnormal", "overflows from", "flushes up to", "infinity"});
    for (const FloatFormat& f : floatFormats())
        table.add({std::string(f.key), std::string(f.name),
                   numberText(std::int64_t{f.exponentBits}) + " + " + numberText(std::int64_t{f.mantissaBits}),
                   numberText(std::int64_t{f.storageBytes}), numberText(f.largest), powerText(f.smallestNormal),
                   powerText(f.smallestSubnormal), numberText(f.overflowFrom), powerText(f.flushUpTo),
                   f.hasInfinity ? "yes" : "no"});
    return table.text(2);
}

std::string precisions()
{
    TextTable table({"key", "name", "meaning"});
    for (const PrecisionPreset& preset : precisionPresets())
        table.add({std::string(preset.key), std::string(preset.name), std::string(preset.description)});
    return table.text(2);
}

std::string scalers()
{
    TextTable table({"key", "name", "initial", "growth", "backoff", "interval", "meaning"});
    for (const ScalerPreset& preset : scalerPresets()) {
        const ScalerConfig& c = preset.config;
        const bool moves = c.enabled && c.dynamic;
        table.add({std::string(preset.key), std::string(preset.name), c.enabled ? powerText(c.initialScale) : "1",
                   moves ? numberText(c.growthFactor) : "-", moves ? numberText(c.backoffFactor) : "-",
                   moves ? numberText(c.growthInterval) : "-", std::string(preset.difference)});
    }
    return table.text(2);
}

// Progress on a terminal, beside the standard output, which may be redirected.
MachineRates measured()
{
    const bool terminal = isatty(STDERR_FILENO) != 0;
    std::string shown;
    RateOptions options;
    options.goOn = [&](double share, const std::string& what) {
        const std::string text = fixedText(100.0 * share, 0) + " %  " + what;
        if (terminal && text != shown)
            std::cerr << "\rmeasuring: " << text << "\x1b[K" << std::flush;
        shown = text;
        return !InterruptGuard::interrupted();
    };
    MachineRates rates = measureMachine(options);
    if (terminal)
        std::cerr << "\r\x1b[K" << std::flush;
    return rates;
}

} // namespace

int runInfo(const InfoOptions& options)
{
    const InterruptGuard guard;
    if (!options.csv) {
        writeOutput("HalfScope " + std::string(programVersion()) + ", built with " + compilerDescription() + "\n");
        writeOutput(processorText());
        writeOutput("\nDevices (--set backend=KEY, of several GPUs also --set device=PLACE; backend=auto: the GPU, "
                    "else the CPU)\n" +
                    devices());
        writeOutput("\nNumber formats (rounding to nearest, ties to even; subnormals kept)\n" + formats());
        writeOutput("\nWhat GPUs compute natively (the manufacturer's documents, not measured)\n" +
                    gpuGenerationsText());
        writeOutput("\nPrecision presets (--set precision=KEY)\n" + precisions());
        writeOutput("\nScaler presets (--set scaler=KEY)\n" + scalers());
        flushOutput();
    }
    std::optional<MachineRates> rates;
    if (options.measure)
        rates = measured();
    if (options.csv)
        writeOutput(machineCsv(rates ? &*rates : nullptr));
    else if (rates)
        writeOutput("\nMatrix products measured on this machine\n" + machineRatesText(*rates));
    flushOutput();
    if (rates && !rates->complete) {
        std::cerr << "halfscope info: interrupted; what is missing was not measured.\n";
        return kExitInterrupted;
    }
    return kExitDone;
}

} // namespace halfscope
