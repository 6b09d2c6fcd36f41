// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/backend/machine_rates.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <memory>
#include <optional>

#include "engine/backend/backend_registry.h"
#include "engine/backend/cpu/rate_kernels.h"
#include "engine/core/error_text.h"
#include "engine/core/memory.h"
#include "engine/core/rng.h"
#include "engine/core/thread_pool.h"

namespace halfscope {

namespace {

using Clock = std::chrono::steady_clock;

constexpr int kFewestRuns = 3;
constexpr std::size_t kMostCopied = std::size_t{128} << 20U; // beyond what caches hold

double secondsSince(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

class Measurement {
public:
    explicit Measurement(const RateOptions& options) : m_options(options), m_pool(options.threads)
    {
        m_rates.shape = options.shape;
        m_rates.threads = m_pool.threads();
        for (const BackendInfo& backend : listBackends()) {
            if (backend.available)
                m_backends.push_back(backend.key);
        }
        m_things = 2.0 + static_cast<double>(m_backends.size() * floatFormats().size());
    }

    MachineRates run()
    {
        m_rates.complete = measureMultiplyAdd() && measureCopy() && measureProducts();
        return m_rates;
    }

private:
    // Times `run` until the time is up. nullopt: given up.
    template <typename Run>
    std::optional<Rate> time(const std::string& what, double amount, Run&& run)
    {
        std::vector<double> rates;
        const auto goOn = [&](double share) {
            return !m_options.goOn || m_options.goOn((m_done + std::min(share, 1.0)) / m_things, what);
        };
        if (!goOn(0.0))
            return std::nullopt;
        run(); // pages, caches and clocks settle
        const Clock::time_point start = Clock::now();
        while (secondsSince(start) < m_options.seconds || rates.size() < kFewestRuns) {
            if (!goOn(secondsSince(start) / m_options.seconds))
                return std::nullopt;
            const Clock::time_point begin = Clock::now();
            run();
            rates.push_back(amount / std::max(secondsSince(begin), 1e-9));
        }
        m_done += 1.0;
        std::sort(rates.begin(), rates.end());
        const std::size_t half = rates.size() / 2;
        Rate rate;
        rate.median = rates.size() % 2 == 1 ? rates[half] : 0.5 * (rates[half - 1] + rates[half]);
        rate.low = rates.front();
        rate.high = rates.back();
        rate.runs = static_cast<int>(rates.size());
        return rate;
    }

    bool measureMultiplyAdd()
    {
        constexpr std::int64_t kRounds = 20'000;
        const RateKernels& kernels = rateKernels();
        const std::int64_t chunks = std::int64_t{16} * m_pool.threads();
        std::vector<float> results(static_cast<std::size_t>(chunks)); // so that the work has a purpose
        const std::optional<Rate> rate =
            time("FP32 multiply-add", static_cast<double>(chunks * kRounds * kernels.operationsPerRound), [&] {
                m_pool.parallelFor(chunks, 1e9, [&](std::int64_t chunk, int) {
                    results[static_cast<std::size_t>(chunk)] = kernels.multiplyAdd(kRounds);
                });
            });
        m_rates.multiplyAdd = rate.value_or(Rate());
        return rate.has_value();
    }

    bool measureCopy()
    {
        const auto free = static_cast<std::size_t>(availableMemory().value_or(8.0 * static_cast<double>(kMostCopied)));
        constexpr std::size_t kChunk = std::size_t{1} << 20U;
        const std::size_t chunks = std::max<std::size_t>(1, std::min(kMostCopied, free / 8) / kChunk);
        const std::vector<char> from(chunks * kChunk, 1);
        std::vector<char> to(from.size());
        m_rates.copyBytes = static_cast<double>(from.size());
        const std::optional<Rate> rate = time("copying memory", 2.0 * static_cast<double>(from.size()), [&] {
            m_pool.parallelFor(static_cast<std::int64_t>(chunks), 1e9, [&](std::int64_t chunk, int) {
                const std::size_t at = static_cast<std::size_t>(chunk) * kChunk;
                std::memcpy(to.data() + at, from.data() + at, kChunk);
            });
        });
        m_rates.copy = rate.value_or(Rate());
        return rate.has_value();
    }

    bool measureProducts()
    {
        for (const std::string& key : m_backends) {
            for (const FloatFormat& format : floatFormats()) {
                ProductRate product;
                product.backend = key;
                product.format = format.id;
                try {
                    if (!measureProduct(product))
                        return false;
                } catch (const std::exception& e) {
                    product.problem = errorText(e);
                    m_done += 1.0;
                }
                m_rates.products.push_back(product);
            }
        }
        return true;
    }

    bool measureProduct(ProductRate& product)
    {
        const std::unique_ptr<Backend> backend = makeBackend(product.backend, m_options.threads);
        product.native = backend->multipliesNatively(product.format);
        const ProductShape& s = m_options.shape;
        Tensor a = operand(*backend, product.format, s.m, s.k);
        Tensor b = operand(*backend, product.format, s.k, s.n);
        Tensor c = backend->makeTensor(FormatId::Fp32, s.m, s.n);
        const std::string what = std::string(floatFormat(product.format).name) + " on " + product.backend;
        const std::optional<Rate> rate = time(what, s.operations(), [&] {
            backend->gemm({.a = a, .b = b, .c = c});
            backend->synchronize();
        });
        product.rate = rate.value_or(Rate());
        return rate.has_value();
    }

    static Tensor operand(Backend& backend, FormatId format, std::int64_t rows, std::int64_t cols)
    {
        Rng rng(7);
        std::vector<float> values(static_cast<std::size_t>(rows * cols));
        for (float& value : values)
            value = static_cast<float>(rng.uniform() - 0.5);
        Tensor tensor = backend.makeTensor(format, rows, cols);
        backend.upload(values, tensor);
        return tensor;
    }

    const RateOptions& m_options;
    ThreadPool m_pool;
    std::vector<std::string> m_backends;
    MachineRates m_rates;
    double m_things = 0.0;
    double m_done = 0.0;
};

} // namespace

const ProductRate* MachineRates::find(std::string_view backend, FormatId format) const
{
    const auto found = std::find_if(products.begin(), products.end(),
                                    [&](const ProductRate& p) { return p.backend == backend && p.format == format; });
    return found != products.end() ? &*found : nullptr;
}

MachineRates measureMachine(const RateOptions& options) { return Measurement(options).run(); }

} // namespace halfscope
