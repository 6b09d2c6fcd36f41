// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/backend/cuda/results.h"

#include <bit>
#include <cstddef>

#include "engine/backend/cuda/errors.h"
#include "engine/numerics/cast_kernels.h"

namespace halfscope::cuda {

namespace {

static_assert(kBins == ExponentHistogram::kBinCount);
static_assert(kClasses == kValueClassCount);

constexpr std::size_t kRecords = 1024;
constexpr std::size_t kSums = std::size_t{256} * 1024; // blocks of all kernels in flight
constexpr std::size_t kRecordsPerOperation = 4;        // at most
constexpr std::size_t kSumsPerOperation = kRecordsPerOperation * static_cast<std::size_t>(kMostBlocks);
static_assert(kSums >= kSumsPerOperation);

TensorStatistics statisticsOf(const Record& record)
{
    TensorStatistics s;
    for (std::size_t i = 0; i < s.histogram.bins.size(); ++i)
        s.histogram.bins[i] = record.bins[i];
    for (std::size_t i = 0; i < s.classes.of.size(); ++i)
        s.classes.of[i] = record.classes[i];
    s.unscaledToInfinity = record.unscaledToInfinity;
    if (record.smallestInverted != 0) {
        s.absMin = std::bit_cast<float>(0x7FFFFFFFU - record.smallestInverted);
        s.absMax = std::bit_cast<float>(record.largest);
    }
    s.sum = record.sum;
    s.sumSquares = record.sumSquares;
    return s;
}

UpdateStatistics updatesOf(const Record& record)
{
    UpdateStatistics u;
    u.weights = record.classes[kUpdateWeights];
    u.unchanged = record.classes[kUpdateUnchanged];
    u.fromZero = record.classes[kUpdateFromZero];
    u.nonfinite = record.classes[kUpdateNonfinite];
    u.lost = record.classes[kUpdateLost];
    for (std::size_t i = 0; i < u.ratios.bins.size(); ++i)
        u.ratios.bins[i] = record.bins[i];
    return u;
}

} // namespace

Results::Results(cudaStream_t stream) : m_stream(stream), m_banks{makeBank(), makeBank()} {}

Results::Bank Results::makeBank()
{
    Bank bank;
    bank.records = allocateDevice(kRecords * sizeof(Record), "statistics");
    bank.sums = allocateDevice(kSums * sizeof(BlockSums), "statistics");
    bank.ranges = allocateDevice(kRecords * sizeof(SumRange), "statistics");
    bank.fetched = allocatePinned(kRecords * sizeof(Record));
    bank.sent = allocatePinned(kRecords * sizeof(SumRange));
    cudaEvent_t event = nullptr;
    check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "making an event");
    bank.arrived = {event, [](cudaEvent_t e) { cudaEventDestroy(e); }};
    bank.receivers.reserve(kRecords);
    check(cudaMemsetAsync(bank.records.get(), 0, kRecords * sizeof(Record), m_stream), "clearing memory");
    return bank;
}

void Results::makeRoom()
{
    if (current().receivers.size() + kRecordsPerOperation <= kRecords &&
        current().sumsUsed + kSumsPerOperation <= kSums)
        return;
    try {
        receive(other()); // which was sent before
        send(current());
    } catch (...) {
        forget();
        throw;
    }
    m_current = 1 - m_current;
}

Report Results::take(Receiver to, unsigned blocks)
{
    Bank& bank = current();
    const std::size_t index = bank.receivers.size();
    static_cast<SumRange*>(bank.sent.get())[index] = {static_cast<unsigned>(bank.sumsUsed), blocks};
    const Report report{static_cast<Record*>(bank.records.get()) + index,
                        static_cast<BlockSums*>(bank.sums.get()) + bank.sumsUsed};
    bank.receivers.push_back(to);
    bank.sumsUsed += blocks;
    return report;
}

