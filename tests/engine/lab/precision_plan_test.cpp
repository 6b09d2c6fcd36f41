// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/model/precision_plan.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <map>
#include <set>

#include "engine/train/telemetry.h"

namespace halfscope {
namespace {

TransformerConfig small(bool preNorm, bool tied)
{
    TransformerConfig c;
    c.vocabulary = 10;
    c.width = 8;
    c.depth = 2;
    c.context = 4;
    c.mlpRatio = 3;
    c.preNorm = preNorm;
    c.tiedHead = tied;
    return c;
}

std::vector<std::string> names(const TransformerConfig& c)
{
    std::vector<std::string> all;
    for (const ModuleInfo& m : listModules(c))
        all.push_back(m.name);
    return all;
}

TEST(ListModules, PreNormInForwardOrder)
{
    EXPECT_EQ(
        names(small(true, false)),
        (std::vector<std::string>{"tok_emb", "pos_emb", "h0.ln_1", "h0.attn.qkv", "h0.attn.core", "h0.attn.proj",
                                  "h0.ln_2", "h0.mlp.fc", "h0.mlp.proj", "h1.ln_1", "h1.attn.qkv", "h1.attn.core",
                                  "h1.attn.proj", "h1.ln_2", "h1.mlp.fc", "h1.mlp.proj", "ln_f", "lm_head", "loss"}));
}

TEST(ListModules, PostNormNormalisesAfterEachSumAndNotAtTheEnd)
{
    TransformerConfig c = small(false, false);
    c.depth = 1;
    EXPECT_EQ(names(c),
              (std::vector<std::string>{"tok_emb", "pos_emb", "h0.attn.qkv", "h0.attn.core", "h0.attn.proj", "h0.ln_1",
                                        "h0.mlp.fc", "h0.mlp.proj", "h0.ln_2", "lm_head", "loss"}));
}

TEST(ListModules, Parameters)
{
    std::map<std::string, std::int64_t> count;
    for (const ModuleInfo& m : listModules(small(true, false)))
        count[m.name] = m.parameters;
    EXPECT_EQ(count["tok_emb"], 10 * 8);
    EXPECT_EQ(count["pos_emb"], 4 * 8);
    EXPECT_EQ(count["h0.ln_1"], 2 * 8);
    EXPECT_EQ(count["h1.attn.qkv"], 8 * 24 + 24);
    EXPECT_EQ(count["h1.attn.core"], 0);
    EXPECT_EQ(count["h1.attn.proj"], 8 * 8 + 8);
    EXPECT_EQ(count["h1.mlp.fc"], 8 * 24 + 24);
    EXPECT_EQ(count["h1.mlp.proj"], 24 * 8 + 8);
    EXPECT_EQ(count["lm_head"], 80);
    EXPECT_EQ(count["loss"], 0);
    EXPECT_EQ(listModules(small(true, true)).rbegin()[1].parameters, 0); // tied: counted with tok_emb
}

TEST(PrecisionPlan, PresetsGiveEachKindItsFormat)
{
    const std::vector<ModuleInfo> modules = listModules(small(true, false));
    struct Expected {
        std::string_view preset;
        FormatId embedding, norm, linear, attention;
    };
    for (const Expected& e : {Expected{"fp32", FormatId::Fp32, FormatId::Fp32, FormatId::Fp32, FormatId::Fp32},
                              Expected{"mixed-fp16", FormatId::Fp32, FormatId::Fp32, FormatId::Fp16, FormatId::Fp16},
                              Expected{"mixed-bf16", FormatId::Fp32, FormatId::Fp32, FormatId::Bf16, FormatId::Bf16},
                              Expected{"pure-fp16", FormatId::Fp16, FormatId::Fp16, FormatId::Fp16, FormatId::Fp16},
                              Expected{"pure-bf16", FormatId::Bf16, FormatId::Bf16, FormatId::Bf16, FormatId::Bf16},
                              Expected{"tf32", FormatId::Fp32, FormatId::Fp32, FormatId::Tf32, FormatId::Tf32},
                              Expected{"fp8", FormatId::Fp32, FormatId::Fp32, FormatId::Fp8E4M3, FormatId::Bf16}}) {
        const std::optional<PrecisionPlan> plan = makePlan(e.preset, modules);
        ASSERT_TRUE(plan.has_value()) << e.preset;
        ASSERT_EQ(plan->size(), modules.size());
        for (std::size_t i = 0; i < modules.size(); ++i) {
            const FormatId format = (*plan)[i];
            switch (modules[i].kind) {
            case ModuleKind::Embedding:
                EXPECT_EQ(format, e.embedding) << modules[i].name;
                break;
            case ModuleKind::Norm:
                EXPECT_EQ(format, e.norm) << modules[i].name;
                break;
            case ModuleKind::Linear:
                EXPECT_EQ(format, e.linear) << modules[i].name;
                break;
            case ModuleKind::Attention:
                EXPECT_EQ(format, e.attention) << modules[i].name;
                break;
            case ModuleKind::Pool:
            case ModuleKind::Loss:
                EXPECT_EQ(format, FormatId::Fp32);
                break;
            }
        }
    }
}

TEST(PrecisionPlan, EveryPresetIsAllowedAndRecognised)
{
    const std::vector<ModuleInfo> modules = listModules(small(true, false));
    for (const PrecisionPreset& preset : precisionPresets()) {
        const PrecisionPlan plan = makePlan(preset.key, modules).value();
        EXPECT_EQ(planKey(plan, modules), preset.key);
        for (std::size_t i = 0; i < modules.size(); ++i) {
            const std::vector<FormatId> allowed = allowedFormats(modules[i].kind);
            EXPECT_NE(std::find(allowed.begin(), allowed.end(), plan[i]), allowed.end());
        }
        PrecisionPlan changed = plan;
        changed[3] = changed[3] == FormatId::Fp32 ? FormatId::Bf16 : FormatId::Fp32;
        EXPECT_EQ(planKey(changed, modules), "custom");
    }
    EXPECT_FALSE(makePlan("half", modules).has_value());
    EXPECT_FALSE(makePlan("half", {}).has_value());
}

TEST(PrecisionPlan, SensitiveLayersStayInFp32)
{
    const std::vector<ModuleInfo> modules = listModules(small(true, false));
    const PrecisionPlan plan = makePlan("sensitive-fp32", modules).value();
    for (std::size_t i = 0; i < modules.size(); ++i) {
        const bool inside = modules[i].kind == ModuleKind::Attention ||
                            (modules[i].kind == ModuleKind::Linear && modules[i].name != "lm_head");
        EXPECT_EQ(plan[i], inside ? FormatId::Fp16 : FormatId::Fp32) << modules[i].name;
    }
}

TEST(PrecisionPlan, Fp8IsAWordOfItsOwn)
{
    EXPECT_EQ(moduleFormatKey(FormatId::Fp8E4M3), "fp8");
    EXPECT_EQ(moduleFormatName(FormatId::Fp8E4M3), "FP8");
    EXPECT_EQ(parseModuleFormat("FP8"), FormatId::Fp8E4M3);
    EXPECT_EQ(parseModuleFormat("tf32"), FormatId::Tf32);
    EXPECT_FALSE(parseModuleFormat("fp").has_value());
    for (const FormatId format : allowedFormats(ModuleKind::Linear))
        EXPECT_EQ(parseModuleFormat(moduleFormatKey(format)), format);
    EXPECT_EQ(storageFormat(FormatId::Tf32), FormatId::Fp32);
    EXPECT_EQ(storageFormat(FormatId::Fp8E4M3), FormatId::Bf16);
    EXPECT_EQ(backwardFormat(FormatId::Fp8E4M3), FormatId::Fp8E5M2);
    EXPECT_EQ(WeightStorage{}.weights(FormatId::Fp16), FormatId::Fp32);
    EXPECT_EQ((WeightStorage{.master = false}.moments(FormatId::Fp16)), FormatId::Fp16);
    EXPECT_EQ((WeightStorage{.master = false, .momentsAsWeights = false}.moments(FormatId::Fp16)), FormatId::Fp32);
}

TEST(TelemetryKeys, AreDistinctWords)
{
    EXPECT_EQ(outcomeKey(StepOutcome::Applied), "applied");
    EXPECT_EQ(outcomeKey(StepOutcome::SkippedOverflow), "skipped-overflow");
    EXPECT_EQ(outcomeKey(StepOutcome::SkippedNonfiniteLoss), "skipped-nonfinite-loss");
    EXPECT_EQ(tapKey(Tap::WeightGrad), "weight_grad");
    EXPECT_EQ(tapKey(Tap::ActivationGrad), "activation_grad");
    EXPECT_EQ(tapKey(Tap::Activation), "activation");
    std::set<std::string_view> kinds;
    for (int k = 0; k <= static_cast<int>(EventKind::Note); ++k) {
        const std::string_view key = eventKindKey(static_cast<EventKind>(k));
        EXPECT_FALSE(key.empty()) << k;
        EXPECT_TRUE(kinds.insert(key).second) << key;
    }
}

} // namespace
} // namespace halfscope
