// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panels/example_view.h"

#include <QEvent>
#include <QFontDatabase>
#include <QHBoxLayout>
#include <QLabel>
#include <QPainter>
#include <QVBoxLayout>
#include <algorithm>
#include <cmath>
#include <numeric>

#include "engine/data/patches.h"
#include "ui/number_text.h"
#include "ui/plots/held_out_series.h"
#include "ui/theme.h"

namespace halfscope {

namespace {

constexpr int kMostBars = 10;
constexpr int kImageSide = 128; // pixels of the window, about

} // namespace

QImage exampleImage(const DatasetInfo& info, const std::vector<float>& patches)
{
    if (patches.empty() || info.imageWidth == 0)
        return {};
    const std::vector<std::uint8_t> pixels = pixelsOf(info, patches.data());
    const bool grey = info.imageChannels == 1;
    return QImage(pixels.data(), info.imageWidth, info.imageHeight, info.imageWidth * info.imageChannels,
                  grey ? QImage::Format_Grayscale8 : QImage::Format_RGB888)
        .copy(); // the pixels go
}

ProbabilityBars::ProbabilityBars(QWidget* parent) : QWidget(parent)
{
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
    setAccessibleName(tr("Probabilities of the classes"));
}

void ProbabilityBars::setPrediction(const QStringList& classes, const Prediction& prediction)
{
    m_classes = classes;
    m_prediction = prediction;
    m_shown.clear();
    const auto count = static_cast<int>(prediction.probabilities.size());
    QList<int> all(count);
    std::iota(all.begin(), all.end(), 0);
    if (count > kMostBars) {
        // The likeliest, and the truth in any case; then again in the order of the classes, which stays.
        std::stable_sort(all.begin(), all.end(), [&](int a, int b) {
            return prediction.probabilities[static_cast<std::size_t>(a)] >
                   prediction.probabilities[static_cast<std::size_t>(b)];
        });
        const auto truth = all.indexOf(prediction.target);
        if (truth >= kMostBars)
            all.swapItemsAt(kMostBars - 1, truth);
        all.resize(kMostBars);
        std::sort(all.begin(), all.end());
    }
    m_shown = all;
    QStringList words;
    for (const int c : m_shown) {
        words << tr("%1: %2").arg(m_classes.value(c),
                                  shareText(prediction.probabilities[static_cast<std::size_t>(c)], 1.0));
    }
    setToolTip(words.join(QLatin1Char('\n')));
    setAccessibleDescription(words.join(QStringLiteral("; ")));
    updateGeometry();
    update();
}

QSize ProbabilityBars::sizeHint() const
{
    const auto lines = std::max<qsizetype>(m_shown.size(), 2);
    return {220, static_cast<int>(lines) * (fontMetrics().height() + 3)};
}

void ProbabilityBars::paintEvent(QPaintEvent*)
{
    QPainter painter(this);
    const Theme& theme = currentTheme();
    const QFontMetrics metrics = fontMetrics();
    const int line = metrics.height() + 3;
    const int mark = metrics.horizontalAdvance(QStringLiteral("✓ "));
    int names = 0;
    for (const int c : m_shown)
        names = std::max(names, metrics.horizontalAdvance(m_classes.value(c)));
    names = std::min(names + 2, width() * 2 / 5); // advances are rounded, and a name that fits is not to be cut
    const int numbers = metrics.horizontalAdvance(QStringLiteral("<0.01 %"));
    const int left = mark + names + 6;
    const double room = std::max(10, width() - left - numbers - 6);
    for (qsizetype i = 0; i < m_shown.size(); ++i) {
        const int c = m_shown.at(i);
        const auto share = static_cast<double>(m_prediction.probabilities[static_cast<std::size_t>(c)]);
        const QRectF row(0, static_cast<double>(i) * line, width(), line);
        const bool truth = c == m_prediction.target;
        painter.setPen(truth || c == m_prediction.predicted ? theme.text : theme.textDim);
        if (truth)
            painter.drawText(QRectF(0, row.top(), mark, line), Qt::AlignLeft | Qt::AlignVCenter, QStringLiteral("✓"));
        painter.drawText(QRectF(mark, row.top(), names, line), Qt::AlignRight | Qt::AlignVCenter,
                         metrics.elidedText(m_classes.value(c), Qt::ElideRight, names));
        const QRectF track(left, row.top() + line * 0.24, room, line * 0.52);
        painter.fillRect(track, theme.grid);
        if (std::isfinite(share)) {
            // Blue for the truth, amber for what it is taken for instead: as the lines of held-out and training.
            const QColor color = truth                         ? heldOutStyle(theme).color
                                 : c == m_prediction.predicted ? theme.lossSmooth
                                                               : theme.textDim;
            painter.fillRect(QRectF(track.left(), track.top(), room * share, track.height()), color);
        }
        painter.drawText(QRectF(width() - numbers, row.top(), numbers, line), Qt::AlignRight | Qt::AlignVCenter,
                         std::isfinite(share) ? shareText(share, 1.0) : tr("NaN"));
    }
}

ExampleView::ExampleView(QWidget* parent)
    : QWidget(parent),
      m_image(new QLabel),
      m_text(new QLabel),
      m_verdict(new QLabel),
      m_when(new QLabel),
      m_bars(new ProbabilityBars)
{
    m_image->setAlignment(Qt::AlignTop | Qt::AlignLeft);
    m_text->setFont(QFontDatabase::systemFont(QFontDatabase::FixedFont));
    m_text->setTextFormat(Qt::PlainText);
    m_text->setWordWrap(true);
    m_text->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
    m_text->setAccessibleName(tr("Text of the example"));
    m_verdict->setTextFormat(Qt::PlainText);
    m_verdict->setWordWrap(true);
    QFont bold = m_verdict->font();
    bold.setBold(true);
    m_verdict->setFont(bold);
    m_when->setProperty("dim", true);
    auto* head = new QHBoxLayout;
    head->setSpacing(8);
    head->addWidget(m_verdict, 1);
    head->addWidget(m_when, 0, Qt::AlignTop);
    auto* words = new QVBoxLayout;
    words->setSpacing(6);
    words->addLayout(head);
    words->addWidget(m_text);
    words->addWidget(m_bars);
    words->addStretch(1);
    auto* row = new QHBoxLayout(this);
    row->setContentsMargins(0, 0, 0, 0);
    row->setSpacing(10);
    row->addWidget(m_image, 0, Qt::AlignTop);
    row->addLayout(words, 1);
    clear({});
}

void ExampleView::show(const DatasetInfo& info, const Prediction& prediction, std::int64_t step)
{
    QStringList classes;
    for (const std::string& name : info.classNames)
        classes << QString::fromStdString(name);
    const QString truth = classes.value(prediction.target);
    m_verdict->setText(prediction.predicted < 0 ? tr("%1; the outputs are not finite").arg(truth)
                       : prediction.predicted == prediction.target
                           ? tr("%1, recognised").arg(truth)
                           : tr("%1, taken for %2").arg(truth, classes.value(prediction.predicted)));
    m_when->setText(tr("after step %1").arg(stepText(step)));
    m_picture = exampleImage(info, prediction.patches);
    scaleImage();
    m_text->setText(QString::fromStdString(prediction.text));
    m_text->setVisible(!prediction.text.empty());
    m_bars->setPrediction(classes, prediction);
    m_bars->setVisible(true);
}

void ExampleView::clear(const QString& why)
{
    m_picture = {};
    m_image->setVisible(false);
    m_text->setVisible(false);
    m_bars->setVisible(false);
    m_when->clear();
    m_verdict->setText(why);
}

QString ExampleView::verdict() const { return m_verdict->text(); }
QString ExampleView::when() const { return m_when->text(); }

// Whole pixels of the screen to a pixel of the example, so that all are of one size.
void ExampleView::scaleImage()
{
    m_image->setVisible(!m_picture.isNull());
    if (m_picture.isNull())
        return;
    const double ratio = devicePixelRatioF();
    const int longest = std::max(m_picture.width(), m_picture.height());
    const int times = std::max(1, static_cast<int>(kImageSide * ratio) / longest);
    QImage scaled =
        m_picture.width() * times > 2 * kImageSide * ratio
            ? m_picture.scaled(QSize(kImageSide, kImageSide) * ratio, Qt::KeepAspectRatio, Qt::SmoothTransformation)
            : m_picture.scaled(m_picture.size() * times, Qt::KeepAspectRatio, Qt::FastTransformation);
    scaled.setDevicePixelRatio(ratio);
    m_image->setPixmap(QPixmap::fromImage(scaled));
    m_image->setAccessibleName(tr("Image of the example"));
}

void ExampleView::changeEvent(QEvent* event)
{
    QWidget::changeEvent(event);
    if (event->type() == QEvent::PaletteChange || event->type() == QEvent::FontChange)
        m_bars->update();
}

} // namespace halfscope
