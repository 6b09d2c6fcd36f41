// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/io/machine_report.h"

#include <algorithm>
#include <thread>

#include "engine/core/cpu_features.h"
#include "engine/core/gpu_generations.h"
#include "engine/core/number_text.h"
#include "engine/core/text_table.h"
#include "engine/io/csv_row.h"

namespace halfscope {

namespace {

constexpr double kGiga = 1e9;

std::string rangeText(const Rate& rate)
{
    return fixedText(rate.low / kGiga, 1) + " to " + fixedText(rate.high / kGiga, 1);
}

std::string shapeText(const ProductShape& s)
{
    return numberText(s.m) + " x " + numberText(s.k) + " by " + numberText(s.k) + " x " + numberText(s.n);
}

// Lines of some 110 characters, indented as the tables are.
std::string wrapped(std::string_view text)
{
    constexpr std::size_t kWidth = 108;
    std::string lines;
    while (!text.empty()) {
        std::size_t end = text.size();
        if (end > kWidth)
            end = std::min(text.rfind(' ', kWidth), end);
        lines += "  " + std::string(text.substr(0, end)) + "\n";
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return lines;
}

void addRate(CsvRow& row, const Rate& rate, std::string_view unit)
{
    if (rate.runs == 0) {
        row.empty().text(unit).empty().empty().number(0);
    } else {
        row.number(rate.median / kGiga).text(unit).number(rate.low / kGiga).number(rate.high / kGiga);
        row.number(rate.runs);
    }
}

} // namespace

std::string computedText(bool native) { return native ? "native" : "emulated exactly"; }

std::string ratioText(const MachineRates& rates, const ProductRate& product)
{
    const ProductRate* fp32 = rates.find(product.backend, FormatId::Fp32);
    if (!product.native || fp32 == nullptr || fp32->rate.runs == 0 || product.rate.runs == 0)
        return {};
    return fixedText(product.rate.median / fp32->rate.median, 2);
}

std::string processorText()
{
    std::string simd(simdLevelName(activeSimdLevel()));
    if (activeSimdLevel() != bestSimdLevel())
        simd += " (by HALFSCOPE_SIMD; this processor has " + std::string(simdLevelName(bestSimdLevel())) + ")";
    std::string text = "Processor: " + cpuName() +
                       "\nProcessor threads: " + numberText(std::uint64_t{std::thread::hardware_concurrency()}) +
                       "; instruction set: " + simd + "\n";
    TextTable table({"instructions", "here", "what for"});
    for (const CpuFeature& feature : cpuFeatures())
        table.add({std::string(feature.name), feature.present ? "yes" : "no", std::string(feature.meaning)});
    return text + table.text(2);
}

std::string gpuGenerationsText()
{
    std::vector<std::string> header = {"generation", "from", "compute capability", "examples"};
    for (int i = 0; i < kGpuFormatCount; ++i)
        header.emplace_back(gpuFormatName(static_cast<GpuFormat>(i)));
    TextTable table(std::move(header));
    for (const GpuGeneration& g : gpuGenerations()) {
        std::vector<std::string> row = {std::string(g.name), std::string(g.year), std::string(g.computeCapability),
                                        std::string(g.examples)};
        for (const GpuSupport support : g.support)
            row.emplace_back(gpuSupportText(support));
        table.add(std::move(row));
    }
    return table.text(2) + "  " + std::string(gpuGenerationsNote()) +
           "\n  Source: " + std::string(gpuGenerationsSource()) + ".\n";
}

std::string machineRatesText(const MachineRates& rates)
{
    std::string text;
    if (!rates.complete)
        text += "  Given up before the end: what is missing was not measured.\n";
    TextTable best({"for comparison", "median", "lowest to highest", "runs"});
    if (rates.multiplyAdd.runs > 0)
        best.add({"FP32 multiply-adds, GFLOP/s", fixedText(rates.multiplyAdd.median / kGiga, 1),
                  rangeText(rates.multiplyAdd), numberText(std::int64_t{rates.multiplyAdd.runs})});
    if (rates.copy.runs > 0)
        best.add({"copying memory, GB/s", fixedText(rates.copy.median / kGiga, 1), rangeText(rates.copy),
                  numberText(std::int64_t{rates.copy.runs})});
    text += best.text(2) + "\n";
    TextTable products(
        {"backend", "format", "computed", "GFLOP/s", "lowest to highest", "runs", "of FP32", "of the FP32 best"});
    for (const ProductRate& p : rates.products) {
        const std::string format(floatFormat(p.format).name);
        if (!p.problem.empty()) {
            products.add({p.backend, format, p.problem});
            continue;
        }
        const bool share = p.native && rates.multiplyAdd.runs > 0;
        const std::string ratio = ratioText(rates, p);
        products.add({p.backend, format, computedText(p.native), fixedText(p.rate.median / kGiga, 1), rangeText(p.rate),
                      numberText(std::int64_t{p.rate.runs}), ratio.empty() ? "-" : ratio,
                      share ? fixedText(100.0 * p.rate.median / rates.multiplyAdd.median, 0) + " %" : "-"});
    }
    return text + products.text(2) +
           wrapped("Products of " + shapeText(rates.shape) + ", result in FP32, on " +
                   numberText(std::int64_t{rates.threads}) + (rates.threads == 1 ? " thread" : " threads") +
                   "; medians of the runs. Copies between blocks of " + fixedText(rates.copyBytes / 1048576.0, 0) +
                   " MiB count what is read and what is written. Emulated exactly: every number is rounded as the "
                   "hardware of that format would, computed in FP32; the rate is the emulation's and says nothing "
                   "about such hardware.");
}

std::string machineText(const MachineRates* rates)
{
    return processorText() + "\nWhat GPUs compute natively (the manufacturer's documents, not measured)\n" +
           gpuGenerationsText() +
           (rates != nullptr ? "\nMatrix products measured on this machine\n" + machineRatesText(*rates) : "");
}

std::string machineCsv(const MachineRates* rates)
{
    std::string csv = "quantity,name,format,value,unit,low,high,runs,computed,note\n";
    CsvRow row;
    for (const CpuFeature& f : cpuFeatures()) {
        row.text("cpu-feature").text(f.name).empty().number(f.present ? 1 : 0);
        row.empty().empty().empty().empty().empty().text(f.meaning);
        csv += row.finish();
    }
    for (const GpuGeneration& g : gpuGenerations()) {
        for (int i = 0; i < kGpuFormatCount; ++i) {
            const auto format = static_cast<GpuFormat>(i);
            row.text("gpu-support").text(g.name).text(gpuFormatName(format)).text(gpuSupportText(g.of(format)));
            row.empty().empty().empty().empty().empty().text(g.computeCapability);
            csv += row.finish();
        }
    }
    if (rates == nullptr)
        return csv;
    row.text("multiply-add").empty().text("FP32");
    addRate(row, rates->multiplyAdd, "GFLOP/s");
    csv += row.text("native").text(numberText(std::int64_t{rates->threads}) + " threads").finish();
    row.text("copy").empty().empty();
    addRate(row, rates->copy, "GB/s");
    csv += row.empty().text(fixedText(rates->copyBytes / 1048576.0, 0) + " MiB").finish();
    for (const ProductRate& p : rates->products) {
        row.text("product").text(p.backend).text(floatFormat(p.format).name);
        addRate(row, p.rate, "GFLOP/s");
        row.text(p.native ? "native" : "emulated");
        csv += row.text(p.problem.empty() ? shapeText(rates->shape) : p.problem).finish();
    }
    return csv;
}

} // namespace halfscope
