// SPDX-License-Identifier: GPL-3.0-or-later
// Runs the built program as its users do and hands back what it said.
#pragma once

#include <chrono>
#include <string>
#include <utility>
#include <vector>

namespace halfscope::test {

struct ProcessResult {
    int status = -1; // exit status; 128 + signal when a signal ended it
    std::string out;
    std::string err;
};

struct ProcessOptions {
    std::vector<std::pair<std::string, std::string>> environment = {}; // set on top of this process's
    std::string input = {};                                            // for its standard input
    std::string output = {};                                           // a file instead of the standard output
    int signal = 0;                                                    // sent when `signalAfter` appears in its output
    std::string signalAfter = {};
};

// The program under test with these arguments. Fails the test, and kills the program, after two minutes.
ProcessResult run(const std::vector<std::string>& arguments, const ProcessOptions& options = {});

// Lines without their '\n'; every line must end in one.
std::vector<std::string> lines(const std::string& text);
// Comma-separated fields; for files without quotes.
std::vector<std::string> fields(const std::string& line);
std::string readFile(const std::string& path);
// Writes a copy of the file with its first `what` replaced by `by`, which must be there; returns `to`.
std::string writeChanged(const std::string& from, const std::string& what, const std::string& by,
                         const std::string& to);

// A new, empty folder that is removed with everything in it.
class TemporaryFolder {
public:
    TemporaryFolder();
    TemporaryFolder(const TemporaryFolder&) = delete;
    TemporaryFolder& operator=(const TemporaryFolder&) = delete;
    ~TemporaryFolder();
    const std::string& path() const { return m_path; }
    std::string operator/(const std::string& name) const { return m_path + "/" + name; }

private:
    std::string m_path;
};

} // namespace halfscope::test
