// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/settings_list.h"

#include <vector>

#include "engine/core/text_table.h"
#include "engine/train/settings_registry.h"

namespace halfscope {

std::string settingsList()
{
    const RunConfig defaults = defaultExperiment();
    std::string out = "Settings, for --set KEY=VALUE and configuration files. Those marked \"live\" may change while a "
                      "run goes on (--at STEP:KEY=VALUE).\nNumbers may be written 65536, 6.5e4, 0x1p16 or 2^16.\n\n";
    constexpr std::size_t kWidestRange = 60; // a longer one is written out below the table
    std::string longRanges;
    TextTable table({"key", "default", "live", "range", "meaning"});
    for (const SettingInfo& setting : settings()) {
        std::string value = settingValue(defaults, setting.key);
        if (setting.key == "precision.MODULE")
            value = "by precision";
        else if (value.empty())
            value = "(nothing)";
        std::string range(setting.range);
        if (range.size() > kWidestRange) {
            longRanges += "\n" + std::string(setting.key) + ": " + range + ".";
            range = "see below";
        }
        table.add({std::string(setting.key), value, setting.live ? "live" : "", range, std::string(setting.meaning)});
    }
    out += table.text();
    out += longRanges;
    out += "\nMODULE is one of tok_emb, pos_emb, hN.ln_1, hN.attn.qkv, hN.attn.core, hN.attn.proj, hN.ln_2, hN.mlp.fc, "
           "hN.mlp.proj (N from 0 to depth - 1), ln_f, lm_head, loss;\n"
           "of a classifier patch_emb (images), and pool, head instead of lm_head.\n"
           "--at also takes scale, the scale in force: --at 100:scale=2^20.\n";
    return out;
}

} // namespace halfscope
