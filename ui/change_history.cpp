// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/change_history.h"

#include <QScopedValueRollback>
#include <QUndoCommand>
#include <algorithm>
#include <cmath>

#include "engine/core/number_text.h"
#include "engine/train/settings_registry.h"
#include "engine/train/task.h"
#include "ui/models/event_text.h"
#include "ui/models/setting_choices.h"

namespace halfscope {

namespace {

constexpr int kLimit = 500; // changes that are remembered
const std::string kModulePrefix = "precision.";

std::vector<std::string> liveKeys(const RunConfig& config)
{
    std::vector<std::string> keys;
    for (const SettingInfo& setting : settings()) {
        if (!setting.live) {
            continue;
        }
        if (setting.key != "precision.MODULE") {
            keys.emplace_back(setting.key);
            continue;
        }
        for (const ModuleInfo& module : listModules(expectedModel(config))) {
            keys.push_back(kModulePrefix + module.name);
        }
    }
    return keys;
}

bool isPrecision(const std::string& key) { return key == "precision" || key.starts_with(kModulePrefix); }

// Several commands of one change in a few words.
QString textOf(const std::vector<Event>& commands)
{
    const bool formats =
        std::ranges::all_of(commands, [](const Event& command) { return command.key.starts_with(kModulePrefix); });
    if (commands.size() < 2 || !formats) {
        QStringList parts;
        for (const Event& command : commands) {
            parts << changeText(command);
        }
        return parts.join(QStringLiteral(", "));
    }
    const std::string& format = commands.front().newValue;
    const bool same = std::ranges::all_of(commands, [&](const Event& command) { return command.newValue == format; });
    const auto layers = static_cast<int>(commands.size());
    return same ? ChangeHistory::tr("format of %n layers → %1", nullptr, layers)
                      .arg(choiceText(QString::fromStdString(commands.front().key), QString::fromStdString(format)))
                : ChangeHistory::tr("formats of %n layers", nullptr, layers);
}

} // namespace

std::vector<SettingDifference> settingDifferences(const RunConfig& before, const RunConfig& after)
{
    std::vector<SettingDifference> differences;
    for (const std::string& key : liveKeys(after)) {
        SettingDifference one{key, settingValue(before, key), settingValue(after, key)};
        if (one.before != one.after) {
            differences.push_back(std::move(one));
        }
    }
    return differences;
}

std::vector<std::pair<std::string, std::string>>
commandsTowards(RunConfig from, const std::vector<std::pair<std::string, std::string>>& wanted)
{
    std::vector<std::pair<std::string, std::string>> target;
    for (const std::string& key : liveKeys(from)) {
        const auto asked = std::ranges::find(wanted, key, &std::pair<std::string, std::string>::first);
        target.emplace_back(key, asked != wanted.end() ? asked->second : settingValue(from, key));
    }
    std::vector<std::pair<std::string, std::string>> commands;
    const auto apply = [&](const std::string& key, const std::string& value) {
        if (settingValue(from, key) == value || editSetting(from, key, value)) {
            return false;
        }
        commands.emplace_back(key, value);
        return true;
    };
    // Presets first: they replace what stands below them.
    for (const char* preset : {"scaler", "precision"}) {
        for (const auto& [key, value] : target) {
            if (key == preset) {
                apply(key, value);
            }
        }
    }
    // Some are allowed only after others, as bounds and what they bound; some take others along.
    constexpr int kRounds = 4;
    bool moved = true;
    for (int round = 0; moved && round < kRounds; ++round) {
        moved = false;
        for (const auto& [key, value] : target) {
            moved = apply(key, value) || moved;
        }
    }
    return commands;
}

std::int64_t PrecisionSince::of(const std::string& key) const
{
    const auto own = modules.find(key);
    if (own != modules.end()) {
        return own->second;
    }
    return isPrecision(key) ? preset : 0;
}

void PrecisionSince::note(const Event& command)
{
    const std::int64_t since = command.since >= 0 ? command.since : command.step;
    if (command.key == "precision") {
        preset = since;
        modules.clear();
    } else if (command.key.starts_with(kModulePrefix)) {
        modules[command.key] = since;
    }
}

class ChangeHistory::Entry : public QUndoCommand {
public:
    Entry(ChangeHistory& history, int change) : m_history(history), m_change(change) {}

    std::vector<SettingDifference> settings;
    std::optional<std::pair<double, double>> scale;
    std::optional<double> lostScale; // the one in force before the settings took it away; for undo alone
    std::optional<std::pair<PrecisionSince, PrecisionSince>> since; // where the schedule has a part in it
    std::vector<Event> commands;                                    // for the words

