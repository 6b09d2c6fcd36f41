// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/progress.h"

#include <array>
#include <charconv>
#include <cmath>
#include <sys/ioctl.h>
#include <unistd.h>

#include "app/output.h"
#include "engine/core/number_text.h"

namespace halfscope {

namespace {

using namespace std::chrono_literals;

double secondsBetween(std::chrono::steady_clock::time_point a, std::chrono::steady_clock::time_point b)
{
    return std::chrono::duration<double>(b - a).count();
}

// A line that wraps could not be rewritten.
std::string fitted(const std::string& text)
{
    winsize size = {};
    const bool known = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1;
    return known ? text.substr(0, size.ws_col - 1U) : text;
}

} // namespace

std::string durationText(double seconds)
{
    const auto whole = static_cast<std::int64_t>(std::ceil(seconds));
    if (whole < 60)
        return numberText(whole) + " s";
    if (whole < 3600)
        return numberText(whole / 60) + " min " + numberText(whole % 60) + " s";
    return numberText(whole / 3600) + " h " + numberText(whole % 3600 / 60) + " min";
}

Progress::Progress(std::int64_t steps, Style style) : m_steps(steps), m_style(style)
{
    m_recent.emplace_back(m_start, 0);
}

double Progress::seconds() const { return secondsBetween(m_start, Clock::now()); }

bool Progress::due(std::int64_t step, Clock::time_point now) const
{
    if (step == m_steps)
        return true;
    if (m_style == Style::Terminal)
        return now - m_shown >= 100ms;
    return step * 10 / m_steps > m_shownTenth || now - m_shown >= 10s;
}

std::string Progress::line(const StepRecord& record, Clock::time_point now) const
{
    const auto& [since, first] = m_recent.front();
    const double rate = static_cast<double>(record.step - first) / std::max(secondsBetween(since, now), 1e-9);
    std::string text = "step " + numberText(record.step) + "/" + numberText(m_steps) + "  loss " +
                       fixedText(record.loss, 3) + "  scale " + powerText(static_cast<double>(record.scaleNext)) +
                       "  skipped " + numberText(record.skippedSteps) + "  " + fixedText(rate, 1) + " steps/s";
    if (record.step < m_steps)
        text += "  " + durationText(static_cast<double>(m_steps - record.step) / rate) + " left";
    return text;
}

void Progress::show(const StepRecord& record)
{
    if (m_style == Style::Silent)
        return;
    const Clock::time_point now = Clock::now();
    if (due(record.step, now)) {
        const std::string text = line(record, now);
        // On a terminal the line is rewritten, and what a longer one left behind is cleared.
        if (!tryOutput(m_style == Style::Terminal ? "\r" + fitted(text) + "\x1b[K" : text + "\n")) {
            m_style = Style::Silent; // nobody reads on
            return;
        }
        m_lineOpen = m_style == Style::Terminal;
        m_shown = now;
        m_shownTenth = record.step * 10 / m_steps;
    }
    // The rate is that of the last seconds, so that it follows when the machine gets busy.
    if (now - m_recent.back().first >= 100ms)
        m_recent.emplace_back(now, record.step);
    while (m_recent.size() > 2 && now - m_recent.front().first > 5s)
        m_recent.pop_front();
}

void Progress::note(const std::string& text)
{
    if (m_style == Style::Silent)
        return;
    const bool terminal = m_style == Style::Terminal;
    if (!tryOutput((terminal ? "\r\x1b[K" : "") + text + "\n"))
        m_style = Style::Silent;
    m_lineOpen = false;
}

void Progress::clear()
{
    if (m_lineOpen)
        tryOutput("\n");
    m_lineOpen = false;
}

} // namespace halfscope
