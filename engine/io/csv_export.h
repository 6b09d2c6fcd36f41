// SPDX-License-Identifier: GPL-3.0-or-later
// The CSV set of a run. RFC 4180, UTF-8, '.' decimals whatever the locale, shortest round-trip numbers, nan / inf /
// -inf as text. Every file is written to a temporary name and renamed when complete.
// layers.csv and histograms.csv have a row for each measured step; where a row is the sum of several (the older part of
// an export from the window), `step` is the first, `last_step` the last of them and `steps` their number.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/train/engine.h"
#include "engine/train/histogram_history.h"
#include "engine/train/update_history.h"

namespace halfscope {

inline constexpr std::string_view kCsvLineEnd = "\n";

std::string csvNumber(double value);         // shortest text that reads back as the same double
std::string csvNumber(float value);          // shortest text that reads back as the same float
std::string csvField(std::string_view text); // quoted if it has to be

// Writes a run as it happens: steps.csv, layers.csv, histograms.csv, events.csv, timing.csv, shadow.csv, run.json in
// one folder.
class RunCsvWriter {
public:
    // Creates the folder. Throws std::runtime_error with one sentence naming the file and the reason.
    RunCsvWriter(const std::filesystem::path& folder, const RunInfo& info);
    ~RunCsvWriter(); // without finish(): temporary files are removed, old files stay

    void add(const StepRecord& record);
    void add(const Event& event);
    void add(const Snapshot& snapshot);
    void add(const ShadowReport& report);
    void add(const Continuation& continuation); // for run.json; those of the RunInfo given are there already
    // Export from the window: each row of the histograms before the row of updates of the same step.
    void add(const HistoryRow& row, const HistogramHistory& history);
    void add(const UpdateRow& row);
    // A run that is killed leaves all but its last second, in files whose names end in ".part-" and six letters. After
    // a failure keepParts() leaves what there is in the same way.
    void keepParts();
    // Completes and renames all files. `commands` as (step, key, value) are in run.json, taken from the events.
    void finish();
    std::vector<std::filesystem::path> files() const;

private:
    struct Impl;
    std::unique_ptr<Impl> m_impl;
};

} // namespace halfscope
