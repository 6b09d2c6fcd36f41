// SPDX-License-Identifier: GPL-3.0-or-later
// A module of another version.
extern "C" const char* halfscopeCudaSeam() { return "another"; }
extern "C" const void* halfscopeCudaModule() { return nullptr; }
