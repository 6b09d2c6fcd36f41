// SPDX-License-Identifier: GPL-3.0-or-later
// Everything that is to be known of the CUDA backend on a GPU, in one program: every operation's cases against the
// double-precision references, whole steps against the CPU backend, determinism, memory, speed. Prints a report in
// Markdown to the file that is named, and ends with 0 if all is right. scripts/gpu-check.sh builds and runs it.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <sstream>

#include <gtest/gtest.h>

#include "engine/backend/backend_registry.h"
#include "engine/backend/cuda/cuda_loader.h"
#include "engine/core/version.h"
#include "support.h"
#include "training.h"

namespace halfscope::gpu {
namespace {

using Clock = std::chrono::steady_clock;

// The names of sizes and what they are; "large" fills the device.
const Size kSizes[] = {{"tiny", 64, 2, 2, 32, 8, 96},
                       {"S", 128, 4, 4, 64, 16, 96},
                       {"M", 256, 4, 4, 128, 16, 96},
                       {"large", 1024, 12, 16, 512, 16, 8192}};
const char* const kPrecisions[] = {"fp32", "mixed-fp16", "mixed-bf16"};

std::string fixed(double x, int digits)
{
    char text[64];
    std::snprintf(text, sizeof text, "%.*f", digits, x);
    return text;
}

class Check {
public:
    explicit Check(std::ostream& report) : m_report(report), m_device(test::cpu()), m_host(makeBackend("cpu")) {}

    bool run()
    {
        m_report << "# The CUDA backend on hardware\n\nWritten by `scripts/gpu-check.sh`, which runs it again.\n\n"
                 << "- HalfScope " << programVersion() << ", " << compilerDescription() << "\n"
                 << "- " << m_device.description() << "\n- " << m_host->description() << "\n";
        cases();
        parity();
        determinism();
        memory();
        rates();
        steps();
        m_report << "\n**" << (m_good ? "All checks passed." : "There were failures.") << "**\n";
        return m_good;
    }

private:
    void say(bool good, const std::string& what)
    {
        m_good = m_good && good;
        m_report << "- " << (good ? "passed" : "**failed**") << ": " << what << "\n";
        std::cout << (good ? "passed: " : "FAILED: ") << what << std::endl;
    }

    void cases()
    {
        m_report << "\n## Operations against references\n\n";
        const testing::Totals totals = testing::runAllTests();
        say(totals.failed == 0, std::to_string(totals.run - totals.failed) + " of " + std::to_string(totals.run) +
                                    " cases, the same as on the CPU, in every format");
        for (const std::string& failure : totals.failures)
            m_report << "  - " << failure << "\n";
    }

    // Both train on the same tokens; how far their losses part is in the report, how far they may is the bound that
    // tests/engine/cuda/train/parity_test.cpp derives, for this size.
    void parity()
    {
        m_report << "\n## Training steps against the CPU backend\n\n"
                 << "| precision | step | loss on the CPU | loss on the GPU | difference / allowed | same outcome |\n"
                 << "|---|---|---|---|---|---|\n";
        const Size& size = kSizes[0];
        for (const std::string precision : {"fp32", "mixed-fp16", "mixed-bf16", "pure-fp16"}) {
            Training host(*m_host, size, precision);
            Training device(m_device, size, precision);
            const double chain = 2.0 * (7.0 * size.width + size.context + size.width / 8.0) + size.width + 100.0;
            const double ulp = precision == "fp32"         ? 0.0
                               : precision == "mixed-bf16" ? floatFormat(FormatId::Bf16).epsilon
                                                           : floatFormat(FormatId::Fp16).epsilon;
            const double tolerance = 2.0 * (chain * 0x1p-24 + 18.0 * ulp / 2.0);
            bool good = true;
            for (int i = 1; i <= 5; ++i) {
                const Training::Step a = host.step(true);
                const Training::Step b = device.step(true);
                const double allowed = tolerance * a.loss;
                const bool same = a.foundInf == b.foundInf && a.applied == b.applied && a.scale == b.scale;
                good = good && same && std::abs(a.loss - b.loss) <= allowed;
                m_report << "| " << precision << " | " << i << " | " << fixed(a.loss, 6) << " | " << fixed(b.loss, 6)
                         << " | " << fixed(std::abs(a.loss - b.loss) / allowed, 3) << " | " << (same ? "yes" : "no")
                         << " |\n";
            }
            say(good, "five steps, " + precision);
        }
    }

    void determinism()
    {
        m_report << "\n## Determinism\n\n";
        for (const char* precision : kPrecisions) {
            std::vector<float> first;
            bool same = true;
            for (int turn = 0; turn < 3; ++turn) {
                Training training(m_device, kSizes[1], precision);
                for (int i = 0; i < 10; ++i)
                    training.step(true);
                const std::vector<float> weights = training.weights();
                same = same && (first.empty() || weights == first);
                first = weights;
            }
            say(same, std::string("the same weights to the bit after ten steps, three times, ") + precision);
        }
    }

    void memory()
    {
        m_report << "\n## Memory\n\n";
        const std::optional<double> before = m_device.availableMemory();
        for (int turn = 0; turn < 20; ++turn) {
            Training training(m_device, kSizes[2], "mixed-fp16");
            training.step(true);
        }
        const std::optional<double> after = m_device.availableMemory();
        // Scratch memory grows to what the largest operation needs and stays.
        const double lost = before.value_or(0.0) - after.value_or(0.0);
        say(before && after && lost < 1e9, "20 models made and dropped; " + fixed(lost / 1e6, 1) + " MB stay in use");
        try {
            m_device.makeTensor(FormatId::Fp32, std::int64_t{1} << 40, 1);
            say(false, "a tensor of 4 TiB is refused");
        } catch (const BackendError& error) {
            say(true, std::string("a tensor of 4 TiB is refused: ") + error.what());
        }
    }

