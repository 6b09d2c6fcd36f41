// SPDX-License-Identifier: GPL-3.0-or-later
// The window's actions about held-out examples, and what follows the task.
#include "engine/data/dataset_registry.h"
#include "ui/main_window.h"
#include "ui/panels/confusion_matrix.h"
#include "ui/panels/examples_panel.h"
#include "ui/panels/sample_page.h"
#include "ui/panels/window_actions.h"
#include "ui/session_controller.h"

namespace halfscope {

void MainWindow::connectExampleActions()
{
    const WindowActions& a = *m_actions;
    const auto show = [this] { raiseDock(m_examples); };
    const auto does = [&](QAction* action, auto act) {
        connect(action, &QAction::triggered, m_examples, [show, act] {
            show();
            act();
        });
    };
    does(a.validate, [this] { m_examples->validate(); });
    does(a.previousExample, [this] { m_examples->nextExample(-1); });
    does(a.nextExample, [this] { m_examples->nextExample(1); });
    does(a.nextWrong, [this] { m_examples->nextWrong(); });
    does(a.writeText, [this] { m_examples->samplePage()->sample(); });
    connect(a.copyConfusion, &QAction::triggered, m_examples, &ExamplesPanel::copyMatrix);
    connect(a.swapHead, &QAction::triggered, m_controller.get(), &SessionController::swapHead);
    connect(m_controller.get(), &SessionController::evaluated, this, &MainWindow::updateExampleActions);
    m_task = m_controller->run().info.config.task;
    connect(m_controller.get(), &SessionController::runStarted, this, [this] {
        // Whoever chose another task wants to see what becomes of it.
        const RunInfo& info = m_controller->run().info;
        if (info.generation > 0 && std::exchange(m_task, info.config.task) != info.config.task && info.data.classes > 0)
            raiseDock(m_examples);
    });
}

void MainWindow::updateExampleActions()
{
    const RunModel& run = m_controller->run();
    const WindowActions& a = *m_actions;
    const bool alive =
        !run.info.modules.empty() && run.live.state != EngineState::Failed && run.live.state != EngineState::Finished;
    for (QAction* action : {a.validate, a.previousExample, a.nextExample, a.nextWrong})
        action->setEnabled(alive && m_examples->classifies() && run.info.heldOutExamples > 0);
    a.writeText->setEnabled(alive && !m_examples->classifies());
    a.swapHead->setEnabled(alive && run.live.pretraining);
    a.copyConfusion->setEnabled(!m_examples->matrix()->isEmpty());
}

} // namespace halfscope
