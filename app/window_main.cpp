// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/window_main.h"

#include <QApplication>
#include <QBuffer>
#include <QElapsedTimer>
#include <QIcon>
#include <QPixmap>
#include <QStyleFactory>
#include <QTemporaryDir>
#include <QTimer>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <optional>

#include "app/exit_status.h"
#include "engine/core/version.h"
#include "engine/io/atomic_file.h"
#include "engine/train/training_thread.h"
#include "ui/main_window.h"
#include "ui/session_controller.h"
#include "ui/settings/remembered_device.h"

namespace halfscope {

namespace {

// A step of the largest model one would picture takes a second or so; a run that stands still this long is stuck.
constexpr qint64 kNoProgressMs = 120'000;
constexpr QSize kPictureSize(1600, 980);

Settings::Theme themeOf(WindowTheme theme)
{
    switch (theme) {
    case WindowTheme::Dark:
        return Settings::Theme::Dark;
    case WindowTheme::Light:
        return Settings::Theme::Light;
    case WindowTheme::System:
        break;
    }
    return Settings::Theme::System;
}

MainWindow::EngineFactory trainingThreads(bool paused)
{
    return [paused](const RunConfig& config) { return std::make_unique<TrainingThread>(config, paused); };
}

// Fusion follows our palette; other styles bring colours of their own.
void dress(QApplication& application)
{
    QApplication::setStyle(QStyleFactory::create(QStringLiteral("Fusion")));
    QApplication::setApplicationName(QStringLiteral("halfscope"));
    QApplication::setApplicationDisplayName(QStringLiteral("HalfScope"));
    const std::string_view version = programVersion();
    QApplication::setApplicationVersion(QString::fromUtf8(version.data(), static_cast<qsizetype>(version.size())));
    QApplication::setDesktopFileName(QStringLiteral("halfscope"));
    application.setWindowIcon(
        QIcon::fromTheme(QStringLiteral("halfscope"), QIcon(QStringLiteral(":/icons/halfscope.svg"))));
}

// What the platform without a display says about itself is of no use to whoever asked for a picture.
void quietPlatform(QtMsgType type, const QMessageLogContext&, const QString& message)
{
    const bool chatter = message.startsWith(QLatin1String("This plugin does not support")) ||
                         message.startsWith(QLatin1String("QStandardPaths:"));
    if (type != QtDebugMsg && type != QtInfoMsg && !chatter) {
        std::cerr << message.toStdString() << '\n';
    }
    if (type == QtFatalMsg) {
        std::abort();
    }
}

// Qt ends the program where it cannot reach a display; its message speaks of plugins.
void unreachableDisplay(QtMsgType type, const QMessageLogContext&, const QString& message)
{
    if (type == QtFatalMsg) {
        std::cerr << "halfscope: the window cannot open (" << message.section(QLatin1Char('\n'), 0, 0).toStdString()
                  << "); check DISPLAY or WAYLAND_DISPLAY, or use a verb such as halfscope train.\n";
        std::_Exit(kExitFailed);
    }
    if (type != QtDebugMsg && type != QtInfoMsg) {
        std::cerr << message.toStdString() << '\n';
    }
}

// The file appears whole or not at all. Returns the problem, one sentence.
std::optional<QString> savePicture(const QPixmap& picture, const QString& path)
{
    QByteArray png;
    QBuffer buffer(&png);
    if (!picture.save(&buffer, "PNG")) {
        return QStringLiteral("The picture cannot be made; choose a smaller size.");
    }
    try {
        AtomicFile file(path.toStdString());
        file.write(std::string_view(png.constData(), static_cast<std::size_t>(png.size())));
        file.publish();
        return std::nullopt;
    } catch (const std::runtime_error& error) {
        return QString::fromStdString(error.what());
    }
}

// Runs the steps and takes the picture, inside the event loop, as a user's window would live.
class Photographer : public QObject {
public:
    Photographer(MainWindow& window, const WindowOptions& options) : m_window(window), m_options(options)
    {
        connect(&window.controller(), &SessionController::stepsAdded, this, [this] { m_quiet.restart(); });
        connect(&m_timer, &QTimer::timeout, this, &Photographer::look);
        m_quiet.start();
        m_timer.start(20);
        window.controller().runSteps(options.steps);
    }

private:
    void look()
    {
        const SessionController& run = m_window.controller();
        const auto done = static_cast<std::int64_t>(run.run().steps.size());
        if (run.state() == EngineState::Failed) {
            end(QString::fromStdString(run.run().live.failure));
        } else if (done >= m_options.steps ||
                   (done > 0 && (run.state() == EngineState::Finished || run.state() == EngineState::Paused))) {
            m_timer.stop();
            m_window.refreshNow();
            // Once more through the event loop: layouts and queued repaints settle.
            QTimer::singleShot(200, this, &Photographer::shoot);
        } else if (m_quiet.elapsed() > kNoProgressMs) {
            end(QStringLiteral("no step was finished in %1 seconds; the picture was not taken.")
                    .arg(kNoProgressMs / 1000));
        }
    }

