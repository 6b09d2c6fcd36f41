// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/tree/source_rules.h"

#include <algorithm>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace halfscope::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const std::string kLicence = "// SPDX-License-Identifier: GPL-3.0-or-later\n";
const std::string kScriptLicence = "# SPDX-License-Identifier: GPL-3.0-or-later\n";
const std::string kFastMath = "-ffast" + std::string("-math"); // in two parts: a build file must not have it

TEST(SourceTree, KeepsItsRules)
{
    const std::vector<SourceFile> files = readTree(HALFSCOPE_SOURCE_DIR);
    EXPECT_GT(files.size(), 50U);
    for (const char* known : {"engine/numerics/cast.h", "ui/CMakeLists.txt", "scripts/run.sh", "CMakeLists.txt",
                              "tests/tree/source_rules_test.cpp"}) {
        EXPECT_TRUE(std::ranges::any_of(files, [&](const SourceFile& f) { return f.path == known; })) << known;
    }
    for (const SourceFile& file : files)
        EXPECT_THAT(brokenRules(file), IsEmpty());
}

TEST(SourceRules, AcceptWhatIsRight)
{
    EXPECT_THAT(brokenRules({"engine/a.h", kLicence + "#include <vector>\n#include \"engine/b.h\"\n"}), IsEmpty());
    EXPECT_THAT(brokenRules({"ui/a.h", kLicence + "#include <QWidget>\n#include \"engine/b.h\"\n"}), IsEmpty());
    EXPECT_THAT(brokenRules({"engine/backend/cuda/a.cu", kLicence + "#include <cuda_runtime.h>\n"}), IsEmpty());
    EXPECT_THAT(brokenRules({"engine/a.cpp", kLicence + "// never " + kFastMath + "\n"}), IsEmpty());
    EXPECT_THAT(brokenRules({"CMakeLists.txt", kScriptLicence + "# never " + kFastMath + "\n"}), IsEmpty());
    EXPECT_THAT(brokenRules({"scripts/a.sh", "#!/bin/sh\n" + kScriptLicence}), IsEmpty());
    EXPECT_THAT(brokenRules({"CMakePresets.json", "{}\n"}), IsEmpty());
}

TEST(SourceRules, SeeEveryKindOfViolation)
{
    EXPECT_THAT(brokenRules({"engine/a.h", kLicence + "#include <QString>\n"}), ElementsAre(HasSubstr("a.h:2 ")));
    EXPECT_THAT(brokenRules({"engine/a.h", kLicence + "  #  include \"QtCore/qglobal.h\"\n"}),
                ElementsAre(HasSubstr("no Qt")));
    EXPECT_THAT(brokenRules({"engine/a.cpp", kLicence + "#include \"ui/theme.h\"\n"}), ElementsAre(HasSubstr("above")));
    EXPECT_THAT(brokenRules({"ui/a.cpp", kLicence + "#include \"app/output.h\"\n"}), ElementsAre(HasSubstr("above")));
    for (const char* header :
         {"cuda_runtime.h", "cuda_fp16.h", "cublas_v2.h", "thrust/sort.h", "cooperative_groups.h"}) {
        EXPECT_THAT(brokenRules({"engine/backend/cpu/a.cpp", kLicence + "#include <" + header + ">\n"}),
                    ElementsAre(HasSubstr("CUDA stays")));
        EXPECT_THAT(brokenRules({"tests/a.cpp", kLicence + "#include <" + header + ">\n"}),
                    ElementsAre(HasSubstr("CUDA stays")));
    }
    EXPECT_THAT(brokenRules({"CMakeLists.txt", kScriptLicence + "add_compile_options(" + kFastMath + ")\n"}),
                ElementsAre(HasSubstr("not exact")));
    EXPECT_THAT(brokenRules({"cmake/a.cmake", kScriptLicence + "set(CUDA_FLAGS --use_fast" + "_math)\n"}),
                ElementsAre(HasSubstr("not exact")));
    EXPECT_THAT(brokenRules({"CMakePresets.json", "{ \"CMAKE_CXX_FLAGS\": \"-O" + std::string("fast\" }\n")}),
                ElementsAre(HasSubstr("not exact")));
    EXPECT_THAT(brokenRules({"engine/a.cpp", kLicence + "#pragma GCC optimize(\"fast" + "-math\")\n"}),
                ElementsAre(HasSubstr("not exact")));
    EXPECT_THAT(brokenRules({"engine/a.h", "#pragma once\n"}), ElementsAre(HasSubstr("a.h:1 does not name")));
    EXPECT_THAT(brokenRules({"scripts/a.sh", "#!/bin/sh\necho\n"}), ElementsAre(HasSubstr("a.sh:2 does not name")));
    EXPECT_THAT(brokenRules({"engine/empty.h", ""}), ElementsAre(HasSubstr("does not name")));

    std::string text = kLicence;
    for (int i = 1; i < 700; ++i)
        text += "\n";
    EXPECT_THAT(brokenRules({"engine/a.h", text}), IsEmpty());
    EXPECT_THAT(brokenRules({"engine/a.h", text + "\n"}), ElementsAre(HasSubstr("longer than 700 lines")));
}

} // namespace
} // namespace halfscope::test
