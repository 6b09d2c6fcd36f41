// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/dialogs/picture_dialog.h"

#include <QCheckBox>
#include <QComboBox>
#include <QDialogButtonBox>
#include <QFormLayout>
#include <QHBoxLayout>
#include <QLabel>
#include <QPushButton>
#include <QSignalBlocker>
#include <QSpinBox>
#include <QVBoxLayout>
#include <cmath>

#include "ui/number_text.h"

namespace halfscope {

namespace {

constexpr double kMillimetresPerInch = 25.4;
constexpr int kLeast = 40; // mm
constexpr int kMost = 600;

int toMillimetres(int logicalPixels)
{
    return static_cast<int>(std::lround(logicalPixels / kLogicalDotsPerInch * kMillimetresPerInch));
}

int toLogicalPixels(int millimetres)
{
    return static_cast<int>(std::lround(millimetres / kMillimetresPerInch * kLogicalDotsPerInch));
}

} // namespace

ExportOptions PictureChoice::options() const
{
    ExportOptions options;
    if (!millimetres.isEmpty()) {
        options.size = QSize(toLogicalPixels(millimetres.width()), toLogicalPixels(millimetres.height()));
    }
    options.scale = dotsPerInch / kLogicalDotsPerInch;
    options.paper = white;
    return options;
}

PictureDialog::PictureDialog(const QString& plotTitle, QSize onScreen, const PictureChoice& choice, QWidget* parent)
    : QDialog(parent),
      m_onScreen(onScreen),
      m_size(new QComboBox),
      m_width(new QSpinBox),
      m_height(new QSpinBox),
      m_resolution(new QComboBox),
      m_white(new QCheckBox(tr("White background"))),
      m_summary(new QLabel)
{
    setWindowTitle(tr("Save plot"));
    m_size->addItem(tr("As on screen"), QSize());
    m_size->addItem(tr("One column of a paper"), QSize(85, 60));
    m_size->addItem(tr("Width of a page"), QSize(170, 85));
    m_size->addItem(tr("Slide"), QSize(254, 143));
    m_size->addItem(tr("Of your own"), QSize(-1, -1));
    m_size->setAccessibleName(tr("Size"));
    m_size->setObjectName(QStringLiteral("size"));
    for (QSpinBox* side : {m_width, m_height}) {
        side->setRange(kLeast, kMost);
        side->setSuffix(tr(" mm"));
        connect(side, &QSpinBox::valueChanged, this, [this] {
            m_size->setCurrentIndex(m_size->count() - 1);
            describe();
        });
    }
    m_width->setAccessibleName(tr("Width"));
    m_width->setObjectName(QStringLiteral("width"));
    m_height->setAccessibleName(tr("Height"));
    m_height->setObjectName(QStringLiteral("height"));
    for (const int dots : {96, 150, 300, 600}) {
        m_resolution->addItem(tr("%1 dpi").arg(dots), dots);
    }
    m_resolution->setAccessibleName(tr("Resolution"));
    m_resolution->setObjectName(QStringLiteral("resolution"));
    m_white->setAccessibleName(m_white->text());
    m_white->setObjectName(QStringLiteral("white"));
    m_summary->setObjectName(QStringLiteral("summary"));
    m_summary->setProperty("dim", true);

    const int preset = choice.millimetres.isEmpty() ? 0 : m_size->findData(choice.millimetres);
    m_size->setCurrentIndex(preset < 0 ? m_size->count() - 1 : preset);
    sizeChosen();
    if (preset < 0) {
        m_width->setValue(choice.millimetres.width());
        m_height->setValue(choice.millimetres.height());
    }
    m_resolution->setCurrentIndex(std::max(0, m_resolution->findData(choice.dotsPerInch)));
    m_white->setChecked(choice.white);

    auto* title = new QLabel(plotTitle);
    QFont bold = title->font();
    bold.setBold(true);
    title->setFont(bold);
    auto* sides = new QHBoxLayout;
    sides->addWidget(m_width, 1);
    sides->addWidget(new QLabel(QStringLiteral("×")));
    sides->addWidget(m_height, 1);
    auto* form = new QFormLayout;
    form->addRow(tr("Size"), m_size);
    form->addRow(QString(), sides);
    form->addRow(tr("Resolution"), m_resolution);
    form->addRow(QString(), m_white);
    auto* buttons = new QDialogButtonBox;
    QPushButton* save = buttons->addButton(tr("Save as…"), QDialogButtonBox::AcceptRole);
    save->setDefault(true);
    save->setAccessibleName(save->text());
    QPushButton* cancel = buttons->addButton(tr("Cancel"), QDialogButtonBox::RejectRole);
    cancel->setAccessibleName(cancel->text());
    auto* column = new QVBoxLayout(this);
    column->setSpacing(10);
    column->addWidget(title);
    column->addLayout(form);
    column->addWidget(m_summary);
    column->addWidget(buttons);

    connect(m_size, &QComboBox::currentIndexChanged, this, &PictureDialog::sizeChosen);
    connect(m_resolution, &QComboBox::currentIndexChanged, this, &PictureDialog::describe);
    connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
    connect(buttons, &QDialogButtonBox::accepted, this, [this] {
        emit chosen();
        accept();
    });
    describe();
}

void PictureDialog::sizeChosen()
{
    QSize size = m_size->currentData().toSize();
    if (m_size->currentIndex() == 0) {
        size = QSize(toMillimetres(m_onScreen.width()), toMillimetres(m_onScreen.height()));
    }
    if (size.width() > 0) {
        const QSignalBlocker width(m_width);
        const QSignalBlocker height(m_height);
        m_width->setValue(size.width());
        m_height->setValue(size.height());
    }
    describe();
}

PictureChoice PictureDialog::choice() const
{
    PictureChoice made;
    if (m_size->currentIndex() != 0) {
        made.millimetres = QSize(m_width->value(), m_height->value());
    }
    made.dotsPerInch = m_resolution->currentData().toInt();
    made.white = m_white->isChecked();
    return made;
}

void PictureDialog::describe()
{
    const ExportOptions options = choice().options();
    const QSize pixels = (QSizeF(options.size.isValid() ? options.size : m_onScreen) * options.scale).toSize();
    m_summary->setText(tr("PNG: %1 × %2 pixels. SVG and PDF: %3 × %4 mm, sharp at any size.")
                           .arg(pixels.width())
                           .arg(pixels.height())
                           .arg(m_width->value())
                           .arg(m_height->value()));
}

QString PictureDialog::summary() const { return m_summary->text(); }

} // namespace halfscope
