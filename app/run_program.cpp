// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/run_program.h"

#include <algorithm>
#include <exception>
#include <iostream>
#include <string>
#include <vector>

#include "app/command_line.h"
#include "app/exit_status.h"
#include "app/output.h"
#include "engine/core/error_text.h"

namespace halfscope {

namespace {

// One overload for each thing that can be asked for.
struct Runner {
    int& argc;
    char** argv;

    int operator()(const WindowOptions& options) const { return runWindow(options, argc, argv); }
    int operator()(const TrainOptions& options) const { return runTrain(options); }
    int operator()(const CompareOptions& options) const { return runCompare(options); }
    int operator()(const SimulateOptions& options) const { return runSimulate(options); }
    int operator()(const NumberOptions& options) const { return runNumber(options); }
    int operator()(const InfoOptions& options) const { return runInfo(options); }
    int operator()(const PrintText& print) const
    {
        writeOutput(print.text);
        flushOutput();
        return kExitDone;
    }
};

void complain(const std::string& verb, std::string sentence)
{
    // One line that fits a screen, whatever the user's text contains.
    std::replace_if(
        sentence.begin(), sentence.end(), [](unsigned char c) { return c < ' ' || c == 0x7F; }, ' ');
    constexpr std::size_t kMost = 600;
    if (sentence.size() > kMost)
        sentence = sentence.substr(0, kMost / 2) + " ... " + sentence.substr(sentence.size() - kMost / 2);
    std::cerr << "halfscope" << (verb.empty() ? "" : " ") << verb << ": " << sentence << '\n';
}

} // namespace

int runProgram(int& argc, char** argv)
{
    std::string verb;
    try {
        const std::vector<std::string> arguments(argv + std::min(argc, 1), argv + argc);
        return std::visit(Runner{argc, argv}, parseCommandLine(arguments, verb));
    } catch (const UsageError& e) {
        complain(verb, e.what());
        return kExitUsage;
    } catch (const std::exception& e) {
        complain(verb, errorText(e));
        return kExitFailed;
    }
}

} // namespace halfscope
