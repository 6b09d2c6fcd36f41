// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/command_line.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <memory>

#include "app/exit_status.h"
#include "app/help_text.h"
#include "engine/core/nearest_word.h"
#include "engine/core/number_text.h"
#include "engine/core/version.h"
#include "engine/train/settings_registry.h"

namespace halfscope {

namespace {

std::string inQuotes(std::string_view text) { return '"' + std::string(text) + '"'; }

// CLI11 prints its own errors and texts in its own way; here it only cuts the command line into options.
class Parser {
public:
    Parser();
    CommandLine parse(std::vector<std::string> arguments, std::string& verb);

private:
    CLI::App* addVerb(const std::string& name, const std::string& description, const char* footer);
    void addWindow();
    void addTrain();
    void addCompare();
    void addSimulate();
    void addNumber();
    void addInfo();
    void addConfig(CLI::App& app, bool replay);

    CommandLine result(const CLI::App* verb);
    WindowOptions window();
    TrainOptions train();
    CompareOptions compare();
    std::string unexpected(const CLI::App& app) const;

    CLI::App m_app{"HalfScope: an oscilloscope for mixed-precision training", "halfscope"};
    ConfigOptions m_config;
    std::string m_text;
    std::string m_seed;
    std::string m_steps;
    std::string m_epochs;
    // window
    std::string m_screenshot;
    std::string m_size;
    std::string m_theme;
    TrainOptions m_train;
    CompareOptions m_compare;
    SimulateOptions m_simulate;
    NumberOptions m_number;
    InfoOptions m_info;
};

CLI::Option* addText(CLI::App& app, const std::string& name, std::string& value, const std::string& type,
                     const std::string& description)
{
    return app.add_option(name, value, description)->type_name(type);
}

// Each use takes one value, so that what follows is not swallowed.
CLI::Option* addTexts(CLI::App& app, const std::string& name, std::vector<std::string>& values, const std::string& type,
                      const std::string& description)
{
    return app.add_option(name, values, description)
        ->type_name(type)
        ->expected(1)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

Parser::Parser()
{
    m_app.get_formatter()->column_width(30);
    m_app.require_subcommand(0, 1);
    m_app.set_version_flag("--version", "HalfScope " + std::string(programVersion()), "print the version and exit");
    m_app.set_help_flag("-h,--help", "print this help and exit");
    m_app.footer(help::kMain);
    addWindow();
    addTrain();
    addCompare();
    addSimulate();
    addNumber();
    addInfo();
}

CLI::App* Parser::addVerb(const std::string& name, const std::string& description, const char* footer)
{
    CLI::App* verb = m_app.add_subcommand(name, description);
    verb->footer(footer);
    return verb;
}

void Parser::addConfig(CLI::App& app, bool replay)
{
    std::string experimentKeys;
    for (const Experiment& experiment : experiments())
        experimentKeys += (experimentKeys.empty() ? "" : ", ") + std::string(experiment.key);
    addText(app, "--experiment", m_config.experiment, "KEY", "what to begin with: " + experimentKeys);
    addText(app, "--config", m_config.configFile, "FILE", "configuration as JSON (a run.json will do)");
    if (replay)
        addText(app, "--replay", m_train.replay, "FILE",
                "run.json of an earlier run: its configuration, seed, commands and number of steps");
    addText(app, "--text", m_text, "FILE", "UTF-8 text to train on");
    addText(app, "--seed", m_seed, "N", "the run's seed");
    addTexts(app, "--set", m_config.settings, "KEY=VALUE", "change a setting; may be given often");
}

void Parser::addWindow()
{
    addConfig(m_app, false);
    addText(m_app, "--theme", m_theme, "dark|light", "colours; without it as the system has them");
    addText(m_app, "--size", m_size, "WxH", "size of the window, as 1600x1000");
    addText(m_app, "--screenshot", m_screenshot, "FILE",
            "run some steps without a display, save a picture of the window");
    addText(m_app, "--steps", m_steps, "N", "steps before the picture (300)");
}

void Parser::addTrain()
{
    CLI::App& app = *addVerb("train", "train without a window and write CSV files", help::kTrain);
    addText(app, "--steps", m_steps, "N", "steps to run (as long as the experiment says)");
    addText(app, "--epochs", m_epochs, "N", "run for so many passes over the training data instead");
    addText(app, "--csv", m_train.csvFolder, "DIR", "folder for the files of the run");
    addConfig(app, true);
    addTexts(app, "--at", m_train.at, "STEP:KEY=VALUE", "change a live setting, or the scale, before that step");
    addTexts(app, "--inject", m_train.injections, "STEP:MODULE:FACTOR", "multiply a gradient in that step, see below");
    app.add_flag("--continue-on-cpu", m_train.continueOnCpu,
                 "where the backend fails: go on on the CPU from the last good state");
    app.add_flag("-q,--quiet", m_train.quiet, "no progress, no summary");
    app.add_flag("--list-settings", m_train.listSettings, "print every key with default, range and meaning");
}

void Parser::addCompare()
{
    CLI::App& app = *addVerb("compare", "train the same task in several formats and compare them", help::kCompare);
    addText(app, "--formats", m_compare.formats, "LIST", std::string("precision presets (") + kDefaultFormats + ")");
    addText(app, "--seeds", m_compare.seeds, "N", "runs of each format, from seeds that follow each other (3)");
    addText(app, "--steps", m_steps, "N", "steps of each run (300)");
    addText(app, "--csv", m_compare.csvFolder, "DIR", "folder for the tables, and for what is done so far");
    app.add_flag("--resume", m_compare.resume, "go on with the comparison in DIR");
    addConfig(app, false);
    app.add_flag("-q,--quiet", m_compare.quiet, "no progress, only the table");
}

void Parser::addSimulate()
{
    CLI::App& app = *addVerb("simulate", "run a scaler's rule on a sequence of overflows", help::kSimulate);
    addText(app, "--preset", m_simulate.preset, "KEY", "the scaler's preset (pytorch)");
    addText(app, "--overflows", m_simulate.overflows, "SEQ", "the sequence, as ..x.xx");
    addText(app, "--overflows-file", m_simulate.overflowsFile, "FILE", "a file that holds it; - is the standard input");
    addText(app, "--limit", m_simulate.limit, "SCALE", "instead of a sequence: every step above this scale overflows");
    addText(app, "--steps", m_simulate.steps, "N", "how many steps, with --limit");
    addText(app, "--state", m_simulate.stateFile, "FILE", "start from a state that --save-state left");
    addText(app, "--save-state", m_simulate.saveStateFile, "FILE", "save the scaler's whole state at the end");
    addTexts(app, "--set", m_simulate.settings, "KEY=VALUE", "change a setting of the scaler; may be given often");
    addTexts(app, "--at", m_simulate.at, "STEP:KEY=VALUE", "change one before that step");
}

void Parser::addNumber()
{
    CLI::App& app = *addVerb("number", "a number in every format: bits, stored value, class, error", help::kNumber);
    app.add_flag("--csv", m_number.csv, "print CSV instead of a table");
    addText(app, "--scale", m_number.scale, "S", "a loss scale: also what it saves or loses");
    app.add_option("VALUE", m_number.values, "numbers")->type_name("");
}

void Parser::addInfo()
{
    CLI::App& app = *addVerb("info", "what this machine offers: backends, formats, presets", help::kInfo);
    app.add_flag("--measure", m_info.measure, "measure how fast matrix products are here, by format");
    app.add_flag("--csv", m_info.csv, "print what the machine can do as CSV, and nothing else");
}

// `halfscope number -inf -.5`: these are values, not options. Options go first, values behind "--".
std::vector<std::string> shieldNumbers(const std::vector<std::string>& arguments)
{
    if (arguments.empty() || arguments.front() != "number")
        return arguments;
    std::vector<std::string> options = {"number"};
    std::vector<std::string> values;
    bool allValues = false;
    for (auto it = arguments.begin() + 1; it != arguments.end(); ++it) {
        if (*it == "--" && !allValues)
            allValues = true;
        else if (!allValues && (it->starts_with("--") || *it == "-h"))
            options.push_back(*it);
        else
            values.push_back(*it);
        if (!allValues && *it == "--scale") {
            if (it + 1 == arguments.end())
                throw UsageError("--scale needs one value; see halfscope number --help.");
            options.push_back(*++it);
        }
    }
    options.push_back("--");
    options.insert(options.end(), values.begin(), values.end());
    return options;
}

std::vector<std::string> longOptions(const CLI::App& app)
{
    std::vector<std::string> names;
    for (const CLI::Option* option : app.get_options()) {
        for (const std::string& name : option->get_lnames())
            names.push_back("--" + name);
    }
    return names;
}

std::string Parser::unexpected(const CLI::App& app) const
{
    const std::vector<std::string> rest = app.remaining(true);
    const std::string given = rest.empty() ? std::string() : rest.front();
    const std::string name = given.substr(0, given.find('='));
    if (!name.starts_with('-')) {
        if (&app != &m_app)
            return "There is no use for " + inQuotes(given) + " here; see halfscope " + app.get_name() + " --help.";
        std::vector<std::string_view> verbs;
        for (const CLI::App* verb : m_app.get_subcommands([](const CLI::App*) { return true; }))
            verbs.push_back(verb->get_name());
        std::sort(verbs.begin(), verbs.end());
        return "There is no verb " + inQuotes(given) + nearestHint(given, verbs);
    }
    if (name.starts_with("--") && findSetting(name.substr(2)))
        return name.substr(2) + " is a setting; write --set " + name.substr(2) + "=VALUE.";
    const std::vector<std::string> names = longOptions(app);
    const std::vector<std::string_view> views(names.begin(), names.end());
    if (const std::string_view nearest = nearestWord(name, views); !nearest.empty())
        return "There is no option " + name + "; the nearest is " + std::string(nearest) + ".";
    return "There is no option " + name + "; --help lists those there are.";
}

std::optional<std::int64_t> parseCount(const std::string& option, const std::string& text)
{
    if (text.empty())
        return std::nullopt;
    const std::optional<std::int64_t> steps = parseInteger(text);
    if (!steps || *steps < 1 || *steps > kMostSteps)
        throw UsageError(option + " " + inQuotes(text) + " must be a whole number from 1 to " + numberText(kMostSteps) +
                         ".");
    return steps;
}

WindowOptions Parser::window()
{
    WindowOptions options;
    options.config = buildConfig(m_config);
    options.deviceGiven =
        !m_config.configFile.empty() || std::ranges::any_of(m_config.settings, [](const std::string& s) {
            return s.starts_with("backend=") || s.starts_with("device=");
        });
    if (!m_theme.empty() && m_theme != "dark" && m_theme != "light")
        throw UsageError("--theme " + inQuotes(m_theme) + " must be dark or light.");
    if (!m_theme.empty())
        options.theme = m_theme == "dark" ? WindowTheme::Dark : WindowTheme::Light;
    if (!m_size.empty()) {
        const std::size_t cross = std::min(m_size.find('x'), m_size.size());
        const std::optional<std::int64_t> width = parseInteger(std::string_view(m_size).substr(0, cross));
        const std::optional<std::int64_t> height =
            parseInteger(std::string_view(m_size).substr(std::min(cross + 1, m_size.size())));
        const auto fits = [](const std::optional<std::int64_t>& n) { return n && *n >= 200 && *n <= 16384; };
        if (!fits(width) || !fits(height))
            throw UsageError("--size " + inQuotes(m_size) +
                             " must be WIDTHxHEIGHT, each from 200 to 16384, as in 1600x1000.");
        options.width = static_cast<int>(*width);
        options.height = static_cast<int>(*height);
    }
    const std::optional<std::int64_t> steps = parseCount("--steps", m_steps);
    options.screenshot = m_screenshot;
    if (steps && m_screenshot.empty())
        throw UsageError("--steps goes with --screenshot FILE; to run without a window use halfscope train --steps.");
    options.steps = steps.value_or(options.steps);
    return options;
}

TrainOptions Parser::train()
{
    TrainOptions options = m_train;
    options.config = m_config;
    options.steps = parseCount("--steps", m_steps);
    options.epochs = parseCount("--epochs", m_epochs);
    return options;
}

CompareOptions Parser::compare()
{
    CompareOptions options = m_compare;
    options.config = m_config;
    options.steps = m_steps;
    return options;
}

CommandLine Parser::result(const CLI::App* verb)
{
    if (!m_text.empty())
        m_config.text = m_text;
    if (!m_seed.empty())
        m_config.seed = m_seed;
    const std::string name = verb ? verb->get_name() : std::string();
    if (name == "train")
        return train();
    if (name == "compare")
        return compare();
    if (name == "simulate")
        return m_simulate;
    if (name == "number")
        return m_number;
    if (name == "info")
        return m_info;
    return window();
}

CommandLine Parser::parse(std::vector<std::string> arguments, std::string& verb)
{
    // The verb comes first: before it, options would be the window's and then be ignored.
    const auto verbs = m_app.get_subcommands([](const CLI::App*) { return true; });
    const CLI::App* chosen = nullptr;
    for (const CLI::App* candidate : verbs) {
        if (!arguments.empty() && arguments.front() == candidate->get_name())
            chosen = candidate;
    }
    if (chosen)
        verb = chosen->get_name();
    arguments = shieldNumbers(arguments);
    std::reverse(arguments.begin(), arguments.end()); // CLI11 takes them from the back
    const CLI::App& app = chosen ? *chosen : m_app;
    try {
        m_app.parse(arguments);
    } catch (const CLI::CallForHelp&) {
        return PrintText{app.help(chosen ? "halfscope" : "")};
    } catch (const CLI::CallForAllHelp&) {
        return PrintText{app.help(chosen ? "halfscope" : "")};
    } catch (const CLI::CallForVersion& e) {
        return PrintText{std::string(e.what()) + "\n"};
    } catch (const CLI::ExtrasError&) {
        throw UsageError(unexpected(app));
    } catch (const CLI::ArgumentMismatch& e) {
        const std::string what = e.what(); // "--steps: 1 required N missing"
        throw UsageError(what.substr(0, what.find(':')) + " needs one value; see halfscope " +
                         (verb.empty() ? "" : verb + " ") + "--help.");
    } catch (const CLI::ParseError& e) {
        throw UsageError(std::string(e.what()) + "; see halfscope " + (verb.empty() ? "" : verb + " ") + "--help.");
    }
    for (const CLI::Option* option : app.get_options()) {
        // An empty text, from an unset shell variable say, would be taken for an option that was not given.
        const bool empty = option->count() > 0 && option->get_expected_max() > 0 && option->results().front().empty();
        if (empty && option->get_name() != "--text")
            throw UsageError(option->get_name() + " needs a value that is not empty.");
    }
    if (!chosen && !m_app.get_subcommands().empty())
        throw UsageError("The verb comes first: halfscope " + m_app.get_subcommands().front()->get_name() +
                         " [options].");
    return result(chosen);
}

} // namespace

CommandLine parseCommandLine(const std::vector<std::string>& arguments, std::string& verb)
{
    return Parser().parse(arguments, verb);
}

} // namespace halfscope
