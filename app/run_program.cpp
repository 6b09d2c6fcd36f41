// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/run_program.h"

#include <algorithm>
#include <exception>
#include <iostream>
#include <new>
#include <string>
#include <vector>

#include "app/command_line.h"
#include "app/exit_status.h"
#include "app/info_verb.h"
#include "app/output.h"

namespace halfscope {

namespace {

// One overload for each thing that can be asked for.
struct Runner {
    int& argc;
    char** argv;

    int operator()(const WindowOptions& options) const { return runWindow(options, argc, argv); }
    int operator()(const TrainOptions& options) const { return runTrain(options); }
    int operator()(const SimulateOptions& options) const { return runSimulate(options); }
    int operator()(const NumberOptions& options) const { return runNumber(options); }
    int operator()(const InfoOptions&) const { return runInfo(); }
    int operator()(const PrintText& print) const
    {
        writeOutput(print.text);
        flushOutput();
        return kExitDone;
    }
};

void complain(const std::string& verb, std::string sentence)
{
    std::replace(sentence.begin(), sentence.end(), '\n', ' '); // one line, whatever the user's text contains
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
    } catch (const std::bad_alloc&) {
        complain(verb, "There is not enough memory for this; choose a smaller model or batch.");
        return kExitFailed;
    } catch (const std::exception& e) {
        complain(verb, e.what());
        return kExitFailed;
    }
}

} // namespace halfscope