    bool isNothing() const { return settings.empty() && !scale && !since; }

    void undo() override { m_history.send(*this, false); }
    void redo() override
    {
        if (m_fresh) {
            m_fresh = false; // it is in force: that is why it is here
        } else {
            m_history.send(*this, true);
        }
    }
    int id() const override { return m_change; }
    bool mergeWith(const QUndoCommand* other) override
    {
        const auto& next = static_cast<const Entry&>(*other);
        for (const SettingDifference& one : next.settings) {
            const auto known = std::ranges::find(settings, one.key, &SettingDifference::key);
            if (known == settings.end()) {
                settings.push_back(one);
            } else {
                known->after = one.after;
            }
        }
        std::erase_if(settings, [](const SettingDifference& one) { return one.before == one.after; });
        if (next.since) {
            since = {since ? since->first : next.since->first, next.since->second};
        }
        if (next.scale) {
            scale = {scale ? scale->first : next.scale->first, next.scale->second};
        }
        lostScale = lostScale ? lostScale : next.lostScale;
        for (const Event& command : next.commands) {
            const auto known = std::ranges::find(commands, command.key, &Event::key);
            if (known == commands.end()) {
                commands.push_back(command);
            } else {
                known->newValue = command.newValue;
            }
        }
        setText(textOf(commands));
        setObsolete(settings.empty() && !since && (!scale || scale->first == scale->second)); // there and back
        return true;
    }

private:
    ChangeHistory& m_history;
    int m_change;
    bool m_fresh = true;
};

ChangeHistory::ChangeHistory(SessionController& controller, QObject* parent)
    : QObject(parent), m_controller(controller), m_known(controller.run().live.config)
{
    m_stack.setUndoLimit(kLimit);
    connect(&m_stack, &QUndoStack::indexChanged, this, &ChangeHistory::changed);
    connect(&controller, &SessionController::changeAnswered, this, &ChangeHistory::take);
    connect(&controller, &SessionController::liveChanged, this, &ChangeHistory::follow);
    connect(&controller, &SessionController::runStarted, this, &ChangeHistory::forgetScales);
    connect(&controller, &SessionController::pendingChanged, this, &ChangeHistory::work);
}

// The stack empties itself, of which nobody needs to hear any more.
ChangeHistory::~ChangeHistory() { m_stack.disconnect(this); }

bool ChangeHistory::canUndo() const { return m_stack.canUndo() && m_controller.state() != EngineState::Failed; }
bool ChangeHistory::canRedo() const { return m_stack.canRedo() && m_controller.state() != EngineState::Failed; }

void ChangeHistory::request(bool redo)
{
    m_waiting.push_back(redo);
    work();
}

void ChangeHistory::work()
{
    while (!m_waiting.empty() && !m_controller.hasUnansweredChanges()) {
        const bool redo = m_waiting.front();
        m_waiting.erase(m_waiting.begin());
        if (redo ? canRedo() : canUndo()) {
            m_sent = redo;
            redo ? m_stack.redo() : m_stack.undo();
        }
    }
}

void ChangeHistory::clear()
{
    m_waiting.clear();
    m_sent.reset();
    m_stack.clear();
    emit changed();
}

void ChangeHistory::take(const AnsweredCommand& answer)
{
    const Event& event = answer.event;
    if (event.kind == EventKind::Rejected) {
        if (answer.origin == Origin::History && m_sent) {
            // It is still to be undone, or redone.
            const QScopedValueRollback quiet(m_silent, true);
            m_stack.setIndex(m_stack.index() + (*m_sent ? -1 : 1));
            m_sent.reset();
        }
        return;
    }
    auto entry = std::make_unique<Entry>(*this, answer.change);
    if (event.key == "scale") {
        const double before = parseDouble(event.oldValue).value_or(0.0);
        const double after = parseDouble(event.newValue).value_or(0.0);
        if (before != after) {
            entry->scale = {before, after};
        }
    } else {
        RunConfig next = m_known;
        if (editSetting(next, event.key, event.newValue)) {
            next = m_controller.run().live.config; // the engine knows better
        }
        entry->settings = settingDifferences(m_known, next);
        const PrecisionSince before = m_since;
        m_since.note(event);
        // The configuration may have had it already, and the schedule changed it: then it holds again.
        if (!entry->settings.empty() ? isPrecision(event.key) : matters(before.of(event.key), m_since.of(event.key))) {
            entry->since = {before, m_since};
        }
        const double scale = scaleBefore(event.step);
        if (m_known.scaler.enabled &&
            (!next.scaler.enabled || scale < lowestScale(next.scaler) || scale > highestScale(next.scaler))) {
            entry->lostScale = scale;
        }
        m_known = next;
    }
    if (answer.origin != Origin::User) {
        return;
    }
    m_sent.reset();
    if (entry->isNothing()) {
        return;
    }
    entry->commands = {event};
    entry->setText(textOf(entry->commands));
    m_stack.push(entry.release()); // owns it; merges it with the one before if that is of the same change
}

// The scale in force when a step began.
double ChangeHistory::scaleBefore(std::int64_t step) const
{
    const StepHistory& steps = m_controller.run().steps;
    const std::int64_t before = std::min(step - 1, static_cast<std::int64_t>(steps.size()));
    return before < 1 ? m_known.scaler.initialScale
                      : static_cast<double>(steps[static_cast<std::size_t>(before - 1)].scaleNext);
}

void ChangeHistory::send(const Entry& entry, bool forwards)
{
    if (m_silent) {
        return;
    }
    const SessionController::ChangeGroup group(m_controller);
    RunConfig from = m_known;
    if (entry.since) {
        sendPrecision(entry, forwards, from);
    }
    std::vector<std::pair<std::string, std::string>> wanted;
    for (const SettingDifference& one : entry.settings) {
        if (!entry.since || !isPrecision(one.key)) {
            wanted.emplace_back(one.key, forwards ? one.after : one.before);
        }
    }
    for (const auto& [key, value] : commandsTowards(from, wanted)) {
        m_controller.setSetting(QString::fromStdString(key), QString::fromStdString(value), Origin::History);
    }
    if (entry.scale) {
        m_controller.setScale(forwards ? entry.scale->second : entry.scale->first, false, Origin::History);
    } else if (entry.lostScale && !forwards) {
        m_controller.setScale(*entry.lostScale, false, Origin::History);
    }
}

// The precision with the steps since which it held, so that what the schedule has set since then stays: preset first,
// it forgets the formats of single modules.
void ChangeHistory::sendPrecision(const Entry& entry, bool forwards, RunConfig& from)
{
    const PrecisionSince& target = forwards ? entry.since->second : entry.since->first;
    PrecisionSince now = m_since;
    const auto wanted = [&](const std::string& key) {
        const auto changed = std::ranges::find(entry.settings, key, &SettingDifference::key);
        return changed == entry.settings.end() ? settingValue(m_known, key)
                                               : (forwards ? changed->after : changed->before);
    };
    for (const std::string& key : liveKeys(m_known)) { // precision stands before its modules
        if (!isPrecision(key)) {
            continue;
        }
        const std::string value = wanted(key);
        const std::int64_t since = target.of(key);
        if ((settingValue(from, key) == value && !matters(now.of(key), since)) || editSetting(from, key, value)) {
            continue;
        }
        if (key == "precision") {
            now = {since, {}};
        } else {
            now.modules[key] = since;
        }
        m_controller.setSetting(QString::fromStdString(key), QString::fromStdString(value), Origin::History, since);
    }
}

// Whether it makes a difference since which of two steps a precision holds: the schedule has set one since.
bool ChangeHistory::matters(std::int64_t since, std::int64_t other) const
{
    return since != other && std::ranges::any_of(m_controller.run().events, [&](const Event& event) {
               return event.kind == EventKind::Scheduled && event.step >= std::min(since, other);
           });
}

void ChangeHistory::follow()
{
    // Whatever else moves the configuration.
    if (!m_controller.hasUnansweredChanges()) {
        m_known = m_controller.run().live.config;
    }
    emit changed();
}

// A restart keeps the settings, but the scales belonged to the run that is forgotten.
void ChangeHistory::forgetScales()
{
    m_sent.reset();
    m_known = m_controller.run().live.config;
    m_since = {}; // all of the configuration holds from the start
    const QScopedValueRollback quiet(m_silent, true);
    std::vector<std::unique_ptr<Entry>> kept;
    int index = 0;
    for (int i = 0; i < m_stack.count(); ++i) {
        const auto& old = static_cast<const Entry&>(*m_stack.command(i));
        if (old.settings.empty()) {
            continue;
        }
        auto entry = std::make_unique<Entry>(*this, old.id());
        entry->settings = old.settings;
        if (old.since) {
            entry->since.emplace(); // all of it from the start
        }
        entry->commands = old.commands;
        std::erase_if(entry->commands, [](const Event& command) { return command.key == "scale"; });
        entry->setText(textOf(entry->commands));
        index += i < m_stack.index() ? 1 : 0;
        kept.push_back(std::move(entry));
    }
    m_stack.clear();
    for (auto& entry : kept) {
        m_stack.push(entry.release());
    }
    m_stack.setIndex(index);
    emit changed();
}

} // namespace halfscope
