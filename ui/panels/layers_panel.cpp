// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panels/layers_panel.h"

#include <QApplication>
#include <QClipboard>
#include <QComboBox>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QKeyEvent>
#include <QLabel>
#include <QScrollBar>
#include <QToolButton>
#include <QVBoxLayout>
#include <algorithm>

#include "ui/models/layers_model.h"
#include "ui/models/setting_labels.h"
#include "ui/panels/frozen_column.h"
#include "ui/panels/icons.h"
#include "ui/panels/layer_delegates.h"
#include "ui/panels/pattern_bar.h"
#include "ui/session_controller.h"

namespace halfscope {

namespace {

constexpr int kRefreshMs = 100; // numbers that change faster cannot be read
constexpr int kResortMs = 2000; // rows that move faster cannot be clicked
constexpr int kCellMargin = 10;
constexpr int kTitleMargin = 8;
constexpr int kArrow = 18;       // of the sort order, in a title
constexpr int kFormatFrame = 26; // of the button a format is painted as

} // namespace

LayersTable::LayersTable(QWidget* parent) : QTableView(parent)
{
    setSelectionBehavior(SelectRows);
    setSelectionMode(ExtendedSelection);
    setEditTriggers(EditKeyPressed);
    setShowGrid(false);
    setWordWrap(false);
    setFrameShape(QFrame::NoFrame);
    setTabKeyNavigation(false);
    setHorizontalScrollMode(ScrollPerPixel);
    setVerticalScrollMode(ScrollPerPixel);
    setMouseTracking(true);
    verticalHeader()->setVisible(false);
    verticalHeader()->setMinimumSectionSize(10);
    verticalHeader()->setDefaultSectionSize(fontMetrics().height() + 9);
    verticalHeader()->setSectionResizeMode(QHeaderView::Fixed);
    horizontalHeader()->setHighlightSections(false);
    horizontalHeader()->setSectionsMovable(true);
    horizontalHeader()->setSortIndicatorClearable(true); // the third click is the order of the forward pass again
    horizontalHeader()->setContextMenuPolicy(Qt::CustomContextMenu);
    setProperty("arrowless", true); // the model's titles have the arrow
    setAccessibleName(tr("Layers"));
    setAccessibleDescription(tr("One row a module: format, spectrum, what is lost, statistics"));
}

QItemSelectionModel::SelectionFlags LayersTable::selectionCommand(const QModelIndex& index, const QEvent* event) const
{
    const bool mouse =
        event != nullptr && (event->type() == QEvent::MouseButtonPress || event->type() == QEvent::MouseButtonRelease ||
                             event->type() == QEvent::MouseMove);
    if (mouse && index.column() == LayersModel::FormatColumn && index.flags().testFlag(Qt::ItemIsEditable)) {
        return QItemSelectionModel::NoUpdate;
    }
    return QTableView::selectionCommand(index, event);
}

void LayersTable::keyPressEvent(QKeyEvent* event)
{
    if (event->matches(QKeySequence::Copy)) {
        emit copyRequested();
        return;
    }
    const bool enter = event->key() == Qt::Key_Return || event->key() == Qt::Key_Enter || event->key() == Qt::Key_F2;
    if (enter && !isEditing() && currentIndex().isValid()) {
        edit(currentIndex().siblingAtColumn(LayersModel::FormatColumn));
        return;
    }
    if (event->key() == Qt::Key_Escape && selectionModel() != nullptr && selectionModel()->hasSelection()) {
        clearSelection();
        return;
    }
    QTableView::keyPressEvent(event);
}

LayersPanel::LayersPanel(SessionController& controller, QWidget* parent)
    : QWidget(parent),
      m_controller(controller),
      m_model(new LayersModel(controller, this)),
      m_sorted(new LayersSortModel(this)),
      m_table(new LayersTable),
      m_tap(new QComboBox),
      m_worst(new QToolButton),
      m_clear(new QToolButton),
      m_held(new QLabel(tr("A step of the past is held in the spectrum; this table shows the newest one."))),
      m_pattern(new PatternBar(controller))
{
    setAttribute(Qt::WA_StyledBackground);
    m_sorted->setSourceModel(m_model);
    m_table->setModel(m_sorted);
    m_table->setItemDelegate(new NumberDelegate(m_table));
    m_table->setItemDelegateForColumn(
        LayersModel::FormatColumn,
        new FormatDelegate([this](const QModelIndex& index, const QString& key) { setFormat(index, key); }, m_table));
    m_table->setItemDelegateForColumn(LayersModel::SpectrumColumn, new SpectrumDelegate(controller, m_table));
    m_table->horizontalHeader()->setSortIndicator(-1, Qt::AscendingOrder);
    m_table->setSortingEnabled(true);
    m_table->setColumnHidden(LayersModel::ScaleColumn, true);
    connect(&controller, &SessionController::snapshotAdded, this, &LayersPanel::showScales);

    for (int tap = 0; tap < kTapCount; ++tap) {
        m_tap->addItem(moduleTapLabel(tap), tap);
    }
    m_tap->setAccessibleName(tr("What is measured"));
    m_tap->setToolTip(tr("Which values the table, the spectrum and the waterfall are about"));
    m_worst->setIcon(glyphIcon(Glyph::Sort));
    m_worst->setText(tr("Worst first"));
    m_worst->setToolButtonStyle(Qt::ToolButtonTextBesideIcon);
    m_worst->setCheckable(true);
    m_worst->setAccessibleName(tr("Worst layers first"));
    m_worst->setToolTip(
        tr("Layers that overflow now come first; then those that caused skips or lose the most to zero; then those "
           "with the most subnormal values. Rows move every two seconds at most, and never under the pointer."));
    m_clear->setIcon(glyphIcon(Glyph::Clear));
    m_clear->setText(tr("All layers"));
    m_clear->setToolButtonStyle(Qt::ToolButtonTextBesideIcon);
    m_clear->setAccessibleName(tr("Show all layers in the spectrum"));
    m_clear->setToolTip(tr("Show all layers in the spectrum again"));

    auto* tools = new QHBoxLayout;
    tools->setContentsMargins(12, 0, 12, 4);
    tools->setSpacing(6);
    tools->addWidget(m_tap);
    tools->addStretch(1);
    tools->addWidget(m_worst);
    tools->addWidget(m_clear);
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(4);
    column->addLayout(tools);
    m_held->setProperty("dim", true);
    m_held->setWordWrap(true);
    m_held->setContentsMargins(12, 0, 12, 0);
    m_held->setVisible(false);
    column->addWidget(m_pattern);
    column->addWidget(m_held);
    column->addWidget(m_table, 1);

    fitColumns();
    for (QTableView* view : {static_cast<QTableView*>(m_table), static_cast<QTableView*>(new FrozenColumn(m_table))}) {
        view->setContextMenuPolicy(Qt::CustomContextMenu);
        connect(view, &QWidget::customContextMenuRequested, this,
                [this, view](const QPoint& at) { rowMenu(view->viewport()->mapToGlobal(at), view->indexAt(at)); });
    }
    connect(m_pattern, &PatternBar::finished, this, [this] {
        m_table->setFocus();
        const QModelIndexList rows = m_table->selectionModel()->selectedRows();
        m_table->selectionModel()->setCurrentIndex(rows.isEmpty() ? QModelIndex() : rows.first(),
                                                   QItemSelectionModel::NoUpdate);
    });

    connect(m_table, &QTableView::clicked, this, [this](const QModelIndex& index) {
        if (index.column() == LayersModel::FormatColumn && index.flags().testFlag(Qt::ItemIsEditable)) {
            m_table->edit(index);
        }
    });
    connect(m_table, &LayersTable::copyRequested, this, &LayersPanel::copy);
    connect(m_table->selectionModel(), &QItemSelectionModel::selectionChanged, this,
            &LayersPanel::selectionToController);
    connect(m_table->horizontalHeader(), &QHeaderView::customContextMenuRequested, this, &LayersPanel::headerMenu);
    connect(m_table->horizontalHeader(), &QHeaderView::sortIndicatorChanged, this, [this](int section) {
        if (section >= 0) {
            const QString title = m_model->headerData(section, Qt::Horizontal, Qt::DisplayRole).toString();
            const int whole = m_table->horizontalHeader()->fontMetrics().horizontalAdvance(title) + kArrow;
            m_table->setColumnWidth(section, std::max(m_table->columnWidth(section), whole));
        }
        if (section >= 0 && m_sorted->worstFirst()) {
            setWorstFirst(false);
        }
    });
    connect(m_tap, &QComboBox::activated, this, [this](int index) {
        TapSelection selection = m_controller.run().selection;
        selection.tap = static_cast<Tap>(m_tap->itemData(index).toInt());
        m_controller.select(selection);
    });
    connect(m_worst, &QToolButton::clicked, this, &LayersPanel::setWorstFirst);
    connect(m_clear, &QToolButton::clicked, this, &LayersPanel::clearFilter);
    connect(&controller, &SessionController::selectionChanged, this, &LayersPanel::selectionFromController);
    connect(&controller, &SessionController::runStarted, this, &LayersPanel::selectionFromController);
    connect(&controller, &SessionController::runStarted, this, [this] {
        // Deeper models have longer names.
        m_table->setColumnWidth(LayersModel::ModuleColumn,
                                std::max(m_table->columnWidth(LayersModel::ModuleColumn), moduleWidth()));
    });

    connect(&controller, &SessionController::liveChanged, this, [this] {
        if (m_comparing != (m_controller.run().live.config.shadowInterval > 0)) {
            showComparison();
        }
    });
    showComparison();

    m_refresh.setSingleShot(true);
    m_refresh.setInterval(kRefreshMs);
    connect(&m_refresh, &QTimer::timeout, this, [this] {
        if (isVisible()) {
            m_model->refresh();
            fitFormats();
        }
    });
    connect(&controller, &SessionController::snapshotAdded, this, [this] {
        if (!m_refresh.isActive()) {
            m_refresh.start();
        }
    });
    m_resort.setInterval(kResortMs);
    connect(&m_resort, &QTimer::timeout, this, [this] {
        if (isVisible() && !m_table->underMouse() && !m_table->isEditing() &&
            m_controller.state() == EngineState::Running) {
            m_sorted->resort();
        }
    });
    m_resort.start();
    selectionFromController();
}

int LayersPanel::widthOf(const QString& sample, const QString& alarming) const
{
    QFont bold = m_table->font(); // as cells that tell of a loss are painted
    bold.setBold(true);
    return std::max(m_table->fontMetrics().horizontalAdvance(sample), QFontMetrics(bold).horizontalAdvance(alarming)) +
           kCellMargin;
}

int LayersPanel::moduleWidth() const
{
    int widest = widthOf(QStringLiteral("h0.attn.proj"));
    for (int row = 0; row < m_model->rowCount(); ++row) {
        widest = std::max(widest, widthOf(m_model->moduleName(row)));
    }
    return widest;
}

// Every column as wide as the widest text it usually holds, and as its title.
void LayersPanel::fitColumns()
{
    const int share = widthOf(QStringLiteral("< 0.001\u202F%"), QStringLiteral("88.8\u202F%"));
    const int number = widthOf(QStringLiteral("8.8e−88"));
    const QList<int> widths = {moduleWidth(),
                               0,
                               0,
                               share,
                               share,
                               widthOf(QStringLiteral("≈888k"), QStringLiteral("≈8.88M")),
                               widthOf(QStringLiteral("8\u202F888")),
                               widthOf(QStringLiteral("(−88.8)"), QStringLiteral("−88.8")),
                               widthOf(QStringLiteral("−8.8e−88")),
                               number,
                               number,
                               widthOf(QStringLiteral("−0.8888"), QStringLiteral("−0.8888")),
                               number,
                               widthOf(QStringLiteral("1.875·2⁻¹⁸"))};
    const QFontMetrics titles = m_table->horizontalHeader()->fontMetrics();
    for (int column = 0; column < widths.size(); ++column) {
        const QString title = m_model->headerData(column, Qt::Horizontal, Qt::DisplayRole).toString();
        m_table->setColumnWidth(column, std::max(widths.at(column), titles.horizontalAdvance(title) + kTitleMargin));
    }
    fitFormats();
    m_table->verticalHeader()->setDefaultSectionSize(m_table->fontMetrics().height() + 9);
}

// Only some taps have formats like "FP32 → FP16": the column is as wide as they need, while they are there.
void LayersPanel::fitFormats()
{
    int widest = widthOf(QStringLiteral("BF16"));
    for (int row = 0; row < m_model->rowCount(); ++row) {
        widest = std::max(widest, widthOf(m_model->index(row, LayersModel::FormatColumn).data().toString()));
    }
    const int now = m_table->columnWidth(LayersModel::FormatColumn);
    const int wanted = widest + kFormatFrame;
    if (wanted > now || (wanted < now && now == m_fittedFormats)) {
        m_table->setColumnWidth(LayersModel::FormatColumn, wanted);
    }
    m_fittedFormats = wanted;
}

int LayersPanel::wantedWidth() const
{
    return m_table->horizontalHeader()->length() + m_table->verticalScrollBar()->sizeHint().width() + 12;
}

void LayersPanel::changeEvent(QEvent* event)
{
    QWidget::changeEvent(event);
    if (event->type() == QEvent::FontChange) {
        fitColumns();
    }
}

void LayersPanel::setFormat(const QModelIndex& index, const QString& key)
{
    const QModelIndexList rows = chosenRows();
    const QModelIndex edited = index.siblingAtColumn(LayersModel::FormatColumn);
    setFormats(rows.contains(edited) ? rows : QModelIndexList{edited}, key);
}

void LayersPanel::setFormats(const QModelIndexList& rows, const QString& key)
{
    const SessionController::ChangeGroup group(m_controller);
    for (const QModelIndex& row : rows) {
        m_model->setData(m_sorted->mapToSource(row), key, Qt::EditRole);
    }
}

QModelIndexList LayersPanel::chosenRows() const
{
    const QModelIndexList selected = m_table->selectionModel()->selectedRows(LayersModel::FormatColumn);
    if (!selected.isEmpty() || !m_table->currentIndex().isValid()) {
        return selected;
    }
    return {m_table->currentIndex().siblingAtColumn(LayersModel::FormatColumn)};
}

void LayersPanel::setFormatOfSelected(const QString& key) { setFormats(chosenRows(), key); }

void LayersPanel::selectionToController()
{
    if (m_syncing) {
        return;
    }
    TapSelection selection;
    selection.tap = m_controller.run().selection.tap;
    for (const QModelIndex& index : m_table->selectionModel()->selectedRows()) {
        selection.modules.push_back(m_sorted->mapToSource(index).row());
    }
    m_controller.select(selection);
}

void LayersPanel::selectionFromController()
{
    const TapSelection& selection = m_controller.run().selection;
    m_tap->setCurrentIndex(m_tap->findData(static_cast<int>(selection.tap)));
    m_clear->setEnabled(!selection.modules.empty());
    QItemSelection rows;
    for (const int module : selection.modules) {
        if (module < m_model->rowCount()) {
            const QModelIndex left = m_sorted->mapFromSource(m_model->index(module, 0));
            rows.select(left, left.siblingAtColumn(LayersModel::ColumnCount - 1));
        }
    }
    m_syncing = true;
    m_table->selectionModel()->select(rows, QItemSelectionModel::ClearAndSelect);
    m_syncing = false;
    if (!rows.isEmpty()) {
        m_table->scrollTo(rows.indexes().first());
    }
}

void LayersPanel::clearFilter()
{
    TapSelection selection = m_controller.run().selection;
    selection.modules.clear();
    m_controller.select(selection);
}

void LayersPanel::setWorstFirst(bool worstFirst)
{
    if (worstFirst) {
        m_table->horizontalHeader()->setSortIndicator(-1, Qt::AscendingOrder);
    }
    const bool changed = worstFirst != m_sorted->worstFirst();
    const int section = m_table->horizontalHeader()->sortIndicatorSection();
    m_sorted->setWorstFirst(worstFirst);
    if (!worstFirst && section >= 0) {
        m_sorted->sort(section, m_table->horizontalHeader()->sortIndicatorOrder());
    }
    m_worst->setChecked(worstFirst);
    if (changed) {
        emit worstFirstChanged(worstFirst);
    }
}

void LayersPanel::useModelOrder()
{
    setWorstFirst(false);
    m_table->horizontalHeader()->setSortIndicator(-1, Qt::AscendingOrder);
}

void LayersPanel::setStepHeld(bool held) { m_held->setVisible(held); }

// The columns of the comparison with FP32 come and go with it.
void LayersPanel::showComparison()
{
    m_comparing = m_controller.run().live.config.shadowInterval > 0;
    m_table->setColumnHidden(LayersModel::CosineColumn, !m_comparing);
    m_table->setColumnHidden(LayersModel::ErrorColumn, !m_comparing);
}

void LayersPanel::showStatistics()
{
    QHeaderView* header = m_table->horizontalHeader();
    for (const int column : {LayersModel::MeanColumn, LayersModel::DeviationColumn, LayersModel::RmsColumn}) {
        header->setSectionHidden(column, false);
    }
    setWorstFirst(false);
    m_table->sortByColumn(LayersModel::DeviationColumn, Qt::DescendingOrder);
    m_table->scrollToTop();
    m_table->scrollTo(m_sorted->index(0, LayersModel::RmsColumn));
    // No column is cut at the left, where the frozen one covers it.
    const int covered = m_table->columnWidth(LayersModel::ModuleColumn);
    for (int place = 1; place < header->count(); ++place) {
        const int logical = header->logicalIndex(place);
        const int edge = header->sectionPosition(logical) - covered;
        if (!header->isSectionHidden(logical) && header->offset() > 0 && edge >= header->offset()) {
            m_table->horizontalScrollBar()->setValue(edge);
            break;
        }
    }
    m_table->setFocus();
}

void LayersPanel::copy() const
{
    QStringList lines;
    QStringList titles;
    for (int column = 0; column < LayersModel::ColumnCount; ++column) {
        if (column != LayersModel::SpectrumColumn) {
            titles << m_model->headerData(column, Qt::Horizontal, Qt::DisplayRole).toString();
        }
    }
    lines << titles.join(QLatin1Char('\t'));
    for (int row = 0; row < m_sorted->rowCount(); ++row) {
        QStringList cells;
        for (int column = 0; column < LayersModel::ColumnCount; ++column) {
            if (column != LayersModel::SpectrumColumn) {
                cells << m_sorted->index(row, column).data(LayersModel::CopyRole).toString();
            }
        }
        lines << cells.join(QLatin1Char('\t'));
    }
    QApplication::clipboard()->setText(lines.join(QLatin1Char('\n')) + QLatin1Char('\n'));
}

void LayersPanel::refreshNow()
{
    m_model->refresh();
    m_sorted->resort();
}

// The column of scales comes when modules begin to differ in them, and goes when they end to.
void LayersPanel::showScales()
{
    const SnapshotPtr& latest = m_controller.run().latest;
    const bool own = latest != nullptr &&
                     std::ranges::any_of(latest->taps, [](const TapStatistics& tap) { return tap.ownScale > 0; });
    if (own != m_ownScales) {
        m_ownScales = own;
        m_table->setColumnHidden(LayersModel::ScaleColumn, !own);
    }
}

QByteArray LayersPanel::headerState() const { return m_table->horizontalHeader()->saveState(); }

void LayersPanel::restoreHeaderState(const QByteArray& state)
{
    if (!state.isEmpty() && m_table->horizontalHeader()->restoreState(state)) {
        m_table->horizontalHeader()->setSortIndicatorClearable(true);
    }
    showComparison();
    m_table->horizontalHeader()->setSectionHidden(LayersModel::ScaleColumn, !m_ownScales);
}

} // namespace halfscope
