// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/settings/settings.h"

#include <QDir>
#include <QFileInfo>

namespace halfscope {

namespace {

const auto kVersion = QStringLiteral("version");
const auto kTheme = QStringLiteral("window/theme");
const auto kHintDismissed = QStringLiteral("window/hint-dismissed");
const auto kLastFolder = QStringLiteral("files/last-folder");
const auto kDeviceBackend = QStringLiteral("run/backend");
const auto kDeviceId = QStringLiteral("run/device");
const QStringList kBackends = {QStringLiteral("auto"), QStringLiteral("cpu"), QStringLiteral("onednn"),
                               QStringLiteral("cuda")};
const auto kLayoutVersionKey = QStringLiteral("layout/version");
const auto kGeometry = QStringLiteral("layout/geometry");
const auto kState = QStringLiteral("layout/state");
const auto kLayersHeader = QStringLiteral("layout/layers-header");
const auto kSplitter = QStringLiteral("layout/central-splitter");
constexpr int kSettingsVersion = 1;

struct ThemeName {
    Settings::Theme theme;
    const char* name;
};
constexpr ThemeName kThemes[] = {
    {Settings::Theme::System, "system"},
    {Settings::Theme::Light, "light"},
    {Settings::Theme::Dark, "dark"},
};

} // namespace

Settings::Settings(std::unique_ptr<QSettings> settings) : m_settings(std::move(settings))
{
    // A damaged file, or one a later version wrote, is not guessed at.
    const int version = m_settings->value(kVersion, kSettingsVersion).toInt();
    if (m_settings->status() == QSettings::FormatError || version != kSettingsVersion) {
        m_settings->clear();
    }
    m_settings->setValue(kVersion, kSettingsVersion);
    if (m_settings->value(kLayoutVersionKey, kLayoutVersion).toInt() != kLayoutVersion) {
        forgetLayout();
    }
}

std::unique_ptr<Settings> Settings::forUser()
{
    return std::unique_ptr<Settings>(new Settings(std::make_unique<QSettings>(
        QSettings::IniFormat, QSettings::UserScope, QStringLiteral("HalfScope"), QStringLiteral("halfscope"))));
}

std::unique_ptr<Settings> Settings::inFile(const QString& path)
{
    return std::unique_ptr<Settings>(new Settings(std::make_unique<QSettings>(path, QSettings::IniFormat)));
}

QString Settings::folder() const { return QFileInfo(m_settings->fileName()).absolutePath(); }

Settings::Theme Settings::theme() const
{
    if (m_themeOverride) {
        return *m_themeOverride;
    }
    const QString name = m_settings->value(kTheme).toString();
    for (const ThemeName& one : kThemes) {
        if (name == QLatin1String(one.name)) {
            return one.theme;
        }
    }
    return Theme::System;
}

void Settings::setTheme(Theme theme)
{
    m_themeOverride.reset();
    for (const ThemeName& one : kThemes) {
        if (one.theme == theme) {
            m_settings->setValue(kTheme, QLatin1String(one.name));
        }
    }
}

bool Settings::hintDismissed() const { return m_settings->value(kHintDismissed, false).toBool(); }
void Settings::setHintDismissed(bool dismissed) { m_settings->setValue(kHintDismissed, dismissed); }

QString Settings::lastFolder() const
{
    const QString folder = m_settings->value(kLastFolder).toString();
    return !folder.isEmpty() && QFileInfo(folder).isDir() ? folder : QDir::homePath();
}

void Settings::setLastFolder(const QString& folder) { m_settings->setValue(kLastFolder, folder); }

QString Settings::deviceBackend() const
{
    const QString backend = m_settings->value(kDeviceBackend).toString();
    return kBackends.contains(backend) ? backend : QString();
}
QString Settings::deviceId() const { return m_settings->value(kDeviceId).toString(); }

void Settings::setDevice(const QString& backend, const QString& id)
{
    m_settings->setValue(kDeviceBackend, backend);
    m_settings->setValue(kDeviceId, id);
}

QByteArray Settings::layoutBytes(const QString& key) const { return m_settings->value(key).toByteArray(); }

QByteArray Settings::windowGeometry() const { return layoutBytes(kGeometry); }
QByteArray Settings::windowState() const { return layoutBytes(kState); }

void Settings::setWindow(const QByteArray& geometry, const QByteArray& state)
{
    m_settings->setValue(kLayoutVersionKey, kLayoutVersion);
    m_settings->setValue(kGeometry, geometry);
    m_settings->setValue(kState, state);
}

QByteArray Settings::layersHeader() const { return layoutBytes(kLayersHeader); }
void Settings::setLayersHeader(const QByteArray& state) { m_settings->setValue(kLayersHeader, state); }
QByteArray Settings::centralSplitter() const { return layoutBytes(kSplitter); }
void Settings::setCentralSplitter(const QByteArray& state) { m_settings->setValue(kSplitter, state); }

void Settings::forgetLayout() { m_settings->remove(QStringLiteral("layout")); }

} // namespace halfscope
