// SPDX-License-Identifier: GPL-3.0-or-later
// What the window exports is what a run without a window writes, byte for byte.
#include <QCoreApplication>
#include <QFile>
#include <QMap>
#include <QSignalSpy>
#include <QTemporaryDir>
#include <QTest>
#include <algorithm>
#include <gtest/gtest.h>

#include "engine/io/csv_export.h"
#include "engine/train/settings_registry.h"
#include "tests/engine/train/small_run.h"
#include "tests/ui/stepped_engine.h"
#include "ui/dialogs/background_task.h"
#include "ui/dialogs/run_export.h"
#include "ui/models/layers_model.h"
#include "ui/session_controller.h"

namespace halfscope::test {

namespace {

QByteArray bytesOf(const QString& path)
{
    QFile file(path);
    return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray("(cannot be read)");
}

struct TimedChange {
    int step;
    Command command;
};

} // namespace

TEST(RunExport, IsWhatARunWithoutAWindowWrites)
{
    RunConfig config = smallRun();
    for (const auto& [key, value] : {std::pair{"precision", "fp8"},
                                     {"shadow-interval", "3"},
                                     {"measure-updates", "on"},
                                     {"initial-scale", "65536"},
                                     {"growth-interval", "5"},
                                     {"precision-schedule", "8:mixed-fp16;16:lm_head=fp8"},
                                     {"activations", "on"}}) {
        ASSERT_EQ(applySetting(config, key, value), std::nullopt) << key;
    }
    config.shadowRun = true;
    constexpr int kSteps = 24;
    const std::vector<TimedChange> changes = {{4, InjectSpike{"h0.mlp.fc", 1e9, false}},
                                              {6, SetSetting{"measure-updates", "off"}},
                                              {10, SetSetting{"measure-updates", "on"}},
                                              {12, SetSetting{"precision", "pure-fp16"}},
                                              {13, SetSetting{"precision", "mixed-fp16", 0}},
                                              {18, SetSetting{"scale-per-module", "on"}},
                                              {20, SetScale{0x1p20}}};
    QTemporaryDir folder;
    const QString headless = folder.filePath(QStringLiteral("headless"));
    const QString exported = folder.filePath(QStringLiteral("window"));
    {
        Trainer trainer(config);
        RunCsvWriter writer(headless.toStdString(), trainer.info());
        for (int step = 1; step <= kSteps; ++step) {
            for (const TimedChange& change : changes) {
                if (change.step == step) {
                    writer.add(trainer.apply(change.command));
                }
            }
            const Trainer::StepResult& result = trainer.step();
            writer.add(result.record);
            if (result.snapshot) {
                writer.add(*result.snapshot);
            }
            if (result.shadow) {
                writer.add(*result.shadow);
            }
            for (const Event& event : result.events) {
                writer.add(event);
            }
        }
        writer.finish();
    }
    auto made = std::make_unique<SteppedEngine>(config);
    SteppedEngine* engine = made.get();
    SessionController controller(std::move(made));
    for (int step = 1; step <= kSteps; ++step) {
        for (const TimedChange& change : changes) {
            if (change.step == step) {
                engine->post(change.command);
            }
        }
        engine->step();
        if (step % 5 == 0) {
            controller.poll();
        }
    }
    controller.poll();
    BackgroundTask task;
    QSignalSpy finished(&task, &BackgroundTask::finished);
    const RunCopy copy(controller.run());
    task.start([&](BackgroundTask::Handle& handle) { return writeRun(copy, exported, handle); });
    ASSERT_TRUE(finished.wait(30'000));
    ASSERT_EQ(finished.at(0).at(0).toString(), QString());
    for (const QString& name : exportedFileNames()) {
        if (name == QLatin1String("timing.csv")) {
            continue; // wall time
        }
        const QByteArray one = bytesOf(headless + QLatin1Char('/') + name);
        EXPECT_GT(one.size(), 200) << name.toStdString();
        EXPECT_TRUE(one == bytesOf(exported + QLatin1Char('/') + name)) << name.toStdString();
    }
    EXPECT_TRUE(bytesOf(exported + QStringLiteral("/histograms.csv")).contains("update_ratio"));
    EXPECT_TRUE(bytesOf(exported + QStringLiteral("/run.json")).contains("\"since\": 0"));
}

// One number is one number: in the layers table, in the advisor's words and in the files.
TEST(RunExport, TheFilesTheTableAndTheAdvisorSayTheSameNumbers)
{
    RunConfig config = smallRun();
    for (const auto& [key, value] : {std::pair{"precision", "mixed-fp16"},
                                     {"shadow-interval", "1"},
                                     {"scaler-mode", "static"},
                                     {"initial-scale", "4"}}) { // gradients are flushed
        ASSERT_EQ(applySetting(config, key, value), std::nullopt) << key;
    }
    auto made = std::make_unique<SteppedEngine>(config);
    SteppedEngine* engine = made.get();
    SessionController controller(std::move(made));
    LayersModel layers(controller);
    controller.poll();
    TapSelection selection;
    selection.tap = Tap::ActivationGrad;
    controller.select(selection);
    for (int step = 1; step <= 30; ++step) {
        if (step > 20 && step <= 26) {
            engine->post(InjectSpike{"h0.mlp.fc", 1e12, false});
        }
        engine->step();
        controller.poll();
    }
    layers.refresh();
    QTemporaryDir folder;
    BackgroundTask task;
    QSignalSpy finished(&task, &BackgroundTask::finished);
    const RunCopy copy(controller.run());
    task.start([&](BackgroundTask::Handle& handle) { return writeRun(copy, folder.path(), handle); });
    ASSERT_TRUE(finished.wait(30'000));
    const auto rowsOf = [&](const char* name) {
        std::vector<QMap<QString, QString>> rows;
        const QStringList lines = QString::fromUtf8(bytesOf(folder.filePath(QLatin1String(name))))
                                      .split(QLatin1Char('\n'), Qt::SkipEmptyParts);
        const QStringList columns = lines.front().split(QLatin1Char(','));
        for (const QString& line : lines.mid(1)) {
            const QStringList cells = line.split(QLatin1Char(','));
            QMap<QString, QString> row;
            for (qsizetype i = 0; i < columns.size() && i < cells.size(); ++i) {
                row[columns[i]] = cells[i];
            }
            rows.push_back(row);
        }
        return rows;
    };
    const auto tables = rowsOf("layers.csv");
    const auto shadows = rowsOf("shadow.csv");
    const auto steps = rowsOf("steps.csv");
    int compared = 0;
    for (int row = 0; row < layers.rowCount(); ++row) {
        const QString module = layers.moduleName(row);
        const auto number = [&](LayersModel::Column column, LayersModel::Role role) {
            return layers.data(layers.index(row, column), role).toDouble();
        };
        int skips = 0;
        for (const auto& step : steps) {
            skips += step[QStringLiteral("found_inf")] == QLatin1String("1") &&
                             step[QStringLiteral("overflow_module")] == module
                         ? 1
                         : 0;
        }
        EXPECT_EQ(number(LayersModel::SkipsColumn, LayersModel::SortRole), skips) << module.toStdString();
        for (const auto& line : tables) {
            if (line[QStringLiteral("step")] != QLatin1String("30") || line[QStringLiteral("module")] != module ||
                line[QStringLiteral("tap")] != QLatin1String("activation_grad")) {
                continue;
            }
            ++compared;
            const auto cell = [&](const char* column) { return line[QLatin1String(column)].toDouble(); };
            EXPECT_EQ(number(LayersModel::FlushedColumn, LayersModel::SortRole), cell("flushed") / cell("count"));
            EXPECT_EQ(number(LayersModel::SubnormalColumn, LayersModel::SortRole), cell("subnormal") / cell("count"));
            EXPECT_EQ(number(LayersModel::MeanColumn, LayersModel::InspectRole), cell("mean")) << module.toStdString();
            EXPECT_EQ(number(LayersModel::DeviationColumn, LayersModel::InspectRole), cell("std"));
            EXPECT_EQ(number(LayersModel::RmsColumn, LayersModel::InspectRole), cell("rms"));
        }
        for (const auto& line : shadows) {
            if (line[QStringLiteral("step")] == QLatin1String("30") && line[QStringLiteral("module")] == module) {
                ASSERT_NE(layers.comparisonAt(row), nullptr);
                EXPECT_EQ(layers.comparisonAt(row)->cosine, line[QStringLiteral("cosine")].toDouble());
                EXPECT_EQ(layers.comparisonAt(row)->relativeError, line[QStringLiteral("relative_error")].toDouble());
            }
        }
    }
    EXPECT_GT(compared, 10);

    const auto& findings = controller.advisor().findings();
    const auto overflow = std::ranges::find(findings, FindingKind::TensorOverflow, &Finding::kind);
    const auto flushing = std::ranges::find(findings, FindingKind::Flushing, &Finding::kind);
    ASSERT_TRUE(overflow != findings.end() || flushing != findings.end());
    if (overflow != findings.end()) {
        for (const Event& event : controller.run().events) {
            if (event.kind == EventKind::Overflow && event.step == 26) {
                EXPECT_EQ(overflow->values, event.count);
                EXPECT_EQ(overflow->largest, static_cast<double>(event.largest));
            }
        }
    }
}

} // namespace halfscope::test
