// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/app/process.h"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <poll.h>
#include <sstream>
#include <stdexcept>
#include <sys/wait.h>
#include <unistd.h>

namespace halfscope::test {

namespace {

constexpr std::chrono::minutes kPatience{2};

struct Pipe {
    Pipe()
    {
        if (pipe2(ends.data(), O_CLOEXEC) != 0)
            throw std::runtime_error("no pipe");
    }
    std::array<int, 2> ends{};
};

[[noreturn]] void becomeProgram(const std::vector<std::string>& arguments, const ProcessOptions& options, int in,
                                int out, int err)
{
    dup2(in, STDIN_FILENO);
    dup2(options.output.empty() ? out : open(options.output.c_str(), O_WRONLY | O_CLOEXEC), STDOUT_FILENO);
    dup2(err, STDERR_FILENO);
    unsetenv("DISPLAY"); // the verbs need none
    unsetenv("WAYLAND_DISPLAY");
    for (const auto& [name, value] : options.environment)
        setenv(name.c_str(), value.c_str(), 1);
    std::vector<char*> argv = {const_cast<char*>("halfscope")};
    for (const std::string& argument : arguments)
        argv.push_back(const_cast<char*>(argument.c_str()));
    argv.push_back(nullptr);
    execv(HALFSCOPE_BINARY, argv.data());
    _exit(127);
}

void feed(int fd, const std::string& text)
{
    std::size_t done = 0;
    while (done < text.size()) {
        const ssize_t n = write(fd, text.data() + done, text.size() - done);
        if (n <= 0)
            break; // the program may end without reading everything
        done += static_cast<std::size_t>(n);
    }
    close(fd);
}

} // namespace

ProcessResult run(const std::vector<std::string>& arguments, const ProcessOptions& options)
{
    const Pipe in;
    const Pipe out;
    const Pipe err;
    const pid_t child = fork();
    if (child == 0)
        becomeProgram(arguments, options, in.ends[0], out.ends[1], err.ends[1]);
    close(in.ends[0]);
    close(out.ends[1]);
    close(err.ends[1]);
    auto* const before = std::signal(SIGPIPE, SIG_IGN);
    feed(in.ends[1], options.input);
    std::signal(SIGPIPE, before);

    ProcessResult result;
    std::array<pollfd, 2> watched = {pollfd{out.ends[0], POLLIN, 0}, pollfd{err.ends[0], POLLIN, 0}};
    bool signalled = options.signal == 0;
    const auto deadline = std::chrono::steady_clock::now() + kPatience;
    while (watched[0].fd >= 0 || watched[1].fd >= 0) {
        if (std::chrono::steady_clock::now() > deadline) {
            ADD_FAILURE() << "the program did not end; so far it said: " << result.out << result.err;
            kill(child, SIGKILL);
            break;
        }
        poll(watched.data(), watched.size(), 1000);
        for (pollfd& w : watched) {
            if (w.fd < 0 || w.revents == 0)
                continue;
            std::array<char, 65536> buffer;
            const ssize_t n = read(w.fd, buffer.data(), buffer.size());
            if (n <= 0) {
                close(w.fd);
                w.fd = -1;
                continue;
            }
            (&w == watched.data() ? result.out : result.err).append(buffer.data(), static_cast<std::size_t>(n));
        }
        if (!signalled && result.out.find(options.signalAfter) != std::string::npos) {
            kill(child, options.signal);
            signalled = true;
        }
    }
    int status = 0;
    waitpid(child, &status, 0);
    result.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    return result;
}

std::vector<std::string> lines(const std::string& text)
{
    EXPECT_TRUE(text.empty() || text.back() == '\n') << "the last line is not complete: " << text;
    std::vector<std::string> all;
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);)
        all.push_back(line);
    return all;
}

std::vector<std::string> fields(const std::string& line)
{
    std::vector<std::string> all(1);
    for (const char c : line) {
        if (c == ',')
            all.emplace_back();
        else
            all.back() += c;
    }
    return all;
}

std::string readFile(const std::string& path)
{
    std::ifstream in(path, std::ios::binary);
    EXPECT_TRUE(in.is_open()) << path;
    return std::string(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
}

std::string writeChanged(const std::string& from, const std::string& what, const std::string& by, const std::string& to)
{
    std::string text = readFile(from);
    const std::size_t at = text.find(what);
    EXPECT_NE(at, std::string::npos) << what;
    if (at != std::string::npos)
        text.replace(at, what.size(), by);
    std::ofstream(to, std::ios::binary) << text;
    return to;
}

TemporaryFolder::TemporaryFolder()
{
    std::string pattern = (std::filesystem::temp_directory_path() / "halfscope-test-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr)
        throw std::runtime_error("no temporary folder");
    m_path = pattern;
}

TemporaryFolder::~TemporaryFolder()
{
    std::error_code ignored;
    std::filesystem::permissions(m_path, std::filesystem::perms::owner_all, ignored);
    std::filesystem::remove_all(m_path, ignored);
}

} // namespace halfscope::test
