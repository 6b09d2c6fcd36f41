// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panels/dock_title.h"

#include <QDockWidget>
#include <QHBoxLayout>
#include <QLabel>
#include <QToolButton>

#include "ui/panels/elided_label.h"
#include "ui/panels/icons.h"

namespace halfscope {

DockTitle::DockTitle(QDockWidget* dock) : QWidget(dock), m_row(new QHBoxLayout(this)), m_detail(new ElidedLabel)
{
    setAttribute(Qt::WA_StyledBackground);
    m_row->setContentsMargins(12, 6, 6, 4);
    m_row->setSpacing(4);
    auto* name = new QLabel(dock->windowTitle());
    QFont bold = name->font();
    bold.setBold(true);
    name->setFont(bold);
    connect(dock, &QDockWidget::windowTitleChanged, name, &QLabel::setText);
    m_detail->setProperty("dim", true);
    m_row->addWidget(name);
    m_row->addSpacing(6);
    m_row->addWidget(m_detail, 1);

    auto* close = new QToolButton;
    close->setAutoRaise(true);
    close->setIcon(glyphIcon(Glyph::Close));
    close->setIconSize(QSize(12, 12));
    close->setToolTip(tr("Hide this panel; the View menu brings it back"));
    close->setAccessibleName(tr("Hide panel %1").arg(dock->windowTitle()));
    close->setFocusPolicy(Qt::TabFocus);
    connect(close, &QToolButton::clicked, dock, &QDockWidget::close);
    m_row->addWidget(close);
}

void DockTitle::setDetail(const QString& detail) { m_detail->setText(detail); }
void DockTitle::addButton(QWidget* button) { m_row->insertWidget(m_row->count() - 1, button); }

} // namespace halfscope
