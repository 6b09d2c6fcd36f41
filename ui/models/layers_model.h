// SPDX-License-Identifier: GPL-3.0-or-later
// One row a module: its format and what its gradients look like at the newest measured step.
#pragma once

#include <QAbstractTableModel>
#include <QSortFilterProxyModel>
#include <array>
#include <vector>

#include "ui/run_model.h"

namespace halfscope {

class SessionController;

class LayersModel : public QAbstractTableModel {
    Q_OBJECT
public:
    enum Column {
        ModuleColumn,
        FormatColumn,
        SpectrumColumn,
        FlushedColumn,
        SubnormalColumn,
        OverflowColumn,
        SkipsColumn,
        HeadroomColumn,
        MeanColumn,
        DeviationColumn,
        RmsColumn,
        CosineColumn, // of the newest comparison with FP32's gradients
        ErrorColumn,
        ScaleColumn, // hidden unless modules have scales of their own
        ColumnCount
    };
    enum Role {
        SortRole = Qt::UserRole, // a number, NaN where there is nothing to sort by
        WorstRole,               // larger is worse
        FormatKeyRole,           // "fp16"
        MeasuredFormatKeyRole,   // "fp16": of measuredFormat()
        AllowedKeysRole,         // QStringList
        PendingRole,             // bool: a change of format has not been answered
        CopyRole,                // the cell's text with all digits
        AlarmRole,               // bool: this cell says that values are being lost now
        InspectRole,             // double: the cell's number, NaN where it has none
    };

    explicit LayersModel(SessionController& controller, QObject* parent = nullptr);

    int rowCount(const QModelIndex& parent = {}) const override;
    int columnCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex& index, int role) const override;
    QVariant headerData(int section, Qt::Orientation orientation, int role) const override;
    Qt::ItemFlags flags(const QModelIndex& index) const override;
    // FormatColumn, Qt::EditRole, a format's key: asks the engine; the cell changes when it has answered.
    bool setData(const QModelIndex& index, const QVariant& value, int role) override;

    // The newest comparison of the module's gradients with FP32's; null where there is none.
    const GradientComparison* comparisonAt(int row) const;
    // The statistics the row shows; null when nothing was measured.
    const TapStatistics* tapAt(int row) const;
    QString moduleName(int row) const;
    FormatId formatOf(int row) const;
    // What the row's numbers were rounded into: an activation's gradient arrives in the format of the module that reads
    // the activation. The module's own where nothing was measured.
    FormatId measuredFormat(int row) const;
    // Tells the views that a newer snapshot is there. Not done at every snapshot: 10 times a second is readable.
    void refresh();

private:
    void restart();
    void countSkips(qint64 first, qint64 last);
    void countOverflows();
    QString display(int row, Column column) const;
    QString toolTip(int row, Column column) const;
    double sortValue(int row, Column column) const;
    double worst(int row) const;
    double headroom(const TapStatistics& tap) const; // octaves; NaN when there is no gradient
    double scaleOf(const TapStatistics& tap) const;  // what its values were multiplied by
    Tap tap() const;

    SessionController& m_controller;
    int m_rows = 0;
    std::vector<qint64> m_skips;                                   // by module: skipped steps it was the culprit of
    std::vector<qint64> m_spikedSkips;                             // those of them that a spike was injected into
    std::vector<std::array<std::uint64_t, kTapCount>> m_overflows; // by module and tap: values, since the start
    qint64 m_overflowsUntil = 0;                                   // the step counted last
};

// Order of the rows: as in the forward pass, worst first, or by a column.
class LayersSortModel : public QSortFilterProxyModel {
    Q_OBJECT
public:
    explicit LayersSortModel(QObject* parent = nullptr);

    // The title of the column that rows are sorted by ends in an arrow; titles right over numbers leave no other room.
    QVariant headerData(int section, Qt::Orientation orientation, int role) const override;
    bool worstFirst() const { return m_worstFirst; }
    void setWorstFirst(bool worstFirst);
    // Rows do not jump by themselves while numbers change. Among the worst, a row moves only for a change that is more
    // than the noise from step to step.
    void resort();

protected:
    bool lessThan(const QModelIndex& left, const QModelIndex& right) const override;

private:
    void rank(bool anew);

    bool m_worstFirst = false;
    std::vector<double> m_rank; // by source row: WorstRole as it was when the row last moved
};

} // namespace halfscope
