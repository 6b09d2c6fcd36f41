// SPDX-License-Identifier: GPL-3.0-or-later
// The whole FP32 training step against the same model in PyTorch, some steps of each in turn, so that whatever else the
// machine does hits both alike. One thread: processor time; two: wall time. `vs_torch` is the median of the ratios of
// neighbours. HALFSCOPE_TORCH_PEER is the path of torch_step.py; without it there is nothing to run.
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <memory>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>

#include <sys/wait.h>
#include <unistd.h>

#include "engine/train/trainer.h"
#include "tests/bench/step_sizes.h"
#include "tests/bench/yardsticks.h"

namespace halfscope {
namespace {

// PyTorch in a process of its own, which trains when asked and says how long that took.
class TorchPeer {
public:
    TorchPeer(const char* script, const Size& size, int vocabulary, int threads)
    {
        int question[2];
        int answer[2];
        if (::pipe2(question, O_CLOEXEC) != 0 || ::pipe2(answer, O_CLOEXEC) != 0)
            throw std::system_error(errno, std::generic_category(), "pipe");
        std::vector<std::string> words = {"/usr/bin/python3", script};
        for (const int number : {size.width, size.depth, size.heads, size.context, size.batch, vocabulary, threads})
            words.push_back(std::to_string(number));
        std::vector<char*> arguments;
        for (std::string& word : words)
            arguments.push_back(word.data());
        arguments.push_back(nullptr);
        m_child = ::fork();
        if (m_child == 0) {
            ::dup2(question[0], STDIN_FILENO);
            ::dup2(answer[1], STDOUT_FILENO);
            ::execv(arguments[0], arguments.data());
            ::_exit(127);
        }
        ::close(question[0]);
        ::close(answer[1]);
        m_to = ::fdopen(question[1], "w");
        m_from = ::fdopen(answer[0], "r");
    }
    TorchPeer(const TorchPeer&) = delete;
    TorchPeer& operator=(const TorchPeer&) = delete;
    ~TorchPeer() // the end of its input ends it
    {
        std::fclose(m_to);
        std::fclose(m_from);
        ::waitpid(m_child, nullptr, 0);
    }

    // Seconds a step, the median of `steps`.
    double train(int steps)
    {
        double seconds = 0.0;
        std::fprintf(m_to, "%d\n", steps);
        std::fflush(m_to);
        if (std::fscanf(m_from, "%lf", &seconds) != 1)
            throw std::runtime_error("PyTorch does not answer; is python3-torch installed?");
        return seconds;
    }

private:
    pid_t m_child = -1;
    std::FILE* m_to = nullptr;
    std::FILE* m_from = nullptr;
};

void torchStep(benchmark::State& state, const Size& size, int threads, const char* script)
{
    Trainer trainer(configuration(size, threads, "fp32", Statistics::Off));
    TorchPeer peer(script, size, trainer.info().model.vocabulary, threads);
    const int steps = size.width <= 64 ? 20 : size.width <= 128 ? 5 : 2; // in turn
    std::vector<double> ours;
    std::vector<double> theirs;
    std::vector<double> ratios;
    peer.train(5);
    for (int i = 0; i < 5; ++i)
        trainer.step();
    for (auto _ : state) {
        theirs.push_back(peer.train(steps));
        std::this_thread::sleep_for(std::chrono::milliseconds(20)); // its threads spin for a while
        std::vector<double> times;
        for (int i = 0; i < steps; ++i) {
            const double begin = now(threads);
            trainer.step();
            times.push_back(now(threads) - begin);
        }
        ours.push_back(median(times));
        ratios.push_back(ours.back() / theirs.back());
    }
    state.counters["vs_torch"] = median(ratios);
    state.counters["ours_ms"] = median(ours) * 1e3;
    state.counters["torch_ms"] = median(theirs) * 1e3;
    state.SetLabel(std::string(simdLevelName(activeSimdLevel())));
}

const bool registered = [] {
    const char* script = std::getenv("HALFSCOPE_TORCH_PEER");
    if (script == nullptr)
        return false;
    for (const Size& size : kSizes)
        for (const int threads : {1, 2})
            benchmark::RegisterBenchmark(
                (std::string("torch/") + size.name + "/threads:" + std::to_string(threads)).c_str(), torchStep, size,
                threads, script)
                ->UseRealTime();
    return true;
}();

} // namespace
} // namespace halfscope
