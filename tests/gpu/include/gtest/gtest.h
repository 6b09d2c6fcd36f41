// SPDX-License-Identifier: GPL-3.0-or-later
// The part of GoogleTest that the backend's cases use, for machines that have a GPU and little else: the same files are
// compiled against the real one everywhere else. runTests() is ours.
#pragma once

#include <cmath>
#include <functional>
#include <iostream>
#include <sstream>
#include <string>
#include <type_traits>
#include <vector>

namespace testing {

struct TestCase {
    std::string name;
    std::function<void()> body;
};
std::vector<TestCase>& testCases();

struct Totals {
    int run = 0;
    int failed = 0;
    std::vector<std::string> failures; // the first of each case
};
// Runs the cases whose names begin so, printing names and failures; what a case throws is a failure of it.
Totals runTests(const std::string& beginning);

struct Registrar {
    Registrar(const char* suite, const char* name, std::function<void()> body)
    {
        testCases().push_back({std::string(suite) + "." + name, std::move(body)});
    }
};

void recordFailure(const char* file, int line, const std::string& what);

// Takes what is streamed into a check that failed.
class Message {
public:
    template <typename T>
    Message& operator<<(const T& value)
    {
        m_text << value;
        return *this;
    }
    std::string text() const { return m_text.str(); }

private:
    std::ostringstream m_text;
};

class Failure {
public:
    Failure(const char* file, int line, std::string what) : m_file(file), m_line(line), m_what(std::move(what)) {}
    void operator=(const Message& message) const
    {
        recordFailure(m_file, m_line, m_what + (message.text().empty() ? "" : "\n    " + message.text()));
    }

private:
    const char* m_file;
    int m_line;
    std::string m_what;
};

template <typename T>
std::string show(const T& value)
{
    if constexpr (requires(std::ostream & out) { out << value; }) {
        std::ostringstream out;
        out.precision(9);
        out << value;
        return out.str();
    } else {
        return "(values of " + std::to_string(sizeof(T)) + " bytes)";
    }
}

// Empty: it holds.
template <typename A, typename B>
std::string unequal(const char* names, const A& a, const B& b)
{
    return a == b ? std::string() : std::string(names) + ": " + show(a) + " is not " + show(b);
}

inline std::string apart(const char* names, double a, double b, double most)
{
    return std::fabs(a - b) <= most
               ? std::string()
               : std::string(names) + ": " + show(a) + " and " + show(b) + " differ by more than " + show(most);
}

} // namespace testing

#define TEST(suite, name)                                                                                              \
    static void suite##_##name##_Test();                                                                               \
    static const ::testing::Registrar suite##_##name##_registrar(#suite, #name, suite##_##name##_Test);                \
    static void suite##_##name##_Test()

#define HALFSCOPE_CHECK(problem, leave)                                                                                \
    if (const std::string halfscopeProblem = (problem); halfscopeProblem.empty()) {                                    \
    } else                                                                                                             \
        leave ::testing::Failure(__FILE__, __LINE__, halfscopeProblem) = ::testing::Message()

#define HALFSCOPE_TRUE(condition) ((condition) ? std::string() : std::string(#condition " is false"))
#define EXPECT_TRUE(condition) HALFSCOPE_CHECK(HALFSCOPE_TRUE(condition), )
#define EXPECT_FALSE(condition) HALFSCOPE_CHECK(HALFSCOPE_TRUE(!(condition)), )
#define EXPECT_EQ(a, b) HALFSCOPE_CHECK(::testing::unequal(#a " == " #b, a, b), )
#define EXPECT_NE(a, b) HALFSCOPE_CHECK(HALFSCOPE_TRUE((a) != (b)), )
#define EXPECT_GE(a, b) HALFSCOPE_CHECK(HALFSCOPE_TRUE((a) >= (b)), )
#define EXPECT_GT(a, b) HALFSCOPE_CHECK(HALFSCOPE_TRUE((a) > (b)), )
#define EXPECT_LT(a, b) HALFSCOPE_CHECK(HALFSCOPE_TRUE((a) < (b)), )
#define EXPECT_NEAR(a, b, most) HALFSCOPE_CHECK(::testing::apart(#a ", " #b, a, b, most), )
#define ASSERT_TRUE(condition) HALFSCOPE_CHECK(HALFSCOPE_TRUE(condition), return )
#define ASSERT_FALSE(condition) HALFSCOPE_CHECK(HALFSCOPE_TRUE(!(condition)), return )
#define ASSERT_EQ(a, b) HALFSCOPE_CHECK(::testing::unequal(#a " == " #b, a, b), return )
#define FAIL() return ::testing::Failure(__FILE__, __LINE__, "failed") = ::testing::Message()
#define EXPECT_THROW(statement, type)                                                                                  \
    HALFSCOPE_CHECK(([&]() -> std::string {                                                                            \
                        try {                                                                                          \
                            statement;                                                                                 \
                        } catch (const type&) {                                                                        \
                            return {};                                                                                 \
                        }                                                                                              \
                        return #statement " did not throw " #type;                                                     \
                    }()), )