Probe Results::probe(CastProbe* to, FormatId format, unsigned blocks)
{
    Probe probe;
    if (to == nullptr)
        return probe;
    probe.measure = to->measure;
    probe.report = take(to, to->measure ? blocks : 0);
    probe.inverseScale = to->inverseScale;
    probe.factor = to->factor;
    if (to->clamp)
        probe.clampTo = static_cast<float>(floatFormat(format).largest);
    const ClassBounds& bounds = classBounds(to->countedAs.value_or(format));
    probe.flushUpTo = static_cast<unsigned>(bounds.flushUpTo);
    probe.normalFrom = static_cast<unsigned>(bounds.normalFrom);
    probe.saturatingFrom = static_cast<unsigned>(bounds.saturatingFrom);
    return probe;
}

Report Results::report(Backend::Unscaled* to, unsigned blocks) { return take(to, blocks); }
Report Results::report(double* to, unsigned blocks) { return take(to, blocks); }
Report Results::report(float* to) { return take(to, 0); }
Report Results::report(UpdateProbe* to) { return take(to, 0); }

void Results::send(Bank& bank)
{
    const std::size_t count = bank.receivers.size();
    if (count == 0)
        return;
    auto* const records = static_cast<Record*>(bank.records.get());
    check(
        cudaMemcpyAsync(bank.ranges.get(), bank.sent.get(), count * sizeof(SumRange), cudaMemcpyHostToDevice, m_stream),
        "copying to the GPU");
    finishRecords(m_stream, records, static_cast<const BlockSums*>(bank.sums.get()),
                  static_cast<const SumRange*>(bank.ranges.get()), static_cast<unsigned>(count));
    check(cudaMemcpyAsync(bank.fetched.get(), records, count * sizeof(Record), cudaMemcpyDeviceToHost, m_stream),
          "copying from the GPU");
    check(cudaEventRecord(bank.arrived.get(), m_stream), "marking a place in the stream");
    check(cudaMemsetAsync(records, 0, count * sizeof(Record), m_stream), "clearing memory");
    bank.onItsWay = true;
}

void Results::receive(Bank& bank)
{
    if (!bank.onItsWay)
        return;
    check(cudaEventSynchronize(bank.arrived.get()), "waiting for the GPU");
    const auto* records = static_cast<const Record*>(bank.fetched.get());
    for (std::size_t i = 0; i < bank.receivers.size(); ++i)
        handOut(records[i], bank.receivers[i]);
    bank.receivers.clear();
    bank.sumsUsed = 0;
    bank.onItsWay = false;
}

void Results::collect()
{
    try {
        send(current());
        check(cudaStreamSynchronize(m_stream), "waiting for the GPU");
        receive(other());
        receive(current());
    } catch (...) {
        forget();
        throw;
    }
}

void Results::forget() noexcept
{
    for (Bank& bank : m_banks) {
        bank.receivers.clear();
        bank.sumsUsed = 0;
        bank.onItsWay = false;
        // Where this fails so does whatever comes after it.
        if (bank.records && cudaMemsetAsync(bank.records.get(), 0, kRecords * sizeof(Record), m_stream) != cudaSuccess)
            cudaGetLastError();
    }
}

void Results::handOut(const Record& record, const Receiver& to)
{
    if (auto* const* sum = std::get_if<double*>(&to)) {
        **sum = record.sum;
    } else if (auto* const* unscaled = std::get_if<Backend::Unscaled*>(&to)) {
        **unscaled = {(record.flags & kNonfinite) != 0, record.sumSquares};
    } else if (auto* const* largest = std::get_if<float*>(&to)) {
        **largest = std::bit_cast<float>(record.largest);
    } else if (auto* const* update = std::get_if<UpdateProbe*>(&to)) {
        (*update)->statistics.merge(updatesOf(record));
    } else {
        CastProbe& probe = *std::get<CastProbe*>(to);
        probe.saturated |= (record.flags & kSaturated) != 0 && !probe.clamp;
        probe.nonfinite |= (record.flags & kNonfinite) != 0;
        const TensorStatistics statistics = statisticsOf(record);
        probe.statistics.merge(statistics);
        probe.saturated |= statistics.saturated() && !probe.clamp;
        probe.nonfinite |= statistics.nonfinite();
    }
}

} // namespace halfscope::cuda
