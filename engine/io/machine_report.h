// SPDX-License-Identifier: GPL-3.0-or-later
// What this machine can do, as text for people and as CSV.
#pragma once

#include <string>

#include "engine/backend/machine_rates.h"

namespace halfscope {

// "native", or "emulated exactly"
std::string computedText(bool native);
// Of its backend's FP32 products; empty for what is emulated, of which no claim is made.
std::string ratioText(const MachineRates& rates, const ProductRate& product);

std::string processorText();                        // name, threads, instruction sets
std::string gpuGenerationsText();                   // the table, its note and its source
std::string machineRatesText(const MachineRates&);  // what was measured, and how
std::string machineText(const MachineRates* rates); // all of them; null: nothing was measured

// Columns: quantity (cpu-feature, gpu-support, multiply-add, copy, product), name (of the instruction set, GPU
// generation or backend), format, value, unit, low, high, runs, computed (native, emulated), note.
std::string machineCsv(const MachineRates* rates);

} // namespace halfscope
