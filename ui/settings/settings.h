// SPDX-License-Identifier: GPL-3.0-or-later
// What the program remembers between starts. Every value has one key, one type and one default; a value that cannot be
// read, because the file is damaged or from another version, is the default again.
#pragma once

#include <QByteArray>
#include <QSettings>
#include <QString>
#include <memory>
#include <optional>

namespace halfscope {

class Settings {
public:
    enum class Theme { System, Light, Dark };

    // The user's own file.
    static std::unique_ptr<Settings> forUser();
    // A given file, as tests and pictures use: nothing of the user's is read or changed.
    static std::unique_ptr<Settings> inFile(const QString& path);

    Theme theme() const;
    void setTheme(Theme theme);
    // For this start only, as the command line asks; until setTheme() chooses for good.
    void overrideTheme(Theme theme) { m_themeOverride = theme; }

    bool hintDismissed() const;
    void setHintDismissed(bool dismissed);

    QString lastFolder() const; // home when it is gone
    void setLastFolder(const QString& folder);

    // Of the last run that was started by hand; empty: none was.
    QString deviceBackend() const;
    QString deviceId() const;
    void setDevice(const QString& backend, const QString& id);

    // QMainWindow::saveGeometry() and saveState(); empty when there is none of this layout version.
    QByteArray windowGeometry() const;
    QByteArray windowState() const;
    void setWindow(const QByteArray& geometry, const QByteArray& state);
    QByteArray layersHeader() const;
    void setLayersHeader(const QByteArray& state);
    QByteArray centralSplitter() const;
    void setCentralSplitter(const QByteArray& state);
    void forgetLayout();

    // The folder of the settings' file, for what the program keeps beside them.
    QString folder() const;

    void flush() { m_settings->sync(); }

    // Raised when the docks change in a way that makes an older saved layout nonsense.
    static constexpr int kLayoutVersion = 6;

private:
    explicit Settings(std::unique_ptr<QSettings> settings);
    QByteArray layoutBytes(const QString& key) const;

    std::unique_ptr<QSettings> m_settings;
    std::optional<Theme> m_themeOverride;
};

} // namespace halfscope
