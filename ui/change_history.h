// SPDX-License-Identifier: GPL-3.0-or-later
// Undo and redo of what was changed in the run. A change gets onto the stack when the engine has applied it, so what
// was refused never does; taking it back is itself a command of the run, so that a replay stays right. A scale is set
// back, not what it did to the steps since; a precision is set back beneath what the schedule has set since.
#pragma once

#include <QObject>
#include <QUndoStack>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ui/session_controller.h"

namespace halfscope {

// A setting before and after, as the engine takes it.
struct SettingDifference {
    std::string key;
    std::string before;
    std::string after;
};

// Since which step each setting of precision holds, as far as the user has set it.
struct PrecisionSince {
    std::int64_t preset = 0;
    std::map<std::string, std::int64_t> modules; // by key: "precision.h0.mlp.fc"

    std::int64_t of(const std::string& key) const; // 0, the start, of any other setting
    void note(const Event& command);
    bool operator==(const PrecisionSince&) const = default;
};

// The live settings in which two configurations differ, modules' formats by what is in force.
std::vector<SettingDifference> settingDifferences(const RunConfig& before, const RunConfig& after);
// Commands that take a configuration to where the given settings have the given values and all others stay: in an order
// in which each of them is allowed.
std::vector<std::pair<std::string, std::string>>
commandsTowards(RunConfig from, const std::vector<std::pair<std::string, std::string>>& wanted);

class ChangeHistory : public QObject {
    Q_OBJECT
public:
    ChangeHistory(SessionController& controller, QObject* parent);
    ~ChangeHistory() override;

    bool canUndo() const;
    bool canRedo() const;
    QString undoText() const { return m_stack.undoText(); } // "Growth interval 2000 → 100"
    QString redoText() const { return m_stack.redoText(); }
    int count() const { return m_stack.count(); }

    // Wait for changes that have not been answered: what was asked for last is what is taken back first.
    void undo() { request(false); }
    void redo() { request(true); }
    void clear(); // another run, in which these settings may mean nothing

signals:
    void changed();

private:
    class Entry;
    void request(bool redo);
    void work();
    void take(const AnsweredCommand& answer);
    void send(const Entry& entry, bool forwards);
    void sendPrecision(const Entry& entry, bool forwards, RunConfig& from);
    void follow();
    void forgetScales();
    double scaleBefore(std::int64_t step) const;
    bool matters(std::int64_t since, std::int64_t other) const;

    SessionController& m_controller;
    QUndoStack m_stack;
    RunConfig m_known;           // what the answers up to now have made of the configuration
    PrecisionSince m_since;      // likewise
    std::vector<bool> m_waiting; // undo or redo, asked for while something was unanswered
    std::optional<bool> m_sent;  // the last one sent, until another change comes
    bool m_silent = false;       // the stack moves, and the run does not
};

} // namespace halfscope
