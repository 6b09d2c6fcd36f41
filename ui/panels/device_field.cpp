// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panels/device_field.h"

#include <QLabel>
#include <QVBoxLayout>

#include "engine/core/memory.h"
#include "ui/models/device_list.h"
#include "ui/panels/choice_combo.h"
#include "ui/panels/status_text.h"

namespace halfscope {

namespace {

const auto kAutomatic = QStringLiteral("auto");

// One text for the two settings.
QString keyOf(const QString& backend, const QString& device)
{
    return device.isEmpty() ? backend : backend + QLatin1Char('@') + device;
}
QString keyOf(const DeviceInfo& device)
{
    return keyOf(QString::fromStdString(device.backend), QString::fromStdString(device.id));
}

QString formatNames(const std::vector<FormatId>& native, bool those)
{
    QStringList names;
    for (const FormatId format : {FormatId::Fp32, FormatId::Tf32, FormatId::Fp16, FormatId::Bf16, FormatId::Fp8E4M3}) {
        const bool is = std::find(native.begin(), native.end(), format) != native.end();
        if (is == those) {
            const std::string_view name = floatFormat(format).name;
            names << (format == FormatId::Fp8E4M3
                          ? QStringLiteral("FP8")
                          : QString::fromUtf8(name.data(), static_cast<qsizetype>(name.size())));
        }
    }
    return names.join(QStringLiteral(", "));
}

} // namespace

DeviceField::DeviceField(QWidget* parent) : QWidget(parent), m_combo(new ChoiceCombo), m_note(new QLabel)
{
    m_combo->setObjectName(QStringLiteral("backend"));
    m_note->setProperty("dim", true);
    m_note->setWordWrap(true);
    m_note->setTextFormat(Qt::PlainText);
    m_note->setAlignment(Qt::AlignLeft | Qt::AlignTop);
    m_note->setMinimumHeight(2 * m_note->fontMetrics().height());
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(4);
    column->addWidget(m_combo);
    column->addWidget(m_note);
    connect(m_combo, &QComboBox::activated, this, &DeviceField::choose);
    connect(&DeviceList::instance(), &DeviceList::found, this, [this] {
        fill();
        emit changed();
    });
    DeviceList::instance().look();
    fill();
}

void DeviceField::setValue(const QString& backend, const QString& device)
{
    m_backend = backend;
    m_device = backend == kAutomatic || backend == QLatin1String(kGpuBackend) ? device : QString();
    // One that was remembered is meant as such; it is only taken as automatic where it is gone.
    if (m_backend == kAutomatic && !m_device.isEmpty()) {
        m_backend = QString::fromLatin1(kGpuBackend);
    }
    fill();
}

void DeviceField::fill()
{
    QList<SettingChoice> choices = {
        {kAutomatic, tr("Automatic"), tr("The GPU where there is one that can be used, else the CPU")}};
    for (const DeviceInfo& device : DeviceList::instance().devices()) {
        QString text = QString::fromStdString(device.name);
        if (device.backend == "cpu" && !device.native.empty()) {
            text = tr("CPU · %1").arg(text);
        } else if (!device.id.empty()) {
            text = tr("%1 · %2").arg(text, QString::fromStdString(device.id));
            if (device.bytes) {
                text += QStringLiteral(" · ") + byteText(*device.bytes);
            }
        }
        choices.push_back({keyOf(device), text, QString::fromStdString(device.reason), device.reason.empty()});
    }
    const QString wanted = keyOf(m_backend, m_device);
    m_combo->setChoices(choices);
    int index = m_combo->findData(wanted);
    if (index < 0 && m_backend == QLatin1String(kGpuBackend)) { // the first, or by its number
        const QString key = QString::fromLatin1(kGpuBackend) + QLatin1Char('@');
        int number = 0;
        for (int i = 0; i < m_combo->count() && index < 0; ++i) {
            if (m_combo->itemData(i).toString().startsWith(key) && number++ == m_device.toInt() &&
                !m_device.contains(QLatin1Char(':'))) {
                index = i;
            }
        }
    }
    if (index < 0) { // nothing is changed behind somebody's back
        m_combo->addItem(DeviceList::instance().isLooking() ? tr("GPU %1").arg(m_device)
                                                            : tr("GPU %1, which is not here").arg(m_device),
                         wanted);
        index = m_combo->count() - 1;
    }
    m_combo->setCurrentIndex(index);
    explain();
}

void DeviceField::choose()
{
    const QString key = m_combo->currentData().toString();
    m_backend = key.section(QLatin1Char('@'), 0, 0);
    m_device = key.section(QLatin1Char('@'), 1);
    explain();
    emit changed();
}

const DeviceInfo* DeviceField::chosen() const
{
    const QString key = m_combo->currentData().toString();
    for (const DeviceInfo& device : DeviceList::instance().devices()) {
        if (keyOf(device) == key) {
            return &device;
        }
    }
    return nullptr;
}

void DeviceField::explain()
{
    QStringList lines;
    const DeviceInfo* device = chosen();
    if (device != nullptr && !device->reason.empty()) {
        lines << QString::fromStdString(device->reason);
    } else if (device != nullptr && !device->native.empty()) {
        const QString emulated = formatNames(device->native, false);
        lines << (emulated.isEmpty()
                      ? tr("Natively: %1.").arg(formatNames(device->native, true))
                      : tr("Natively: %1. Emulated exactly: %2.").arg(formatNames(device->native, true), emulated));
    } else if (DeviceList::instance().isLooking()) {
        lines << tr("Looking for devices…");
    }
    for (const DeviceInfo& other : DeviceList::instance().devices()) {
        if (other.backend == kGpuBackend && !other.reason.empty() && &other != device) {
            lines << tr("No GPU: %1").arg(QString::fromStdString(other.reason));
        }
    }
    m_note->setText(lines.join(QLatin1Char('\n')));
}

QString DeviceField::note() const { return m_note->text(); }

std::optional<double> DeviceField::memory() const
{
    const DeviceInfo* device = chosen();
    if (device == nullptr || device->backend != kGpuBackend) {
        return availableMemory();
    }
    return device->bytes;
}

} // namespace halfscope
