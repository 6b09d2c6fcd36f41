// SPDX-License-Identifier: GPL-3.0-or-later
// The layers: a table in which formats are changed, the worst is found and the spectrum is narrowed to a few rows.
#pragma once

#include <QTableView>
#include <QTimer>

class QComboBox;
class QLabel;
class QToolButton;

namespace halfscope {

class LayersModel;
class LayersSortModel;
class PatternBar;
class SessionController;

// Clicks on a format open its list and leave the selection alone, so that a change can go to all selected rows.
class LayersTable : public QTableView {
    Q_OBJECT
public:
    explicit LayersTable(QWidget* parent = nullptr);
    bool isEditing() const { return state() == EditingState; }

protected:
    QItemSelectionModel::SelectionFlags selectionCommand(const QModelIndex& index, const QEvent* event) const override;
    void keyPressEvent(QKeyEvent* event) override;

signals:
    void copyRequested();
};

class LayersPanel : public QWidget {
    Q_OBJECT
public:
    explicit LayersPanel(SessionController& controller, QWidget* parent = nullptr);

    void clearFilter();
    void setWorstFirst(bool worstFirst);
    void useModelOrder(); // rows as in the forward pass
    // The spectrum holds a step of the past, which the table does not: it says so.
    void setStepHeld(bool held);
    // The columns of mean and deviation, and the layers sorted by the latter, largest first.
    void showStatistics();
    void copy() const;                            // the table, tab-separated
    void setFormatOfSelected(const QString& key); // those that may have it, as one change; else the current row
    void inspectCurrent();                        // the current cell's number, or the row's largest magnitude
    PatternBar* pattern() const { return m_pattern; }
    void refreshNow();
    LayersTable* table() const { return m_table; }
    int wantedWidth() const; // at which no column is cut or out of view
    QByteArray headerState() const;
    void restoreHeaderState(const QByteArray& state);

protected:
    void changeEvent(QEvent* event) override;

signals:
    void worstFirstChanged(bool worstFirst);
    // scale: the one its row was measured at; NaN where it plays no part.
    void inspectRequested(double value, double scale);

private:
    void showScales();
    void selectionToController();
    void selectionFromController();
    void setFormat(const QModelIndex& index, const QString& key);
    void setFormats(const QModelIndexList& rows, const QString& key);
    QModelIndexList chosenRows() const; // selected, else the current one; their format cells
    void headerMenu(const QPoint& at);
    void rowMenu(const QPoint& global, const QModelIndex& under);
    void inspect(double value);
    void showComparison();
    void fitColumns();
    void fitFormats();
    int moduleWidth() const;
    int widthOf(const QString& sample, const QString& alarming = {}) const;

    SessionController& m_controller;
    LayersModel* m_model;
    LayersSortModel* m_sorted;
    LayersTable* m_table;
    QComboBox* m_tap;
    QToolButton* m_worst;
    QToolButton* m_clear;
    QLabel* m_held;
    PatternBar* m_pattern;
    QTimer m_refresh;
    QTimer m_resort;
    bool m_syncing = false;
    bool m_comparing = false; // with FP32
    bool m_ownScales = false;
    int m_fittedFormats = 0; // the width of their column, unless the user has chosen another
};

} // namespace halfscope
