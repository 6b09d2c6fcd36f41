// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/models/layers_model.h"

#include <QRegularExpression>
#include <QStringList>
#include <cmath>
#include <limits>

#include "engine/model/precision_plan.h"
#include "ui/models/setting_labels.h"
#include "ui/number_text.h"
#include "ui/session_controller.h"

namespace halfscope {

namespace {

constexpr double kNothing = std::numeric_limits<double>::quiet_NaN();
constexpr int kCellDigits = 2;        // the whole table is to be in view; tool tip and copy have more
constexpr int kCosineDigits = 4;      // near one all the time
constexpr double kAlarmCosine = 0.95; // as the advisor's
const auto kDash = QStringLiteral("–");

std::uint64_t overflowed(const ClassCounts& classes)
{
    return classes[ValueClass::Saturating] + classes[ValueClass::Inf] + classes[ValueClass::NaN];
}

// Headroom is about FP16's window unless the tensor has a narrower range of its own: in FP32 or BF16 there is always
// plenty, and the question is what would happen in FP16.
bool judgedAsFp16(FormatId format)
{
    return format == FormatId::Fp32 || format == FormatId::Tf32 || format == FormatId::Bf16;
}

// Fits the column; the tool tip has the exact number.
QString compactCount(std::uint64_t count)
{
    if (count < 100'000) {
        return countText(count);
    }
    const auto in = [count](double unit, const QString& name) {
        return QStringLiteral("≈") + roundedText(static_cast<double>(count) / unit, 3) + name;
    };
    return count < 1'000'000       ? in(1e3, QStringLiteral("k"))
           : count < 1'000'000'000 ? in(1e6, QStringLiteral("M"))
                                   : in(1e9, QStringLiteral("G"));
}

QString signedRounded(double value, int significant = 3)
{
    QString text = roundedText(value, significant);
    static const QRegularExpression padded(QStringLiteral("e([+-])0+(?=[0-9])"));
    text.replace(padded, QStringLiteral("e\\1")); // "1e-07" is wider than a column need be
    return text.replace(QLatin1Char('-'), QChar(0x2212));
}

QString formatName(FormatId format)
{
    const std::string_view name = floatFormat(format).name;
    return QString::fromUtf8(name.data(), static_cast<qsizetype>(name.size()));
}

QString formatKey(FormatId format)
{
    const std::string_view key = floatFormat(format).key;
    return QString::fromUtf8(key.data(), static_cast<qsizetype>(key.size()));
}

// Of a module: "FP8" stands for both of its formats.
QString moduleFormat(FormatId format)
{
    const std::string_view name = moduleFormatName(format);
    return QString::fromUtf8(name.data(), static_cast<qsizetype>(name.size()));
}

QString moduleFormatKeyText(FormatId format)
{
    const std::string_view key = moduleFormatKey(format);
    return QString::fromUtf8(key.data(), static_cast<qsizetype>(key.size()));
}

} // namespace

LayersModel::LayersModel(SessionController& controller, QObject* parent)
    : QAbstractTableModel(parent), m_controller(controller)
{
    restart();
    connect(&controller, &SessionController::runStarted, this, &LayersModel::restart);
    connect(&controller, &SessionController::stepsAdded, this, &LayersModel::countSkips);
    connect(&controller, &SessionController::snapshotAdded, this, &LayersModel::countOverflows);
    const auto formatChanged = [this] {
        if (m_rows > 0) {
            emit dataChanged(index(0, 0), index(m_rows - 1, ColumnCount - 1));
        }
    };
    connect(&controller, &SessionController::liveChanged, this, formatChanged);
    connect(&controller, &SessionController::selectionChanged, this, formatChanged);
    connect(&controller, &SessionController::pendingChanged, this, [this](const QString& key) {
        if (key.startsWith(QLatin1String("precision")) && m_rows > 0) {
            emit dataChanged(index(0, FormatColumn), index(m_rows - 1, FormatColumn));
        }
    });
}

void LayersModel::restart()
{
    beginResetModel();
    const std::size_t modules = m_controller.run().info.modules.size();
    m_rows = static_cast<int>(modules);
    m_skips.assign(modules, 0);
    m_spikedSkips.assign(modules, 0);
    m_overflows.assign(modules, {});
    m_overflowsUntil = 0;
    endResetModel();
}

void LayersModel::countSkips(qint64 first, qint64 last)
{
    for (qint64 i = first; i <= last; ++i) {
        const StepRecord record = m_controller.run().steps[static_cast<std::size_t>(i)];
        if (record.overflowModule >= 0 && record.overflowModule < m_rows) {
            const auto module = static_cast<std::size_t>(record.overflowModule);
            ++m_skips[module];
            m_spikedSkips[module] += m_controller.run().isSpiked(record.step) ? 1 : 0;
        }
    }
}

// From the history and not from the newest snapshot alone: several may have come since.
void LayersModel::countOverflows()
{
    const HistogramHistory& history = m_controller.run().history;
    std::size_t row = history.rowCount();
    while (row > 0 && history.span(row - 1).firstStep > m_overflowsUntil) {
        --row;
    }
    for (; row < history.rowCount(); ++row) {
        history.readTaps(row, [this](int index, const SparseHistogram& tap) {
            const auto module = static_cast<std::size_t>(index / kTapCount);
            if (module < m_overflows.size()) {
                m_overflows[module][static_cast<std::size_t>(index % kTapCount)] += overflowed(tap.classes);
            }
        });
        m_overflowsUntil = history.span(row).lastStep;
    }
}

void LayersModel::refresh()
{
    if (m_rows > 0) {
        emit dataChanged(index(0, FormatColumn), index(m_rows - 1, ColumnCount - 1));
    }
}

Tap LayersModel::tap() const { return m_controller.run().selection.tap; }

int LayersModel::rowCount(const QModelIndex& parent) const { return parent.isValid() ? 0 : m_rows; }
int LayersModel::columnCount(const QModelIndex& parent) const { return parent.isValid() ? 0 : ColumnCount; }

QString LayersModel::moduleName(int row) const
{
    const std::vector<ModuleInfo>& modules = m_controller.run().info.modules; // of a run that begins: fewer, perhaps
    return static_cast<std::size_t>(row) < modules.size()
               ? QString::fromStdString(modules[static_cast<std::size_t>(row)].name)
               : QString();
}

FormatId LayersModel::formatOf(int row) const
{
    const PrecisionPlan& plan = m_controller.run().live.plan;
    return static_cast<std::size_t>(row) < plan.size() ? plan[static_cast<std::size_t>(row)] : FormatId::Fp32;
}

const TapStatistics* LayersModel::tapAt(int row) const
{
    const RunModel& run = m_controller.run();
    const TapStatistics* found = run.latest ? run.tapOf(*run.latest, row, tap()) : nullptr;
    return found != nullptr && found->statistics.count() > 0 ? found : nullptr;
}

const GradientComparison* LayersModel::comparisonAt(int row) const
{
    const std::vector<ShadowPtr>& shadows = m_controller.run().shadows;
    if (shadows.empty() || m_controller.run().live.config.shadowInterval == 0) {
        return nullptr;
    }
    const auto& modules = shadows.back()->modules;
    const auto found = std::find_if(modules.begin(), modules.end(),
                                    [row](const ShadowReport::Module& one) { return one.module == row; });
    return found == modules.end() ? nullptr : &found->gradient;
}

FormatId LayersModel::measuredFormat(int row) const
{
    const TapStatistics* found = tapAt(row);
    return found != nullptr ? found->format : formatOf(row);
}

double LayersModel::headroom(const TapStatistics& tapStatistics) const
{
    const double largest = tapStatistics.statistics.absMax;
    const double scale = scaleOf(tapStatistics);
    if (!(largest > 0) || !(scale > 0)) {
        return kNothing;
    }
    const FormatId format = judgedAsFp16(tapStatistics.format) ? FormatId::Fp16 : tapStatistics.format;
    return std::log2(floatFormat(format).overflowFrom / scale) - std::log2(largest);
}

double LayersModel::scaleOf(const TapStatistics& tapStatistics) const
{
    if (tapStatistics.ownScale > 0) {
        return static_cast<double>(tapStatistics.ownScale);
    }
    // Activations are cast as they are; only gradients carry the scale.
    return tapStatistics.tap == Tap::Activation ? 1.0 : static_cast<double>(m_controller.run().latest->scale);
}

double LayersModel::sortValue(int row, Column column) const
{
    const TapStatistics* found = tapAt(row);
    const auto module = static_cast<std::size_t>(row);
    switch (column) {
    case ModuleColumn:
    case SpectrumColumn:
        return row;
    case FormatColumn:
        return static_cast<double>(formatOf(row));
    case OverflowColumn:
        return static_cast<double>(m_overflows[module][static_cast<std::size_t>(tap())]);
    case SkipsColumn:
        return static_cast<double>(m_skips[module]);
    case CosineColumn:
        return comparisonAt(row) != nullptr ? comparisonAt(row)->cosine : kNothing;
    case ErrorColumn:
        return comparisonAt(row) != nullptr ? comparisonAt(row)->relativeError : kNothing;
    case FlushedColumn:
    case SubnormalColumn:
    case HeadroomColumn:
    case MeanColumn:
    case DeviationColumn:
    case RmsColumn:
    case ScaleColumn:
    case ColumnCount:
        break;
    }
    if (found == nullptr) {
        return kNothing;
    }
    const TensorStatistics& statistics = found->statistics;
    const auto share = [&](ValueClass c) {
        return static_cast<double>(statistics.classes[c]) / static_cast<double>(statistics.count());
    };
    switch (column) {
    case FlushedColumn:
        return share(ValueClass::Flushed);
    case SubnormalColumn:
        return share(ValueClass::Subnormal);
    case HeadroomColumn:
        return headroom(*found);
    case MeanColumn:
        return statistics.mean();
    case DeviationColumn:
        return statistics.standardDeviation();
    case ScaleColumn:
        return scaleOf(*found);
    default:
        return statistics.rms();
    }
}

double LayersModel::worst(int row) const
{
    const TapStatistics* found = tapAt(row);
    const auto skips = static_cast<double>(m_skips[static_cast<std::size_t>(row)]);
    if (found == nullptr) {
        return skips > 0 ? skips : -1.0;
    }
    // What is being lost now outranks what was; an overflow costs the whole step, a flush one value of many.
    const double now = overflowed(found->statistics.classes) > 0 ? 1e6 : 0.0;
    return now + skips + 1e3 * sortValue(row, FlushedColumn) + 10.0 * sortValue(row, SubnormalColumn);
}

QString LayersModel::display(int row, Column column) const
{
    const auto module = static_cast<std::size_t>(row);
    switch (column) {
    case ModuleColumn:
        return moduleName(row);
    case FormatColumn:
        return measuredFormat(row) == formatOf(row)
                   ? moduleFormat(formatOf(row))
                   : tr("%1 → %2").arg(moduleFormat(formatOf(row)), formatName(measuredFormat(row)));
    case OverflowColumn:
        return compactCount(m_overflows[module][static_cast<std::size_t>(tap())]);
    case SkipsColumn:
        return compactCount(static_cast<quint64>(m_skips[module]));
    case CosineColumn:
    case ErrorColumn: {
        const double value = sortValue(row, column);
        return std::isnan(value) ? kDash : signedRounded(value, column == CosineColumn ? kCosineDigits : kCellDigits);
    }
    case SpectrumColumn:
    case ColumnCount:
        return {};
    default:
        break;
    }
    const TapStatistics* found = tapAt(row);
    if (found == nullptr) {
        return kDash;
    }
    const TensorStatistics& statistics = found->statistics;
    const auto total = static_cast<double>(statistics.count());
    switch (column) {
    case FlushedColumn:
        return shareText(static_cast<double>(statistics.classes[ValueClass::Flushed]), total);
    case SubnormalColumn:
        return shareText(static_cast<double>(statistics.classes[ValueClass::Subnormal]), total);
    case HeadroomColumn: {
        const double octaves = headroom(*found);
        if (std::isnan(octaves)) {
            return kDash;
        }
        return judgedAsFp16(found->format) ? tr("(%1)").arg(octavesText(octaves)) : octavesText(octaves);
    }
    case MeanColumn:
        return signedRounded(statistics.mean(), kCellDigits);
    case DeviationColumn:
        return signedRounded(statistics.standardDeviation(), kCellDigits);
    case RmsColumn:
        return signedRounded(statistics.rms(), kCellDigits);
    case ScaleColumn:
        return shortScaleText(scaleOf(*found));
    default:
        return {};
    }
}

QString LayersModel::toolTip(int row, Column column) const
{
    const RunModel& run = m_controller.run();
    const auto module = static_cast<std::size_t>(row);
    const ModuleInfo& info = run.info.modules[module];
    QStringList lines;
    lines << (info.parameters > 0
                  ? tr("%1: %2 parameters").arg(moduleName(row), countText(static_cast<quint64>(info.parameters)))
                  : tr("%1: no parameters").arg(moduleName(row)));
    if (column == FormatColumn) {
        lines << tr("Format: %1. Click or press Enter to change it while the run goes on.")
                     .arg(moduleFormat(formatOf(row)));
        if (measuredFormat(row) != formatOf(row)) {
            const QString measured = formatName(measuredFormat(row));
            lines << (tap() == Tap::ActivationGrad
                          ? tr("Its activation gradients arrive in %1, the format of the module that reads its output; "
                               "the numbers in this row say what that does to them.")
                                .arg(measured)
                          : tr("Its %1 are rounded to %2; the numbers in this row say what that does to them.")
                                .arg(moduleTapLabel(static_cast<int>(tap())), measured));
        }
        return lines.join(QLatin1Char('\n'));
    }
    if (column == CosineColumn || column == ErrorColumn) {
        const GradientComparison* g = comparisonAt(row);
        if (g == nullptr) {
            lines << tr("Not compared with FP32.");
            return lines.join(QLatin1Char('\n'));
        }
        lines << tr("Step %1, weight gradients against those of the same batch and weights in FP32")
                     .arg(stepText(run.shadows.back()->step));
        lines << tr("Cosine %1, relative error %2").arg(valueText(g->cosine), valueText(g->relativeError));
        lines << tr("Norm %1, in FP32 %2").arg(roundedText(g->norm, 4), roundedText(g->shadowNorm, 4));
        return lines.join(QLatin1Char('\n'));
    }
    lines << (m_spikedSkips[module] > 0 ? tr("Skipped steps it caused: %1, of these by an injected spike: %2")
                                              .arg(stepText(m_skips[module]), stepText(m_spikedSkips[module]))
                                        : tr("Skipped steps it caused: %1").arg(stepText(m_skips[module])));
    const TapStatistics* found = tapAt(row);
    if (found == nullptr) {
        lines << tr("No %1 measured here.").arg(moduleTapLabel(static_cast<int>(tap())));
        return lines.join(QLatin1Char('\n'));
    }
    const TensorStatistics& statistics = found->statistics;
    const auto total = statistics.count();
    lines << tr("Step %1, %2, rounded to %3")
                 .arg(stepText(run.latest->step), moduleTapLabel(static_cast<int>(tap())), formatName(found->format));
    const auto line = [&](const QString& name, std::uint64_t count) {
        lines << tr("%1: %2 of %3 (%4)")
                     .arg(name, countText(count), countText(total),
                          shareText(static_cast<double>(count), static_cast<double>(total)));
    };
    line(tr("Zero"), statistics.classes[ValueClass::Zero]);
    line(tr("Flushed to zero"), statistics.classes[ValueClass::Flushed]);
    line(tr("Subnormal"), statistics.classes[ValueClass::Subnormal]);
    line(tr("Normal"), statistics.classes[ValueClass::Normal]);
    line(tr("Overflowing"), statistics.classes[ValueClass::Saturating]);
    line(tr("Infinite"), statistics.classes[ValueClass::Inf]);
    line(tr("NaN"), statistics.classes[ValueClass::NaN]);
    lines << tr("Overflowed since the start: %1").arg(countText(m_overflows[module][static_cast<std::size_t>(tap())]));
    lines
        << tr("Smallest and largest magnitude: %1, %2").arg(valueText(statistics.absMin), valueText(statistics.absMax));
    lines << tr("Mean %1, deviation %2, rms %3")
                 .arg(signedRounded(statistics.mean()), signedRounded(statistics.standardDeviation()),
                      signedRounded(statistics.rms()));
    const double octaves = headroom(*found);
    if (!std::isnan(octaves)) {
        lines << (judgedAsFp16(found->format) ? tr("Headroom if it were FP16: %1 octaves").arg(octavesText(octaves))
                                              : tr("Headroom: %1 octaves").arg(octavesText(octaves)));
    }
    return lines.join(QLatin1Char('\n'));
}

QVariant LayersModel::data(const QModelIndex& index, int role) const
{
    if (!checkIndex(index, CheckIndexOption::IndexIsValid | CheckIndexOption::ParentIsInvalid)) {
        return {};
    }
    const int row = index.row();
    const auto column = static_cast<Column>(index.column());
    switch (role) {
    case Qt::DisplayRole:
        return display(row, column);
    case Qt::EditRole:
        return column == FormatColumn ? data(index, FormatKeyRole) : QVariant(display(row, column));
    case Qt::ToolTipRole:
        return toolTip(row, column);
    case Qt::AccessibleTextRole:
        return tr("%1, %2: %3")
            .arg(moduleName(row), headerData(column, Qt::Horizontal, Qt::DisplayRole).toString(),
                 column == SpectrumColumn ? tr("small histogram") : display(row, column));
    case Qt::TextAlignmentRole:
        return static_cast<int>(column <= SpectrumColumn ? Qt::AlignLeft | Qt::AlignVCenter
                                                         : Qt::AlignRight | Qt::AlignVCenter);
    case SortRole:
        return sortValue(row, column);
    case CopyRole: {
        const bool rounded = column == OverflowColumn || column >= MeanColumn;
        const double value = rounded ? sortValue(row, column) : kNothing;
        return std::isnan(value) ? display(row, column) : valueText(value);
    }
    case InspectRole:
        return column <= SpectrumColumn ? kNothing : sortValue(row, column);
    case WorstRole:
        return worst(row);
    case FormatKeyRole:
        return moduleFormatKeyText(formatOf(row));
    case MeasuredFormatKeyRole:
        return formatKey(measuredFormat(row));
    case AllowedKeysRole: {
        QStringList keys;
        const auto kind = m_controller.run().info.modules[static_cast<std::size_t>(row)].kind;
        for (const FormatId format : allowedFormats(kind)) {
            keys << moduleFormatKeyText(format);
        }
        return keys;
    }
    case PendingRole:
        return column == FormatColumn && (m_controller.isPending(QStringLiteral("precision.") + moduleName(row)) ||
                                          m_controller.isPending(QStringLiteral("precision")));
    case AlarmRole: {
        if (column == CosineColumn) {
            return sortValue(row, CosineColumn) < kAlarmCosine;
        }
        const TapStatistics* found = tapAt(row);
        if (found == nullptr) {
            return false;
        }
        return (column == OverflowColumn && overflowed(found->statistics.classes) > 0) ||
               (column == FlushedColumn && sortValue(row, FlushedColumn) >= 0.01) ||
               (column == HeadroomColumn && !judgedAsFp16(found->format) && headroom(*found) < 1.0);
    }
    default:
        return {};
    }
}

QVariant LayersModel::headerData(int section, Qt::Orientation orientation, int role) const
{
    if (orientation != Qt::Horizontal) {
        return {};
    }
    if (role == Qt::TextAlignmentRole) {
        return static_cast<int>(section <= SpectrumColumn ? Qt::AlignLeft | Qt::AlignVCenter
                                                          : Qt::AlignRight | Qt::AlignVCenter);
    }
    struct Title {
        QString text;
        QString meaning;
    };
    const auto title = [section]() -> Title {
        switch (section) {
        case ModuleColumn:
            return {tr("Module"), tr("Modules in the order of the forward pass")};
        case FormatColumn:
            return {tr("Format"), tr("The format the module computes in; click to change it while the run goes on")};
        case SpectrumColumn:
            return {tr("Spectrum"), tr("Exponents of the gradients at the newest measured step")};
        case FlushedColumn:
            return {tr("Flushed"), tr("Share of values that were not zero and are zero after rounding")};
        case SubnormalColumn:
            return {tr("Subnorm."), tr("Share of values that become subnormal and lose precision")};
        case OverflowColumn:
            return {tr("Overfl."), tr("Values that overflowed or were not finite since the start of the run")};
        case SkipsColumn:
            return {tr("Skips"), tr("Skipped steps whose first overflow, in backward order, was in this module")};
        case HeadroomColumn:
            return {tr("Headr."),
                    tr("Octaves between the largest gradient and overflow; in brackets: if it were FP16")};
        case MeanColumn:
            return {tr("Mean"), tr("Mean of the unscaled gradients")};
        case DeviationColumn:
            return {tr("Dev."), tr("Standard deviation of the unscaled gradients")};
        case RmsColumn:
            return {tr("Rms"), tr("Root mean square of the unscaled gradients")};
        case CosineColumn:
            return {tr("Cosine"), tr("Cosine between the weight gradients and FP32's of the same batch and weights; "
                                     "the setting “Compare with FP32 every n-th step” turns it on")};
        case ErrorColumn:
            return {tr("Error"), tr("Norm of the difference from FP32's weight gradients, in norms of the latter")};
        case ScaleColumn:
            return {tr("Scale"), tr("What the values are multiplied by before they are rounded: the run's loss scale, "
                                    "the module's own, or an FP8 tensor's, times the loss scale")};
        default:
            return {};
        }
    }();
    if (role == Qt::DisplayRole) {
        return title.text;
    }
    return role == Qt::ToolTipRole ? QVariant(title.meaning) : QVariant();
}

Qt::ItemFlags LayersModel::flags(const QModelIndex& index) const
{
    if (!index.isValid()) {
        return Qt::NoItemFlags;
    }
    Qt::ItemFlags flags = Qt::ItemIsEnabled | Qt::ItemIsSelectable | Qt::ItemNeverHasChildren;
    if (index.column() == FormatColumn && data(index, AllowedKeysRole).toStringList().size() > 1) {
        flags |= Qt::ItemIsEditable;
    }
    return flags;
}

bool LayersModel::setData(const QModelIndex& index, const QVariant& value, int role)
{
    if (role != Qt::EditRole || !index.isValid() || index.column() != FormatColumn) {
        return false;
    }
    const QString key = value.toString();
    if (!data(index, AllowedKeysRole).toStringList().contains(key) || key == data(index, FormatKeyRole).toString()) {
        return false;
    }
    m_controller.setSetting(QStringLiteral("precision.") + moduleName(index.row()), key);
    return true;
}

LayersSortModel::LayersSortModel(QObject* parent) : QSortFilterProxyModel(parent)
{
    setDynamicSortFilter(false);
    setSortRole(LayersModel::SortRole);
}

QVariant LayersSortModel::headerData(int section, Qt::Orientation orientation, int role) const
{
    const QVariant title = QSortFilterProxyModel::headerData(section, orientation, role);
    if (orientation != Qt::Horizontal || role != Qt::DisplayRole || m_worstFirst || section != sortColumn()) {
        return title;
    }
    return title.toString() + (sortOrder() == Qt::AscendingOrder ? QStringLiteral(" ▴") : QStringLiteral(" ▾"));
}

void LayersSortModel::setWorstFirst(bool worstFirst)
{
    m_worstFirst = worstFirst;
    rank(true);
    sort(worstFirst ? 0 : -1, Qt::AscendingOrder);
}

void LayersSortModel::resort()
{
    rank(false);
    if (sortColumn() >= 0) {
        invalidate();
    }
}

void LayersSortModel::rank(bool anew)
{
    const auto rows = static_cast<std::size_t>(sourceModel() != nullptr ? sourceModel()->rowCount() : 0);
    anew = anew || m_rank.size() != rows;
    m_rank.resize(rows);
    for (std::size_t row = 0; row < rows; ++row) {
        const double now = sourceModel()->index(static_cast<int>(row), 0).data(LayersModel::WorstRole).toDouble();
        const double before = m_rank[row];
        if (anew || std::abs(now - before) > std::max(0.5, 0.5 * std::abs(before))) {
            m_rank[row] = now;
        }
    }
}

bool LayersSortModel::lessThan(const QModelIndex& left, const QModelIndex& right) const
{
    if (m_worstFirst) {
        const auto a = static_cast<std::size_t>(left.row());
        const auto b = static_cast<std::size_t>(right.row());
        // A new run has rows before they are ranked.
        return a < m_rank.size() && b < m_rank.size() && m_rank[a] > m_rank[b];
    }
    const double a = left.data(LayersModel::SortRole).toDouble();
    const double b = right.data(LayersModel::SortRole).toDouble();
    if (std::isnan(a) || std::isnan(b)) {
        // Rows without a number go last whichever way the column is sorted.
        return sortOrder() == Qt::AscendingOrder ? !std::isnan(a) && std::isnan(b) : std::isnan(a) && !std::isnan(b);
    }
    return a < b;
}

} // namespace halfscope
