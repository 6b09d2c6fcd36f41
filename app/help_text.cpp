// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/help_text.h"

namespace halfscope::help {

const char* const kMain =
    R"(Without a verb the window opens and the default experiment runs. `halfscope VERB --help` tells
about a verb.

Examples:
  halfscope
  halfscope --text novel.txt --set growth-interval=100
  halfscope --screenshot window.png --steps 300 --size 1600x1000 --theme dark
  halfscope train --steps 500 --csv out
  halfscope compare --formats fp32,mixed-fp16 --csv out/formats
  halfscope number 1e-8 65519.99 0x1p-25

Exit status: 0 done; 1 it failed; 2 the command line makes no sense; 3 a run ended early because at-min
says so; 130 interrupted (Ctrl-C or a request to terminate). An error is one line on the standard
error stream.
)";

const char* const kTrain =
    R"(The run is the seed, the configuration and the commands: the same ones give the same CSV files byte
for byte on the same machine, timing.csv apart. DIR gets steps.csv, layers.csv, histograms.csv,
events.csv, timing.csv, shadow.csv, updates.csv and run.json, all complete or none, in place of those
of an earlier run; Ctrl-C ends the run after the step under way and completes them.
--inject multiplies the activation gradient of MODULE, or with MODULE/weight_grad its weight gradient;
STEP:bad-batch gives that step random targets, STEP:learning-rate:FACTOR a jump of the learning rate.
Order: the experiment (without --experiment the default one), then --config, then each --set from left to
right, then --text and --seed.

Examples:
  halfscope train --steps 500 --csv out
  halfscope train --experiment digits
  halfscope train --experiment article --epochs 1 --set precision=mixed-bf16
  halfscope train --steps 200 --csv out --set precision=pure-fp16 --set scaler=static --set initial-scale=2^12
  halfscope train --steps 300 --csv out --at 100:scale=2^24 --at 200:precision.h0.mlp.fc=fp32
  halfscope train --steps 100 --csv out --inject 50:h1.mlp.fc:65536 --inject 80:lm_head/weight_grad:1e6
  halfscope train --csv again --replay out/run.json
  halfscope train --list-settings
)";

const char* const kCompare =
    R"(Trains the same task from the same seeds in each format of LIST (keys as halfscope info lists them) and
prints a row for each: speed, memory, final loss and accuracy with their spread over the seeds, skipped
steps, scale. The configuration is that of train; precision is replaced, formats with FP32's range train
without a loss scale. Speed is measured by training the formats in turn, and only claimed for what this
machine computes natively. DIR gets compare.csv (a row a run), summary.csv (a row a format), curves.csv (a
row a run and step) and comparison.json, written after each run: after Ctrl-C, --resume goes on from
there and gives the same table, and tries again what failed. A run that fails does not end the others.

Examples:
  halfscope compare
  halfscope compare --formats fp32,mixed-fp16,pure-fp16 --seeds 5 --steps 1000 --csv out/formats
  halfscope compare --resume --csv out/formats
  halfscope compare --formats fp32,mixed-bf16 --set backend=onednn --set width=256
)";

const char* const kSimulate =
    R"(Prints CSV: step, found_inf (0 or 1), skipped (0 or 1), scale_before (in force during the step),
scale_after, growth_tracker (clean steps since the last change), hysteresis (overflows left until one
backs off) and event (growth, growth-capped, backoff, tolerated, at-minimum, at-threshold, zero, infinite,
raised, or nothing). Where the original raises, the last row says raised and the exit status is 3.
SEQ has a '.' for each clean step and an 'x' for each overflow; a number before either repeats it.
KEY is a setting of the scaler (halfscope train --list-settings); --at also takes scale.

Examples:
  halfscope simulate --overflows "..x.xx....x....." --set growth-interval=4
  halfscope simulate --preset pytorch --overflows 2000.x10.
  halfscope simulate --preset megatron --limit 8192 --steps 3000
  halfscope simulate --overflows 40. --set growth-interval=30 --at 21:growth-interval=10
)";

const char* const kNumber =
    R"(A VALUE is a decimal with a point, a C hexadecimal float (0x1p-25), a power of two (2^-24), inf, nan,
or a pattern: bits:0x33000001 of FP32, fp16:0x3c00 of another format. It is first rounded to FP32, once,
to nearest, ties to even, as a program that holds it in a float has it; then from FP32 to each format in
the same way.
CSV columns: input; format (fp16, bf16, tf32, fp8-e4m3, fp8-e5m2, fp32); bits, hexadecimal (TF32 has
19); value, what the bits stand for; class (zero, flushed, subnormal, normal, saturating, inf, nan);
relative_error, |value - x| / |x| with x the FP32 number; absolute_error; ulp_error, in distances between
the format's numbers around x; below and above, its neighbours of the value; fields, the bits as
sign_exponent_mantissa. With --scale S, x times S is cast and divided by S again: scale, scaled_class,
scaled_value (what remains of x) and scaled_relative_error.

Examples:
  halfscope number 1e-8 65519.99 0x1p-25
  halfscope number --csv 65520 -1e-7 bits:0x33000001
  halfscope number --scale 2^16 1e-8
)";

const char* const kInfo =
    R"(Prints the version, the processor's threads and instruction sets, the backends with the reason where
one is missing, the number formats, what each generation of GPUs computes natively, and the presets.
--measure adds how fast this machine multiplies matrices in each format, on each backend, beside the best
its multiply-adds and its memory can do: about ten seconds, medians of repeated runs. What is emulated
exactly is said to be, and says nothing about hardware that has the format.
CSV columns: quantity (cpu-feature, gpu-support, multiply-add, copy, product), name, format, value, unit,
low, high, runs, computed (native, emulated), note.

Examples:
  halfscope info
  halfscope info --measure
  halfscope info --measure --csv
)";

} // namespace halfscope::help
