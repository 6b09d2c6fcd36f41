// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/theme.h"

#include <QApplication>
#include <QEvent>
#include <QStyle>
#include <QtGlobal>
#include <algorithm>
#include <cmath>
#if QT_VERSION >= QT_VERSION_CHECK(6, 5, 0)
#include <QStyleHints>
#endif

namespace halfscope {

namespace {

struct Oklab {
    double lightness;
    double a;
    double b;
};

double toLinear(double c) { return c <= 0.04045 ? c / 12.92 : std::pow((c + 0.055) / 1.055, 2.4); }
double fromLinear(double c) { return c <= 0.0031308 ? 12.92 * c : 1.055 * std::pow(c, 1.0 / 2.4) - 0.055; }

Oklab toOklab(const QColor& color)
{
    const double r = toLinear(color.redF());
    const double g = toLinear(color.greenF());
    const double b = toLinear(color.blueF());
    const double l = std::cbrt(0.4122214708 * r + 0.5363325363 * g + 0.0514459929 * b);
    const double m = std::cbrt(0.2119034982 * r + 0.6806995451 * g + 0.1073969566 * b);
    const double s = std::cbrt(0.0883024619 * r + 0.2817188376 * g + 0.6299787005 * b);
    return {0.2104542553 * l + 0.7936177850 * m - 0.0040720468 * s,
            1.9779984951 * l - 2.4285922050 * m + 0.4505937099 * s,
            0.0259040371 * l + 0.7827717662 * m - 0.8086757660 * s};
}

QRgb fromOklab(const Oklab& c)
{
    const double l = std::pow(c.lightness + 0.3963377774 * c.a + 0.2158037573 * c.b, 3);
    const double m = std::pow(c.lightness - 0.1055613458 * c.a - 0.0638541728 * c.b, 3);
    const double s = std::pow(c.lightness - 0.0894841775 * c.a - 1.2914855480 * c.b, 3);
    const auto byte = [](double linear) {
        return static_cast<int>(std::lround(255.0 * fromLinear(std::clamp(linear, 0.0, 1.0))));
    };
    return qRgb(byte(4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s),
                byte(-1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s),
                byte(-0.0041960863 * l - 0.7034186147 * m + 1.7076147010 * s));
}

// Blue to yellow through grey keeps its order for every kind of colour blindness. Interpolated in OKLab with lightness
// linear in the position, hues through `middle`.
std::array<QRgb, 256> gradient(const QColor& low, const QColor& middle, const QColor& high)
{
    const Oklab from = toOklab(low);
    const Oklab via = toOklab(middle);
    const Oklab to = toOklab(high);
    std::array<QRgb, 256> colors{};
    for (std::size_t i = 0; i < colors.size(); ++i) {
        const double t = static_cast<double>(i) / 255.0;
        const bool first = t < 0.5;
        const double u = first ? 2.0 * t : 2.0 * t - 1.0;
        const Oklab& x = first ? from : via;
        const Oklab& y = first ? via : to;
        colors[i] = fromOklab(
            {from.lightness + t * (to.lightness - from.lightness), x.a + u * (y.a - x.a), x.b + u * (y.b - x.b)});
    }
    return colors;
}

Theme makeDark()
{
    Theme t;
    t.dark = true;
    t.window = QColor(0x12, 0x15, 0x1a);
    t.panel = QColor(0x1b, 0x1f, 0x26);
    t.panelBorder = QColor(0x2d, 0x33, 0x3d);
    t.plotArea = QColor(0x14, 0x17, 0x1c);
    t.control = QColor(0x25, 0x2b, 0x35);
    t.grid = QColor(0x2b, 0x30, 0x39);
    t.text = QColor(0xe6, 0xe9, 0xee);
    t.textDim = QColor(0x9a, 0xa3, 0xb0);
    t.accent = QColor(0x5b, 0xa2, 0xff);
    t.warning = QColor(0xf0, 0xb4, 0x3c);
    t.error = QColor(0xf0, 0x6a, 0x4a);
    t.zero = QColor(0x8a, 0x93, 0xa0);
    t.flushed = QColor(0xe0, 0x5a, 0x2b);
    t.subnormal = QColor(0xf0, 0xb4, 0x3c);
    t.normal = QColor(0x2f, 0xa8, 0x90);
    t.overflow = QColor(0xc9, 0x6f, 0xd6);
    t.nonfinite = QColor(0xe6, 0x9a, 0xf0);
    t.scaleLine = QColor(0x5b, 0xa2, 0xff);
    t.band = QColor(0x2f, 0xa8, 0x90, 46);
    t.bandEdge = QColor(0x2f, 0xa8, 0x90, 150);
    t.bandTrueMinimum = QColor(0x9a, 0xa3, 0xb0, 170);
    t.lossRaw = QColor(0x8a, 0x7a, 0x4d);
    t.lossSmooth = QColor(0xf5, 0xc3, 0x58);
    t.skip = QColor(0xd6, 0x84, 0xe2);
    t.command = QColor(0x5b, 0xa2, 0xff);
    t.growth = QColor(0x45, 0xc0, 0xa6);
    t.crosshair = QColor(0xc3, 0xcb, 0xd6, 170);
    t.readout = QColor(0x25, 0x2b, 0x35, 240);
    t.readoutBorder = QColor(0x4a, 0x54, 0x63);
    return t;
}

Theme makeLight()
{
    Theme t;
    t.dark = false;
    t.window = QColor(0xee, 0xf0, 0xf3);
    t.panel = QColor(0xfb, 0xfc, 0xfd);
    t.panelBorder = QColor(0xd3, 0xd8, 0xdf);
    t.plotArea = QColor(0xff, 0xff, 0xff);
    t.control = QColor(0xf1, 0xf3, 0xf6);
    t.grid = QColor(0xe4, 0xe8, 0xed);
    t.text = QColor(0x1a, 0x20, 0x2a);
    t.textDim = QColor(0x57, 0x61, 0x6f);
    t.accent = QColor(0x1f, 0x6f, 0xd8);
    t.warning = QColor(0xa8, 0x6a, 0x00);
    t.error = QColor(0xb8, 0x3a, 0x10);
    t.zero = QColor(0x80, 0x89, 0x96);
    t.flushed = QColor(0xc8, 0x45, 0x14);
    t.subnormal = QColor(0xe6, 0xa0, 0x1a);
    t.normal = QColor(0x12, 0x8a, 0x73);
    t.overflow = QColor(0xa0, 0x45, 0xb0);
    t.nonfinite = QColor(0x7c, 0x2a, 0x8c);
    t.scaleLine = QColor(0x1f, 0x6f, 0xd8);
    t.band = QColor(0x12, 0x8a, 0x73, 34);
    t.bandEdge = QColor(0x12, 0x8a, 0x73, 150);
    t.bandTrueMinimum = QColor(0x57, 0x61, 0x6f, 170);
    t.lossRaw = QColor(0xd2, 0xb8, 0x7a);
    t.lossSmooth = QColor(0xa8, 0x6a, 0x00);
    t.skip = QColor(0xa0, 0x45, 0xb0);
    t.command = QColor(0x1f, 0x6f, 0xd8);
    t.growth = QColor(0x12, 0x8a, 0x73);
    t.crosshair = QColor(0x3a, 0x43, 0x50, 170);
    t.readout = QColor(0xff, 0xff, 0xff, 244);
    t.readoutBorder = QColor(0xb4, 0xbc, 0xc8);
    return t;
}

} // namespace

QColor Theme::classColor(ValueClass c) const
{
    switch (c) {
    case ValueClass::Zero:
        return zero;
    case ValueClass::Flushed:
        return flushed;
    case ValueClass::Subnormal:
        return subnormal;
    case ValueClass::Normal:
        return normal;
    case ValueClass::Saturating:
        return overflow;
    case ValueClass::Inf:
    case ValueClass::NaN:
        return nonfinite;
    }
    return text;
}

QColor Theme::formatColor(FormatId format) const
{
    switch (format) {
    case FormatId::Fp32:
    case FormatId::Tf32:
        return textDim;
    case FormatId::Fp16:
        return normal;
    case FormatId::Bf16:
        return dark ? QColor(0xa5, 0x8c, 0xf5) : QColor(0x62, 0x45, 0xc4);
    case FormatId::Fp8E4M3:
    case FormatId::Fp8E5M2:
        return accent;
    }
    return text;
}

const std::array<QRgb, 256>& Theme::density() const
{
    static const auto onDark = gradient(QColor(0x13, 0x1d, 0x3c), QColor(0x7b, 0x7d, 0x7c), QColor(0xff, 0xe9, 0x4a));
    static const auto onLight = gradient(QColor(0xfb, 0xf1, 0xc0), QColor(0x96, 0x97, 0x90), QColor(0x0a, 0x22, 0x5c));
    return dark ? onDark : onLight;
}

QPalette Theme::palette() const
{
    QPalette p;
    p.setColor(QPalette::Window, window);
    p.setColor(QPalette::WindowText, text);
    p.setColor(QPalette::Base, plotArea);
    p.setColor(QPalette::AlternateBase, panel);
    p.setColor(QPalette::Text, text);
    p.setColor(QPalette::PlaceholderText, textDim);
    p.setColor(QPalette::Button, control);
    p.setColor(QPalette::ButtonText, text);
    p.setColor(QPalette::BrightText, error);
    p.setColor(QPalette::ToolTipBase, readout.rgb());
    p.setColor(QPalette::ToolTipText, text);
    p.setColor(QPalette::Highlight, accent);
    p.setColor(QPalette::HighlightedText, dark ? QColor(0x0b, 0x12, 0x1c) : QColor(Qt::white));
    p.setColor(QPalette::Link, accent);
    p.setColor(QPalette::LinkVisited, accent);
    p.setColor(QPalette::Light, dark ? control.lighter(130) : QColor(Qt::white));
    p.setColor(QPalette::Midlight, dark ? control.lighter(115) : control);
    p.setColor(QPalette::Mid, panelBorder);
    p.setColor(QPalette::Dark, dark ? window.darker(130) : panelBorder.darker(125));
    p.setColor(QPalette::Shadow, dark ? QColor(Qt::black) : panelBorder.darker(170));
    const QColor faint = dark ? QColor(0x66, 0x6e, 0x7a) : QColor(0x9a, 0xa2, 0xae);
    for (const QPalette::ColorRole role : {QPalette::WindowText, QPalette::Text, QPalette::ButtonText})
        p.setColor(QPalette::Disabled, role, faint);
    p.setColor(QPalette::Disabled, QPalette::Highlight, panelBorder);
    return p;
}

QString Theme::styleSheet() const
{
    return QStringLiteral("QToolTip { color: %1; background: %2; border: 1px solid %3; padding: 4px; }"
                          "QDockWidget { color: %1; }"
                          "QMainWindow::separator { background: %4; width: 5px; height: 5px; }"
                          "QMainWindow::separator:hover { background: %5; }")
        .arg(text.name(), QColor(readout.rgb()).name(), readoutBorder.name(), window.name(), accent.name());
}

const Theme& darkTheme()
{
    static const Theme theme = makeDark();
    return theme;
}

const Theme& paperTheme()
{
    static const Theme theme = [] {
        Theme t = lightTheme();
        t.window = t.panel = t.plotArea = QColor(Qt::white);
        return t;
    }();
    return theme;
}

const Theme& lightTheme()
{
    static const Theme theme = makeLight();
    return theme;
}

ThemeManager& ThemeManager::instance()
{
    static ThemeManager manager;
    return manager;
}

ThemeManager::ThemeManager() { m_dark = systemIsDark(); }

const Theme& ThemeManager::theme() const { return m_dark ? darkTheme() : lightTheme(); }

void ThemeManager::setChoice(ThemeChoice choice)
{
    m_choice = choice;
    if (qApp != nullptr) {
        qApp->removeEventFilter(this);
        qApp->installEventFilter(this); // a change of the system's theme arrives as an event
    }
    apply();
}

bool ThemeManager::eventFilter(QObject* watched, QEvent* event)
{
    const bool themeChange = event->type() == QEvent::ThemeChange;
    if (themeChange && !m_applying && m_choice == ThemeChoice::System)
        apply();
    return QObject::eventFilter(watched, event);
}

bool ThemeManager::systemIsDark()
{
    if (qApp == nullptr)
        return true;
#if QT_VERSION >= QT_VERSION_CHECK(6, 5, 0)
    if (QGuiApplication::styleHints()->colorScheme() != Qt::ColorScheme::Unknown)
        return QGuiApplication::styleHints()->colorScheme() == Qt::ColorScheme::Dark;
#endif
    // An empty palette gives the system's own back; ours is set again afterwards.
    m_applying = true;
    const QPalette ours = QApplication::palette();
    QApplication::setPalette(QPalette());
    const bool dark = QApplication::palette().color(QPalette::Window).lightness() < 128;
    QApplication::setPalette(ours);
    m_applying = false;
    return dark;
}

void ThemeManager::apply()
{
    const bool dark = m_choice == ThemeChoice::System ? systemIsDark() : m_choice == ThemeChoice::Dark;
    m_dark = dark;
    m_applying = true;
    QApplication::setPalette(theme().palette());
    if (qApp != nullptr)
        qApp->setStyleSheet(theme().styleSheet());
    m_applying = false;
    emit changed();
}

} // namespace halfscope
