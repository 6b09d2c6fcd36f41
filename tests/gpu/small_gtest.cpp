// SPDX-License-Identifier: GPL-3.0-or-later
#include <gtest/gtest.h>

#include <exception>

namespace testing {

namespace {

constexpr int kMostShown = 5; // failures of a case

struct Current {
    std::string name;
    int failures = 0;
    std::string first;
};

Current& current()
{
    static Current one;
    return one;
}

} // namespace

std::vector<TestCase>& testCases()
{
    static std::vector<TestCase> all;
    return all;
}

void recordFailure(const char* file, int line, const std::string& what)
{
    Current& c = current();
    if (c.failures++ == 0)
        c.first = what;
    if (c.failures <= kMostShown)
        std::cout << "  " << file << ":" << line << ": " << what << std::endl;
}

Totals runTests(const std::string& beginning)
{
    Totals totals;
    for (const TestCase& test : testCases()) {
        if (!test.name.starts_with(beginning))
            continue;
        current() = {test.name, 0, {}};
        std::cout << test.name << std::endl;
        try {
            test.body();
        } catch (const std::exception& error) {
            recordFailure(test.name.c_str(), 0, error.what());
        }
        ++totals.run;
        if (current().failures > 0) {
            ++totals.failed;
            totals.failures.push_back(test.name + ": " + current().first);
        }
    }
    return totals;
}

} // namespace testing
