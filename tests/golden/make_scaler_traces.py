#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Golden traces of other frameworks' loss scalers: runs their own classes over sequences of overflows, writes JSON.

  make_scaler_traces.py --sources DIR OUT.json

From pip packages (numpy < 2.4, which Paddle needs): torch jax flax jmp keras tf-keras tensorflow-cpu paddlepaddle.
DIR holds the rest, one folder NAME@VERSION each, of which only the named file is needed:
  deepspeed, deepspeed-old   deepspeed/runtime/fp16/loss_scaler.py
  megatron                   megatron/core/optimizer/grad_scaler.py
  apex                       apex/amp/scaler.py
  colossalai                 colossalai/amp/naive_amp/grad_scaler/{__init__,base,dynamic,constant}*.py
  fairseq                    fairseq/optim/dynamic_loss_scaler.py
  mindspore                  mindspore/train/loss_scale_manager.py
  onnxruntime                onnxruntime/training/amp/loss_scaler.py
Only what surrounds the rules is replaced: imports of unrelated modules, log output, and CUDA placement.

Each case: preset; settings that differ from the preset's defaults, every one as the original's own argument (so Flax's
growth-interval N grows on the clean step N + 1); overflows; scales after each update as [hex, count], the state left by
a raising step included; raised_at, the step (1 is the first) at which the original raised, or null; growth_tracker, the
original's own count of clean steps as [value, count], null if it has none or the case is longer than 1000 steps.
"""
import argparse
import concurrent.futures
import contextlib
import importlib
import importlib.metadata
import importlib.util
import io
import itertools
import json
import logging
import math
import multiprocessing
import os
import pathlib
import random
import re
import sys
import types
import warnings

os.environ.update(JAX_PLATFORMS="cpu", CUDA_VISIBLE_DEVICES="", TF_CPP_MIN_LOG_LEVEL="3")
warnings.filterwarnings("ignore")
sources = pathlib.Path()


# --- the originals, each behind step(overflow), scale() and tracker() ---

def folder(name):
    return next(sources.glob(name + "@*"))


def stub(name, path=(), **attributes):
    """A module that stands in for `name`; parents are made as needed."""
    module = sys.modules.get(name) or types.ModuleType(name)
    module.__path__ = [str(p) for p in path]
    vars(module).update(attributes)
    sys.modules[name] = module
    parent, _, child = name.rpartition(".")
    if parent:
        if parent not in sys.modules:
            stub(parent)
        setattr(sys.modules[parent], child, module)
    return module


def load(name, file):
    spec = importlib.util.spec_from_file_location(name, file)
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class TorchOnCpu:
    """torch, with what asks for CUDA put on the CPU."""

    def __init__(self):
        import torch
        self._torch = torch
        self.cuda = types.SimpleNamespace(IntTensor=torch.IntTensor)

    def __getattr__(self, name):
        return getattr(self._torch, name)

    def tensor(self, *args, device=None, **kwargs):
        return self._torch.tensor(*args, **kwargs)


class Original:
    factors = "fixed"      # "free": growth and backoff; "one": backoff is 1/growth
    high = ("2^120",)      # initial scales from which its maximum is near
    bounds = ()            # of min-scale, max-scale: those it has
    interval = 2000
    arguments = {}         # settings key -> its own argument
    integers = ("growth-interval", "hysteresis")

    def own(self, settings):
        return {self.arguments[k]: (int if k in self.integers else number)(v)
                for k, v in settings.items() if k in self.arguments}

    def tracker(self):
        return None


class PyTorch(Original):
    factors = "free"
    arguments = {"initial-scale": "init_scale", "growth-factor": "growth_factor", "backoff-factor": "backoff_factor",
                 "growth-interval": "growth_interval"}

    def __init__(self, settings):
        import torch
        self.torch = torch
        self.scaler = torch.amp.GradScaler("cpu", **self.own(settings))
        self.parameter = torch.nn.Parameter(torch.zeros(1))
        self.optimizer = torch.optim.SGD([self.parameter], lr=0.0)
        self.scaler.scale(torch.ones(1))

    def step(self, overflow):
        self.parameter.grad = self.torch.tensor([math.inf if overflow else 1.0])
        self.scaler.step(self.optimizer)
        self.scaler.update()

    def scale(self):
        return self.scaler.get_scale()

    def tracker(self):
        return self.scaler._get_growth_tracker()


class DeepSpeed(Original):
    name = "deepspeed"
    high = ("2^120", "2^1020")  # its scale is a Python number
    bounds = ("min-scale",)
    interval = 1000
    arguments = {"initial-scale": "init_scale", "growth-interval": "scale_window", "hysteresis": "delayed_shift",
                 "min-scale": "min_scale"}

    def __init__(self, settings):
        stub("deepspeed.comm", get_rank=lambda: 0)
        stub("deepspeed.utils", logger=types.SimpleNamespace(info=lambda text: None))
        stub("deepspeed.runtime.config_utils", DeepSpeedConfigObject=object)
        module = load("deepspeed.runtime.fp16.loss_scaler", folder(self.name) / "deepspeed/runtime/fp16/loss_scaler.py")
        # The defaults of the JSON configuration.
        arguments = dict(init_scale=2**16, scale_window=1000, min_scale=1, delayed_shift=2) | self.own(settings)
        self.scaler = module.DynamicLossScaler(
            consecutive_hysteresis=settings.get("hysteresis-kind") == "consecutive", **arguments)

    def step(self, overflow):
        self.scaler.update_scale(overflow)

    def scale(self):
        return self.scaler.loss_scale


class DeepSpeedOld(DeepSpeed):
    name = "deepspeed-old"
    factors = "one"
    arguments = DeepSpeed.arguments | {"growth-factor": "scale_factor"}


class Megatron(Original):
    factors = "free"
    bounds = ("min-scale",)
    interval = 1000
    arguments = {"initial-scale": "initial_scale", "growth-factor": "growth_factor", "min-scale": "min_scale",
                 "backoff-factor": "backoff_factor", "growth-interval": "growth_interval", "hysteresis": "hysteresis"}

    def __init__(self, settings):
        module = load("megatron_grad_scaler", folder("megatron") / "megatron/core/optimizer/grad_scaler.py")
        module.torch = TorchOnCpu()
        # What megatron/core/optimizer/__init__.py passes.
        arguments = dict(initial_scale=2**32, min_scale=1.0, growth_factor=2.0, backoff_factor=0.5,
                         growth_interval=1000, hysteresis=2) | self.own(settings)
        self.scaler = module.DynamicGradScaler(**arguments)

    def step(self, overflow):
        self.scaler.update(overflow)

    def scale(self):
        return self.scaler.scale.item()

    def tracker(self):
        return self.scaler._growth_tracker


class Apex(Original):
    high = ("2^20",)
    bounds = ("min-scale", "max-scale")
    arguments = {"initial-scale": "init_scale", "growth-interval": "scale_window", "min-scale": "min_loss_scale",
                 "max-scale": "max_loss_scale"}

    def __init__(self, settings):
        stub("apex.multi_tensor_apply",
             multi_tensor_applier=types.SimpleNamespace(available=False, import_err=None))
        stub("apex.amp._amp_state", _amp_state=None, master_params=None, maybe_print=lambda *args: None)
        module = load("apex.amp.scaler", folder("apex") / "apex/amp/scaler.py")
        module.torch = TorchOnCpu()
        self.scaler = module.LossScaler("dynamic", **self.own(settings))

    def step(self, overflow):
        self.scaler.clear_overflow_state()
        self.scaler._has_overflow = overflow
        self.scaler.update_scale()

    def scale(self):
        return self.scaler.loss_scale()

    def tracker(self):
        return self.scaler._unskipped


class Keras3(Original):
    arguments = {"initial-scale": "initial_scale", "growth-interval": "dynamic_growth_steps"}

    def __init__(self, settings):
        os.environ["KERAS_BACKEND"] = "torch"  # of the backends the one that keeps subnormal scales on a CPU
        import keras
        tensor = keras.ops.convert_to_tensor
        self.gradients = [tensor([1.0], dtype="float32")], [tensor([math.inf], dtype="float32")]
        self.variables = [keras.Variable([0.0])]
        self.optimizer = keras.optimizers.LossScaleOptimizer(keras.optimizers.SGD(0.0), **self.own(settings))

    def step(self, overflow):
        self.optimizer.apply(self.gradients[overflow], self.variables)

    def scale(self):
        return float(self.optimizer.dynamic_scale)

    def tracker(self):
        return int(self.optimizer.step_counter)


class TfKeras(Original):
    factors = "one"
    arguments = {"initial-scale": "initial_loss_scale", "growth-factor": "multiplier",
                 "growth-interval": "growth_steps"}

    def __init__(self, settings):
        import tensorflow as tf
        from tf_keras.src.mixed_precision import loss_scale_optimizer as module
        self.gradients = [tf.constant([1.0])], [tf.constant([math.inf])]
        # LossScaleOptimizer's own defaults; it fixes the multiplier.
        arguments = dict(initial_loss_scale=module._DEFAULT_INITIAL_SCALE, multiplier=2,
                         growth_steps=module._DEFAULT_GROWTH_STEPS) | self.own(settings)
        self.state = module._DynamicLossScaleState(**arguments)

    def step(self, overflow):
        self.state.update(self.gradients[overflow])

    def scale(self):
        return float(self.state())

    def tracker(self):
        return int(self.state.counter)


class Flax(Original):
    factors = "free"
    bounds = ("min-scale",)
    arguments = {"initial-scale": "scale", "growth-factor": "growth_factor", "backoff-factor": "backoff_factor",
                 "growth-interval": "growth_interval", "min-scale": "minimum_scale"}

    def __init__(self, settings):
        import jax
        from flax.training.dynamic_scale import DynamicScale
        self.state = DynamicScale(**self.own(settings))
        self.next = jax.jit(lambda state, slope: state.value_and_grad(lambda x: x * slope)(1.0)[0])

    def step(self, overflow):
        self.state = self.next(self.state, math.inf if overflow else 1.0)

    def scale(self):
        return float(self.state.scale)

    def tracker(self):
        return int(self.state.fin_steps)


class Jmp(Original):
    factors = "one"
    bounds = ("min-scale",)
    arguments = {"initial-scale": "loss_scale", "growth-factor": "factor", "growth-interval": "period",
                 "min-scale": "min_loss_scale"}

    def __init__(self, settings):
        import jax.numpy as jnp
        import jmp
        self.finite = jnp.asarray(True), jnp.asarray(False)
        arguments = {"loss_scale": 2.0**15} | self.own(settings)  # its initial scale in the documentation
        for key in {"loss_scale", "min_loss_scale"} & set(arguments):
            arguments[key] = jnp.asarray(arguments[key], jnp.float32)
        self.state = jmp.DynamicLossScale(**arguments)

    def step(self, overflow):
        self.state = self.state.adjust(self.finite[overflow])

    def scale(self):
        return float(self.state.loss_scale)

    def tracker(self):
        return int(self.state.counter)


class Fairseq(Original):
    factors = "one"
    high = ("2^120", "2^1020")  # its scale is a Python number
    bounds = ("min-scale",)
    arguments = {"initial-scale": "init_scale", "growth-factor": "scale_factor", "growth-interval": "scale_window",
                 "tolerance": "tolerance", "threshold": "threshold", "min-scale": "min_loss_scale"}

    def __init__(self, settings):
        module = load("fairseq_loss_scaler", folder("fairseq") / "fairseq/optim/dynamic_loss_scaler.py")
        self.scaler = module.DynamicLossScaler(**self.own(settings))

    def step(self, overflow):
        try:
            self.scaler.check_overflow(math.inf if overflow else 1.0)
        except OverflowError:  # its way to say that the step is skipped
            return
        self.scaler.update()

    def scale(self):
        return self.scaler.loss_scale


class Paddle(Original):
    factors = "free"
    arguments = {"initial-scale": "init_loss_scaling", "growth-factor": "incr_ratio", "backoff-factor": "decr_ratio",
                 "growth-interval": "incr_every_n_steps", "hysteresis": "decr_every_n_nan_or_inf"}

    def __init__(self, settings):
        from paddle.amp import grad_scaler as module
        place = types.SimpleNamespace(is_gpu_place=lambda: True)  # on the CPU it would disable itself
        module._dygraph_tracer = lambda: types.SimpleNamespace(_expected_place=place)
        self.scaler = module.GradScaler(**self.own(settings))

    def step(self, overflow):
        self.scaler._cache_found_inf = overflow
        with contextlib.redirect_stdout(io.StringIO()):
            self.scaler.update()

    def scale(self):
        return float(self.scaler._scale)

    def tracker(self):
        return self.scaler._incr_count


class MindSpore(Original):
    factors = "one"
    high = ("2^120", "2^1020")  # its scale is a Python number
    arguments = {"initial-scale": "init_loss_scale", "growth-factor": "scale_factor", "growth-interval": "scale_window"}

    def __init__(self, settings):
        stub("mindspore._checkparam", check_positive_int=lambda *args: None)
        stub("mindspore.nn")
        module = load("mindspore.train.loss_scale_manager",
                      folder("mindspore") / "mindspore/train/loss_scale_manager.py")
        self.scaler = module.DynamicLossScaleManager(**self.own(settings))

    def step(self, overflow):
        self.scaler.update_loss_scale(overflow)

    def scale(self):
        return self.scaler.get_loss_scale()


class OnnxRuntime(Original):
    high = ("2^20",)
    bounds = ("min-scale", "max-scale")
    arguments = {"initial-scale": "loss_scale", "growth-interval": "up_scale_window", "min-scale": "min_loss_scale",
                 "max-scale": "max_loss_scale"}

    def __init__(self, settings):
        module = load("onnxruntime_loss_scaler", folder("onnxruntime") / "onnxruntime/training/amp/loss_scaler.py")
        self.scaler = module.DynamicLossScaler(**self.own(settings))

    def step(self, overflow):
        self.scaler.update(types.SimpleNamespace(all_finite=not overflow))

    def scale(self):
        return self.scaler.loss_scale

    def tracker(self):
        return self.scaler._stable_steps_count


class ColossalAi(Original):
    factors = "free"
    bounds = ("min-scale", "max-scale")
    interval = 1000
    arguments = Megatron.arguments | {"max-scale": "max_scale"}

    def __init__(self, settings):
        package = "colossalai.amp.naive_amp.grad_scaler"
        stub("colossalai.accelerator", get_accelerator=lambda: types.SimpleNamespace(
            device_count=lambda: 1, get_current_device=lambda: "cpu"))
        stub("colossalai.logging", get_dist_logger=None)
        stub(package, path=[folder("colossalai") / package.replace(".", "/")])
        module = importlib.import_module(package + ".dynamic_grad_scaler")
        self.scaler = module.DynamicGradScaler(**self.own(settings))

    def step(self, overflow):
        self.scaler.update(overflow)

    def scale(self):
        return self.scaler.scale.item()

    def tracker(self):
        return self.scaler._growth_step


ORIGINALS = {
    "pytorch": PyTorch, "deepspeed": DeepSpeed, "deepspeed-old": DeepSpeedOld, "megatron": Megatron, "apex": Apex,
    "keras3": Keras3, "tf-keras": TfKeras, "flax": Flax, "jmp": Jmp, "fairseq": Fairseq, "paddle": Paddle,
    "mindspore": MindSpore, "onnxruntime": OnnxRuntime, "colossalai": ColossalAi,
}
ORIGINS = {"deepspeed": "deepspeedai/DeepSpeed", "deepspeed-old": "deepspeedai/DeepSpeed",
           "megatron": "NVIDIA/Megatron-LM", "apex": "NVIDIA/apex", "fairseq": "facebookresearch/fairseq",
           "mindspore": "pip mindspore", "onnxruntime": "pip onnxruntime-training",
           "colossalai": "hpcaitech/ColossalAI"}
PACKAGES = {"pytorch": ["torch"], "keras3": ["keras", "torch"], "tf-keras": ["tf-keras", "tensorflow"],
            "flax": ["flax", "jax"], "jmp": ["jmp", "jax"], "paddle": ["paddlepaddle"]}


def version(preset):
    if preset in PACKAGES:
        return "pip " + ", ".join(f"{p} {importlib.metadata.version(p)}" for p in PACKAGES[preset])
    return ORIGINS[preset] + " " + folder(preset).name.partition("@")[2]


# --- text ---

def number(text):
    base, power, exponent = text.partition("^")
    return float(base) ** int(exponent) if power else float(text)


def shortest(value):
    return re.sub(r"\.0$", "", repr(value))


def hex_text(value):
    value = float(value)
    return re.sub(r"\.?0*p", "p", value.hex()) if math.isfinite(value) else str(value)


def expand(runs):
    return [kind == "x" for count, kind in re.findall(r"(\d*)([.x])", runs) for _ in range(int(count or 1))]


def compress(items):
    return [[value, len(list(group))] for value, group in itertools.groupby(items)]


def run_text(steps):
    return "".join((str(n) if n > 1 else "") + ("x" if overflow else ".") for overflow, n in compress(steps))


def drawn(seed, steps, share):
    generator = random.Random(seed)
    return run_text([generator.random() < share for _ in range(steps)])


# --- the cases ---

MIXED = "..x.xx....x....."
EDGES = "x3.x3.x4.x4.x5.2x6.3x12."  # at the first step, on the step that would grow (of N and of N + 1), twice in a row


def factor_settings(original):
    if original.factors == "free":
        return [{"growth-factor": g, "backoff-factor": shortest(b)}
                for g, b in (("1.5", 0.7), ("3", 1 / 3), ("1.1", 0.9))]
    if original.factors == "one":
        return [{"growth-factor": g, "backoff-factor": shortest(1 / float(g))} for g in ("1.5", "3", "1.1")]
    return [{}]


def cases(preset, original):
    n = original.interval
    yield {}, f"{n}.{n + 1}.x{n - 1}.x{n + 1}.2x{n + 2}."
    yield {}, "300x"
    variants = [{}]
    if "hysteresis" in original.arguments:
        default = {"paddle": 1}.get(preset, 2)
        kind = {"hysteresis-kind": "repeating"} if preset == "paddle" else {}
        variants += [{"hysteresis": str(h)} | kind for h in (1, 2, 3) if h != default]
    if preset.startswith("deepspeed"):
        variants += [{"hysteresis-kind": "consecutive"} | v for v in ({}, {"hysteresis": "1"}, {"hysteresis": "3"})]
    if preset == "fairseq":
        variants += [{"tolerance": "0.25"}, {"tolerance": "0.5"}, {"threshold": "4"}]
    for i, variant in enumerate(variants):
        yield {"growth-interval": "4"} | variant, MIXED
        yield {"growth-interval": "4"} | variant, EDGES
        if "tolerance" in variant:
            yield {"growth-interval": "20"} | variant, drawn(100 + i, 160, 0.2)
        elif variant:
            yield {"growth-interval": "3"} | variant, drawn(100 + i, 120, 0.4)
            yield {"growth-interval": "3"} | variant, "60x"
    for interval in ("1", "2"):
        yield {"growth-interval": interval}, "3.x2.2x5.x.x3."
    for start in original.high:
        yield {"growth-interval": "1", "initial-scale": start}, "20.3x2."
    if "max-scale" in original.bounds:
        yield {"growth-interval": "1", "initial-scale": "2^120", "max-scale": "2^126"}, "20.3x2."
    for bound in original.bounds:
        if bound == "min-scale":
            yield {"initial-scale": "1000", "growth-interval": "4", "min-scale": "3"}, "12x5.4x"
        else:
            yield {"initial-scale": "1000", "growth-interval": "2", "max-scale": "100000"}, "20.x5."
    for i, factors in enumerate(factor_settings(original)):
        for j, start in enumerate(("1000", "12345.678")):
            settings = {"initial-scale": start, "growth-interval": str(j + 1)} | factors
            yield settings, drawn(200 + 2 * i + j, 50, 0.35 + 0.15 * (1 - j))
    for seed, (share, interval) in enumerate(((0.05, "7"), (0.3, "3"), (0.7, "3"))):
        yield {"growth-interval": interval}, drawn(seed, 200, share)
    if preset == "mindspore":
        yield {"growth-interval": "4"}, "10.1001x5."
        yield {"growth-interval": "4"}, "1000x8.1000x8."


def trace(preset, original, settings, overflows):
    scaler = original(settings)
    scales, trackers, raised_at = [], [], None
    for step, overflow in enumerate(expand(overflows), 1):
        try:
            scaler.step(overflow)
        except Exception:  # of any kind: what counts is that training stops here
            raised_at = step
        scales.append(hex_text(scaler.scale()))
        trackers.append(scaler.tracker())
        if raised_at:
            break
    tracked = trackers[0] is not None and len(trackers) <= 1000
    return {"preset": preset, "settings": settings, "overflows": overflows, "scales": compress(scales),
            "raised_at": raised_at, "growth_tracker": compress(trackers) if tracked else None}


def traces(folder_of_sources, preset):
    global sources
    sources = folder_of_sources
    logging.disable(logging.WARNING)
    original = ORIGINALS[preset]
    return version(preset), [trace(preset, original, *case) for case in cases(preset, original)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sources", type=pathlib.Path, required=True)
    parser.add_argument("--only", action="append", help="a preset; may be given more than once")
    parser.add_argument("out", type=pathlib.Path)
    arguments = parser.parse_args()
    presets = arguments.only or list(ORIGINALS)
    # A process for each: the frameworks do not all bear one another.
    spawn = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(2, mp_context=spawn, max_tasks_per_child=1) as pool:
        results = list(pool.map(traces, itertools.repeat(arguments.sources), presets))
    versions = {preset: result[0] for preset, result in zip(presets, results)}
    lines = ",\n".join(json.dumps(t, separators=(",", ":")) for result in results for t in result[1])
    arguments.out.write_text(f'{{"sources":{json.dumps(versions)},\n"cases":[\n{lines}\n]}}\n')


if __name__ == "__main__":
    main()
