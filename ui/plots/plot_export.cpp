// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/plots/plot_export.h"

#include <QBuffer>
#include <QClipboard>
#include <QDir>
#include <QFileInfo>
#include <QGuiApplication>
#include <QMimeData>
#include <QPageSize>
#include <QPdfWriter>
#include <QRegularExpression>
#include <QSvgGenerator>
#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string_view>

#include "engine/io/atomic_file.h"

namespace halfscope {

namespace {

constexpr int kMaximumSide = 16384; // pixels of an exported picture

QSize sizeOf(const Plot& plot, const ExportOptions& options)
{
    const QSize size = options.size.isValid() ? options.size : plot.size();
    return size.expandedTo({80, 60}).boundedTo({kMaximumSide, kMaximumSide});
}

// Export look for as long as it lives.
class ExportLook {
public:
    ExportLook(Plot& plot, const ExportOptions& options) : m_plot(plot)
    {
        if (!m_plot.isVisible())
            m_plot.refresh(); // nobody has told it what is new
        m_plot.setExporting(true, options.paper);
    }
    ~ExportLook()
    {
        m_plot.setExporting(false);
        if (m_plot.isVisible())
            m_plot.replot(QCustomPlot::rpQueuedReplot); // the layout was another one meanwhile
    }
    ExportLook(const ExportLook&) = delete;
    ExportLook& operator=(const ExportLook&) = delete;

private:
    Plot& m_plot;
};

} // namespace

QImage PlotExport::image(Plot& plot, const ExportOptions& options)
{
    const ExportLook look(plot, options);
    const QSize size = sizeOf(plot, options);
    const double scale = std::clamp(options.scale, 0.25, double(kMaximumSide) / std::max(size.width(), size.height()));
    QImage image((QSizeF(size) * scale).toSize(), QImage::Format_RGB32);
    image.fill(plot.background());
    QCPPainter painter(&image);
    painter.scale(scale, scale);
    plot.toPainter(&painter, size.width(), size.height());
    painter.end();
    const int dotsPerMeter = static_cast<int>(std::lround(kLogicalDotsPerInch * scale / 0.0254));
    image.setDotsPerMeterX(dotsPerMeter);
    image.setDotsPerMeterY(dotsPerMeter);
    return image;
}

QByteArray PlotExport::svg(Plot& plot, const ExportOptions& options)
{
    const ExportLook look(plot, options);
    const QSize size = sizeOf(plot, options);
    QBuffer buffer;
    QSvgGenerator generator;
    generator.setOutputDevice(&buffer);
    generator.setSize(size);
    generator.setViewBox(QRect(QPoint(), size));
    generator.setTitle(plot.title());
    QCPPainter painter;
    painter.begin(&generator);
    painter.setMode(QCPPainter::pmVectorized);
    painter.setMode(QCPPainter::pmNoCaching);
    plot.toPainter(&painter, size.width(), size.height());
    painter.end();
    // The fonts of this machine are not those of the reader's.
    static const QRegularExpression family(QStringLiteral("font-family=\"[^\"]*\""));
    return QString::fromUtf8(buffer.data()).replace(family, QStringLiteral("font-family=\"sans-serif\"")).toUtf8();
}

QByteArray PlotExport::pdf(Plot& plot, const ExportOptions& options)
{
    const ExportLook look(plot, options);
    const QSize size = sizeOf(plot, options);
    QBuffer buffer;
    buffer.open(QIODevice::WriteOnly);
    {
        QPdfWriter writer(&buffer);
        constexpr int kDotsPerInch = 96;
        writer.setResolution(kDotsPerInch);
        writer.setTitle(plot.title());
        writer.setCreator(QStringLiteral("HalfScope"));
        writer.setPageSize(QPageSize(QSizeF(size) / kDotsPerInch, QPageSize::Inch, {}, QPageSize::ExactMatch));
        writer.setPageMargins(QMarginsF());
        QCPPainter painter;
        painter.begin(&writer);
        painter.setMode(QCPPainter::pmVectorized);
        painter.setMode(QCPPainter::pmNoCaching);
        plot.toPainter(&painter, size.width(), size.height());
        painter.end();
    }
    return buffer.data();
}

PaintedPlot PlotExport::paint(Plot& plot, const QString& path, ExportFormat format, const ExportOptions& options)
{
    switch (format) {
    case ExportFormat::Png:
        return {path, image(plot, options), {}};
    case ExportFormat::Svg:
        return {path, {}, svg(plot, options)};
    case ExportFormat::Pdf:
        return {path, {}, pdf(plot, options)};
    case ExportFormat::Csv:
        break;
    }
    if (!plot.isVisible())
        plot.refresh();
    return {path, {}, plot.visibleCsv()};
}

QByteArray PlotExport::encode(const PaintedPlot& painted)
{
    if (painted.image.isNull())
        return painted.text;
    QByteArray data;
    QBuffer buffer(&data);
    if (!painted.image.save(&buffer, "PNG"))
        throw std::runtime_error(tr("The picture for “%1” could not be made; try a smaller size.")
                                     .arg(QDir::toNativeSeparators(painted.path))
                                     .toStdString());
    return data;
}

std::optional<QString> PlotExport::save(Plot& plot, const QString& path, ExportFormat format,
                                        const ExportOptions& options)
{
    try {
        const QByteArray data = encode(paint(plot, path, format, options));
        AtomicFile file(path.toStdString());
        file.write(std::string_view(data.constData(), static_cast<std::size_t>(data.size())));
        file.publish();
        return std::nullopt;
    } catch (const std::runtime_error& error) {
        return QString::fromStdString(error.what());
    }
}

std::optional<QString> PlotExport::save(Plot& plot, const QString& path, const ExportOptions& options)
{
    if (const auto format = formatOf(path))
        return save(plot, path, *format, options);
    return tr("“%1” does not say what kind of file to write; end its name in .png, .svg, .pdf or .csv.")
        .arg(QDir::toNativeSeparators(path));
}

void PlotExport::copy(Plot& plot, double scale)
{
    auto data = std::make_unique<QMimeData>();
    data->setImageData(image(plot, {{}, scale, false}));
    data->setText(QString::fromUtf8(plot.visibleCsv()));
    QGuiApplication::clipboard()->setMimeData(data.release()); // the clipboard owns it
}

std::optional<ExportFormat> PlotExport::formatOf(const QString& path)
{
    const QString suffix = QFileInfo(path).suffix().toLower();
    if (suffix == QLatin1String("png"))
        return ExportFormat::Png;
    if (suffix == QLatin1String("svg"))
        return ExportFormat::Svg;
    if (suffix == QLatin1String("pdf"))
        return ExportFormat::Pdf;
    if (suffix == QLatin1String("csv"))
        return ExportFormat::Csv;
    return std::nullopt;
}

QString PlotExport::fileDialogFilter()
{
    return tr("PNG picture (*.png)") + QStringLiteral(";;") + tr("SVG drawing (*.svg)") + QStringLiteral(";;") +
           tr("PDF document (*.pdf)") + QStringLiteral(";;") + tr("CSV table (*.csv)");
}

QString PlotExport::suggestedName(const Plot& plot, ExportFormat format)
{
    static const QRegularExpression notWord(QStringLiteral("[^\\p{L}\\p{N}]+"));
    QString name = plot.name().toLower().replace(notWord, QStringLiteral("-"));
    while (name.endsWith(QLatin1Char('-')))
        name.chop(1);
    switch (format) {
    case ExportFormat::Png:
        return name + QStringLiteral(".png");
    case ExportFormat::Svg:
        return name + QStringLiteral(".svg");
    case ExportFormat::Pdf:
        return name + QStringLiteral(".pdf");
    case ExportFormat::Csv:
        return name + QStringLiteral(".csv");
    }
    return name;
}

} // namespace halfscope
