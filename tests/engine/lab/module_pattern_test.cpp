// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/model/module_pattern.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <regex>
#include <string>

namespace halfscope {
namespace {

std::vector<ModuleInfo> modules()
{
    TransformerConfig config;
    config.vocabulary = 80;
    config.depth = 3;
    return listModules(config);
}

std::string names(std::string_view pattern)
{
    std::string all;
    const std::vector<ModuleInfo> of = modules();
    for (const int id : matchModules(pattern, of))
        all += (all.empty() ? "" : " ") + of[static_cast<std::size_t>(id)].name;
    return all;
}

TEST(ModulePattern, NamesWithWildcards)
{
    EXPECT_EQ(names("h*.mlp.*"), "h0.mlp.fc h0.mlp.proj h1.mlp.fc h1.mlp.proj h2.mlp.fc h2.mlp.proj");
    EXPECT_EQ(names("*.attn.qkv"), "h0.attn.qkv h1.attn.qkv h2.attn.qkv");
    EXPECT_EQ(names("h?.ln_1"), "h0.ln_1 h1.ln_1 h2.ln_1");
    EXPECT_EQ(names("H1.MLP.FC"), "h1.mlp.fc");
    EXPECT_EQ(names("h1"), "h1.ln_1 h1.attn.qkv h1.attn.core h1.attn.proj h1.ln_2 h1.mlp.fc h1.mlp.proj");
    EXPECT_EQ(names("h1*fc"), "h1.mlp.fc");
    EXPECT_EQ(names("mlp*"), ""); // the whole name
    EXPECT_EQ(names("*").size(), names("*.*, *_*, loss").size());
    EXPECT_EQ(names(""), "");
    EXPECT_EQ(names(" , "), "");
    EXPECT_EQ(names("no-such"), "");
    EXPECT_EQ(names("[h]*"), ""); // nothing else is special
}

TEST(ModulePattern, Groups)
{
    EXPECT_EQ(names("embeddings"), "tok_emb pos_emb");
    EXPECT_EQ(names("head"), "lm_head");
    EXPECT_EQ(names("norms"), "h0.ln_1 h0.ln_2 h1.ln_1 h1.ln_2 h2.ln_1 h2.ln_2 ln_f");
    EXPECT_EQ(names("attention"), "h0.attn.core h1.attn.core h2.attn.core");
    EXPECT_EQ(names("sensitive"), names("embeddings norms head"));
    EXPECT_EQ(names("linear"), names("*.qkv,*.proj,*.fc,lm_head"));
    EXPECT_EQ(names("head embeddings"), "tok_emb pos_emb lm_head"); // in the model's order, each once
    EXPECT_EQ(moduleGroups().size(), 6U);
    for (const ModuleGroup& group : moduleGroups())
        EXPECT_NE(names(group.key), "") << group.key;
}

// Against the standard library's regular expressions.
TEST(ModulePattern, AsRegularExpressions)
{
    const std::vector<ModuleInfo> of = modules();
    for (const std::string pattern : {"*", "?*", "h*", "*h*", "*.*.*", "h?.*p*", "**fc", "*f*c*", "h0.ln_?", "*proj*",
                                      "?", "l*s", "*a*t*n*", "h*.*.p*j", "tok_emb*", "*0*"}) {
        std::string expression;
        for (const char c : pattern)
            expression += c == '*' ? ".*" : c == '?' ? "." : c == '.' ? "\\." : std::string(1, c);
        const std::vector<int> found = matchModules(pattern, of);
        for (std::size_t i = 0; i < of.size(); ++i)
            EXPECT_EQ(std::ranges::count(found, static_cast<int>(i)) == 1,
                      std::regex_match(of[i].name, std::regex(expression)))
                << pattern << ' ' << of[i].name;
    }
}

} // namespace
} // namespace halfscope