    void shoot()
    {
        m_window.refreshNow();
        const auto problem = savePicture(m_window.grab(), QString::fromStdString(m_options.screenshot.string()));
        end(problem.value_or(QString()));
    }

    void end(const QString& problem)
    {
        m_timer.stop();
        if (!problem.isEmpty()) {
            std::cerr << "halfscope: " << problem.toStdString() << '\n';
        }
        QCoreApplication::exit(problem.isEmpty() ? kExitDone : kExitFailed);
    }

    MainWindow& m_window;
    const WindowOptions& m_options;
    QTimer m_timer;
    QElapsedTimer m_quiet;
};

int takePicture(const WindowOptions& options)
{
    try {
        const AtomicFile writable(options.screenshot); // a name that cannot be written is an error before the steps
    } catch (const std::runtime_error& error) {
        std::cerr << "halfscope: " << error.what() << '\n';
        return kExitFailed;
    }
    // Nothing of the user's own settings is read or changed.
    const QTemporaryDir folder;
    if (!folder.isValid()) {
        std::cerr << "halfscope: no temporary folder can be made: " << folder.errorString().toStdString() << '\n';
        return kExitFailed;
    }
    const auto settings = Settings::inFile(folder.filePath(QStringLiteral("settings.ini")));
    settings->setTheme(options.theme == WindowTheme::System ? Settings::Theme::Dark : themeOf(options.theme));
    MainWindow window(trainingThreads(true), options.config, *settings);
    window.resize(options.width > 0 ? QSize(options.width, options.height) : kPictureSize);
    window.show();
    const Photographer photographer(window, options);
    return QApplication::exec();
}

int openWindow(const WindowOptions& options)
{
    const auto settings = Settings::forUser();
    if (options.theme != WindowTheme::System) {
        settings->overrideTheme(themeOf(options.theme));
    }
    RunConfig config = options.config;
    if (!options.deviceGiven) {
        useRememberedDevice(*settings, config);
    }
    MainWindow window(trainingThreads(false), config, *settings);
    if (options.width > 0) {
        window.resize(options.width, options.height);
    }
    window.show();
    return QApplication::exec();
}

} // namespace

int runWindow(const WindowOptions& options, int& argc, char** argv)
{
    if (!options.screenshot.empty()) {
        qputenv("QT_QPA_PLATFORM", "offscreen");
        qInstallMessageHandler(quietPlatform);
    } else if (qEnvironmentVariableIsEmpty("QT_QPA_PLATFORM") && qEnvironmentVariableIsEmpty("DISPLAY") &&
               qEnvironmentVariableIsEmpty("WAYLAND_DISPLAY")) {
        // Qt would end the program with a message about plugins.
        std::cerr << "halfscope: there is no display; use a verb, such as halfscope train --steps 500 --csv out, or "
                     "halfscope --screenshot window.png.\n";
        return kExitFailed;
    }
    const QtMessageHandler usual = options.screenshot.empty() ? qInstallMessageHandler(unreachableDisplay) : nullptr;
    QApplication application(argc, argv);
    if (options.screenshot.empty()) {
        qInstallMessageHandler(usual);
    }
    dress(application);
    return options.screenshot.empty() ? openWindow(options) : takePicture(options);
}

} // namespace halfscope