    template <typename Work>
    double secondsOf(Work&& work, int turns)
    {
        for (int i = 0; i < 3; ++i)
            work();
        m_device.synchronize();
        std::vector<double> seconds;
        for (int round = 0; round < 5; ++round) {
            const Clock::time_point start = Clock::now();
            for (int i = 0; i < turns; ++i)
                work();
            m_device.synchronize();
            seconds.push_back(std::chrono::duration<double>(Clock::now() - start).count() / turns);
        }
        std::sort(seconds.begin(), seconds.end());
        return seconds[2];
    }

    void rates()
    {
        m_report << "\n## What the device can do\n\n| what | median of 5 |\n|---|---|\n";
        const std::int64_t n = std::int64_t{1} << 28;
        Tensor from = m_device.makeTensor(FormatId::Fp32, 1, n);
        Tensor to = m_device.makeTensor(FormatId::Fp32, 1, n);
        Tensor half = m_device.makeTensor(FormatId::Fp16, 1, n);
        const auto bandwidth = [&](const char* name, double bytes, const std::function<void()>& work) {
            m_report << "| " << name << " | " << fixed(bytes / secondsOf(work, 5) / 1e9, 0) << " GB/s |\n";
        };
        const double count = static_cast<double>(n);
        CastProbe probe;
        probe.measure = true;
        bandwidth("clear 1 GiB", 4.0 * count, [&] { m_device.fillZero(to); });
        m_device.dropout(from, from, 0.5F, 1, nullptr);
        bandwidth("copy 1 GiB (cast FP32 to FP32)", 8.0 * count, [&] { m_device.cast(from, to, nullptr); });
        bandwidth("cast FP32 to FP16", 6.0 * count, [&] { m_device.cast(from, half, nullptr); });
        bandwidth("the same, counted", 6.0 * count, [&] { m_device.cast(from, half, &probe); });
        for (const FormatId format : {FormatId::Fp32, FormatId::Fp16, FormatId::Bf16}) {
            const std::int64_t m = 8192;
            const Tensor a = m_device.makeTensor(format, m, m);
            const Tensor b = m_device.makeTensor(format, m, m);
            Tensor c = m_device.makeTensor(FormatId::Fp32, m, m);
            const double seconds = secondsOf([&] { m_device.gemm({.a = a, .b = b, .c = c}); }, 3);
            const double operations = 2.0 * std::pow(static_cast<double>(m), 3.0);
            m_report << "| product of 8192 x 8192, " << floatFormat(format).name << " | "
                     << fixed(operations / seconds / 1e12, 1) << " TFLOP/s |\n";
        }
    }

    void steps()
    {
        m_report
            << "\n## Time of a step\n\n"
            << "Milliseconds, median of 20 steps. Of the size: width, depth, heads, context, batch, vocabulary.\n\n"
            << "| size | precision | statistics | step | forward | backward | optimizer | tokens/s |\n"
            << "|---|---|---|---|---|---|---|---|\n";
        for (const Size& size : kSizes)
            for (const char* precision : kPrecisions)
                for (const bool measure : {true, false})
                    time(size, precision, measure);
    }

    void time(const Size& size, const std::string& precision, bool measure)
    {
        try {
            Training training(m_device, size, precision);
            for (int i = 0; i < 5; ++i)
                training.step(measure);
            std::vector<Training::Step> all;
            for (int i = 0; i < 20; ++i)
                all.push_back(training.step(measure));
            std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.ms() < b.ms(); });
            const Training::Step& s = all[10];
            m_report << "| " << size.name << " (" << size.width << ", " << size.depth << ", " << size.heads << ", "
                     << size.context << ", " << size.batch << ", " << size.vocabulary << ") | " << precision << " | "
                     << (measure ? "on" : "off") << " | " << fixed(s.ms(), 3) << " | " << fixed(s.forwardMs, 3) << " | "
                     << fixed(s.backwardMs, 3) << " | " << fixed(s.optimizerMs, 3) << " | "
                     << fixed(1000.0 * size.context * size.batch / s.ms(), 0) << " |\n";
        } catch (const BackendError& error) {
            m_report << "| " << size.name << " | " << precision << " | " << (measure ? "on" : "off") << " | "
                     << error.what() << " | | | | |\n";
        }
        std::cout << size.name << " " << precision << " timed" << std::endl;
    }

    std::ostream& m_report;
    Backend& m_device;
    std::unique_ptr<Backend> m_host;
    bool m_good = true;
};

int run(int argc, char** argv)
{
    if (argc != 2) {
        std::cerr << "usage: gpu_check REPORT.md\n";
        return 2;
    }
    std::ostringstream report;
    bool good = false;
    try {
        good = Check(report).run();
    } catch (const std::exception& error) {
        std::cerr << error.what() << "\n";
        report << "\n**Ended early: " << error.what() << "**\n";
    }
    std::ofstream(argv[1]) << report.str();
    std::cout << report.str();
    return good ? 0 : 1;
}

} // namespace
} // namespace halfscope::gpu

int main(int argc, char** argv) { return halfscope::gpu::run(argc, argv); }
