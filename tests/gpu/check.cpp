// SPDX-License-Identifier: GPL-3.0-or-later
#include "check.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <sstream>

#include <gtest/gtest.h>

#include "engine/backend/backend_registry.h"
#include "engine/core/version.h"
#include "support.h"
#include "tests/support/moved_weights.h"

namespace halfscope::gpu {
namespace {

using Clock = std::chrono::steady_clock;

const char* const kPrecisions[] = {"fp32", "tf32", "mixed-fp16", "mixed-bf16", "fp8"};

std::string fixed(double x, int digits)
{
    char text[64];
    std::snprintf(text, sizeof text, "%.*f", digits, x);
    return text;
}

class Check {
public:
    Check(const Workload& work, std::ostream& report)
        : m_work(work), m_report(report), m_device(test::cpu()), m_host(makeBackend("cpu"))
    {
    }

    bool run()
    {
        m_report << "# " << m_work.title << "\n\n"
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
        const testing::Totals totals = testing::runTests(m_work.cases);
        say(totals.failed == 0, std::to_string(totals.run - totals.failed) + " of " + std::to_string(totals.run) +
                                    " cases, the same as on the CPU, in every format");
        for (const std::string& failure : totals.failures)
            m_report << "  - " << failure << "\n";
    }

    // Both train on the same tokens; how far they may part is what support/moved_weights.h says.
    void parity()
    {
        m_report
            << "\n## Training steps against the CPU backend\n\n"
            << "Allowed is what rounding alone does to the CPU's steps, eight times over.\n\n"
            << "| precision | step | loss on the CPU | loss on the GPU | difference / allowed | gradient norm on the "
               "CPU | on the GPU | difference / allowed | same outcome |\n"
            << "|---|---|---|---|---|---|---|---|---|\n";
        for (const std::string precision : {"fp32", "mixed-fp16", "mixed-bf16", "pure-fp16"})
            parityIn(precision);
    }

    void parityIn(const std::string& precision)
    {
        constexpr std::size_t kSteps = 5;
        const FormatId narrowest = precision == "fp32"         ? FormatId::Fp32
                                   : precision == "mixed-bf16" ? FormatId::Bf16
                                                               : FormatId::Fp16;
        const auto stepsOf = [&](Backend& backend, int move) {
            Training training(backend, m_work.sizes[0], precision);
            if (move != 0)
                test::moveWeights(backend, training.model(), narrowest, static_cast<std::uint64_t>(move));
            std::vector<Training::Step> steps;
            for (std::size_t i = 0; i < kSteps; ++i)
                steps.push_back(training.step(true));
            return steps;
        };
        const std::vector<Training::Step> host = stepsOf(*m_host, 0);
        const std::vector<Training::Step> device = stepsOf(m_device, 0);
        std::vector<test::Scatter> loss(kSteps);
        std::vector<test::Scatter> norm(kSteps);
        for (int run = 1; run <= test::kMovedRuns; ++run) {
            const std::vector<Training::Step> moved = stepsOf(*m_host, run);
            for (std::size_t i = 0; i < kSteps; ++i) {
                loss[i].add(moved[i].loss, host[i].loss);
                norm[i].add(moved[i].gradNorm, host[i].gradNorm);
            }
        }
        bool good = true;
        for (std::size_t i = 0; i < kSteps; ++i) {
            const Training::Step& a = host[i];
            const Training::Step& b = device[i];
            const bool same = a.foundInf == b.foundInf && a.applied == b.applied && a.scale == b.scale;
            const double lossShare = std::abs(a.loss - b.loss) / loss[i].allowed();
            const double normShare = !a.applied ? 0.0 : std::abs(a.gradNorm - b.gradNorm) / norm[i].allowed();
            good = good && same && lossShare <= 1.0 && normShare <= 1.0;
            m_report << "| " << precision << " | " << i + 1 << " | " << fixed(a.loss, 6) << " | " << fixed(b.loss, 6)
                     << " | " << fixed(lossShare, 3) << " | " << fixed(a.gradNorm, 6) << " | " << fixed(b.gradNorm, 6)
                     << " | " << fixed(normShare, 3) << " | " << (same ? "yes" : "no") << " |\n";
        }
        say(good, "five steps, " + precision);
    }

    void determinism()
    {
        m_report << "\n## Determinism\n\n";
        for (const char* precision : kPrecisions) {
            std::vector<float> first;
            bool same = true;
            for (int turn = 0; turn < 3; ++turn) {
                Training training(m_device, m_work.sizes[1], precision);
                for (int i = 0; i < m_work.determinismSteps; ++i)
                    training.step(true);
                const std::vector<float> weights = training.weights();
                same = same && (first.empty() || weights == first);
                first = weights;
            }
            say(same, std::string("the same weights to the bit after ") + std::to_string(m_work.determinismSteps) +
                          " steps, three times, " + precision);
        }
    }

    void memory()
    {
        m_report << "\n## Memory\n\n";
        // The first is before the count: scratch memory grows to what the largest operation needs, and stays.
        const auto stepOfOneModel = [&] {
            Training training(m_device, m_work.sizes[2], "mixed-fp16");
            training.step(true);
            return static_cast<double>(training.bytes());
        };
        const double bytes = stepOfOneModel();
        const std::optional<double> before = m_device.availableMemory();
        for (int turn = 1; turn < m_work.modelsDropped; ++turn)
            stepOfOneModel();
        const std::optional<double> after = m_device.availableMemory();
        const double lost = before.value_or(0.0) - after.value_or(0.0);
        say(before && after && lost < bytes, std::to_string(m_work.modelsDropped) + " models of " +
                                                 fixed(bytes / 1e6, 1) + " MB made and dropped; " +
                                                 fixed(lost / 1e6, 1) + " MB more are in use than after the first");
        try {
            m_device.makeTensor(FormatId::Fp32, std::int64_t{1} << 40, 1);
            say(false, "a tensor of 4 TiB is refused");
        } catch (const BackendError& error) {
            say(true, std::string("a tensor of 4 TiB is refused: ") + error.what());
        }
    }

    template <typename Work>
    double secondsOf(Work&& work)
    {
        for (int i = 0; i < 3; ++i)
            work();
        m_device.synchronize();
        std::vector<double> seconds;
        for (int round = 0; round < 5; ++round) {
            const Clock::time_point start = Clock::now();
            for (int i = 0; i < m_work.turns; ++i)
                work();
            m_device.synchronize();
            seconds.push_back(std::chrono::duration<double>(Clock::now() - start).count() / m_work.turns);
        }
        std::sort(seconds.begin(), seconds.end());
        return seconds[2];
    }

    void rates()
    {
        m_report << "\n## What the device can do\n\nMedians of five.\n\n| what | rate |\n|---|---|\n";
        const std::int64_t n = m_work.elements;
        const double count = static_cast<double>(n);
        const std::string size = fixed(4.0 * count / 0x1p20, 0) + " MiB";
        Tensor from = m_device.makeTensor(FormatId::Fp32, 1, n);
        Tensor to = m_device.makeTensor(FormatId::Fp32, 1, n);
        Tensor half = m_device.makeTensor(FormatId::Fp16, 1, n);
        const auto bandwidth = [&](const std::string& name, double bytes, const std::function<void()>& work) {
            m_report << "| " << name << " | " << fixed(bytes / secondsOf(work) / 1e9, 1) << " GB/s |\n";
        };
        CastProbe probe;
        probe.measure = true;
        bandwidth("clear " + size, 4.0 * count, [&] { m_device.fillZero(to); });
        m_device.dropout(from, from, 0.5F, 1, nullptr);
        bandwidth("copy " + size + " (cast FP32 to FP32)", 8.0 * count, [&] { m_device.cast(from, to, nullptr); });
        bandwidth("cast FP32 to FP16", 6.0 * count, [&] { m_device.cast(from, half, nullptr); });
        bandwidth("the same, counted", 6.0 * count, [&] { m_device.cast(from, half, &probe); });
        for (const FormatId format :
             {FormatId::Fp32, FormatId::Tf32, FormatId::Fp16, FormatId::Bf16, FormatId::Fp8E4M3}) {
            const std::int64_t m = m_work.productWidth;
            const bool tf32 = format == FormatId::Tf32; // of FP32 tensors
            const Tensor a = m_device.makeTensor(tf32 ? FormatId::Fp32 : format, m, m);
            const Tensor b = m_device.makeTensor(a.format(), m, m);
            Tensor c = m_device.makeTensor(FormatId::Fp32, m, m);
            const double seconds =
                secondsOf([&] { m_device.gemm({.a = a, .b = b, .transposeB = true, .c = c, .tf32 = tf32}); });
            const double operations = 2.0 * std::pow(static_cast<double>(m), 3.0);
            m_report << "| product of " << m << " x " << m << ", " << floatFormat(format).name << " ("
                     << (m_device.multipliesNatively(format) ? "native" : "emulated") << ") | "
                     << fixed(operations / seconds / 1e12, 1) << " TFLOP/s |\n";
        }
    }

    void steps()
    {
        m_report << "\n## Time of a step\n\n"
                 << "Milliseconds, median of " << m_work.timedSteps
                 << " steps. Of the size: width, depth, heads, context, batch, vocabulary.\n\n"
                 << "| size | precision | statistics | step | forward | backward | optimizer | tokens/s |\n"
                 << "|---|---|---|---|---|---|---|---|\n";
        for (const Size& size : m_work.sizes)
            for (const char* precision : kPrecisions)
                for (const bool measure : {true, false})
                    time(size, precision, measure);
    }

    void time(const Size& size, const std::string& precision, bool measure)
    {
        try {
            Training training(m_device, size, precision);
            for (int i = 0; i < m_work.timedSteps / 4; ++i) // to warm up
                training.step(measure);
            std::vector<Training::Step> all;
            for (int i = 0; i < m_work.timedSteps; ++i)
                all.push_back(training.step(measure));
            std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.ms() < b.ms(); });
            const Training::Step& s = all[all.size() / 2];
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

    const Workload& m_work;
    std::ostream& m_report;
    Backend& m_device;
    std::unique_ptr<Backend> m_host;
    bool m_good = true;
};

} // namespace

ExitStatus checkDevice(const Workload& workload, const std::string& problem, const std::string& file)
{
    if (!problem.empty()) {
        std::cerr << "There is no GPU to check: " << problem << "\n";
        return kNoDevice;
    }
    std::ofstream out(file, std::ios::app); // before the work that would be in vain
    if (!out) {
        std::cerr << "The report cannot be written to " << file << ".\n";
        return kFailures;
    }
    std::ostringstream report;
    bool good = false;
    try {
        good = Check(workload, report).run();
    } catch (const std::exception& error) {
        std::cerr << error.what() << "\n";
        report << "\n**Ended early: " << error.what() << "**\n";
    }
    std::cout << report.str();
    out.close();
    out.open(file); // from its beginning
    out << report.str();
    if (!out.flush()) {
        std::cerr << "The report could not be written to " << file << ".\n";
        return kFailures;
    }
    return good ? kAllPassed : kFailures;
}

} // namespace halfscope::gpu
