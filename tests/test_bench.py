"""The benchmark measures what it says, in small."""

import time

import pytest
import torch

from proxact.bench.activations import Case, cases, measure
from proxact.bench.memory import peak_megabytes
from proxact.bench.timing import interleaved, ratios


def test_interleaved_sees_the_longer_candidate():
    calls = []

    def wait(name, seconds):
        def call():
            calls.append(name)
            time.sleep(seconds)

        return call

    times = interleaved({"short": wait("short", 0.002), "long": wait("long", 0.006)}, rounds=6, seconds=1)
    found = ratios(times, "short")
    assert found["short"]["ratio"] == 1
    assert 2 < found["long"]["ratio"] < 4
    assert found["long"]["ratio_low"] <= found["long"]["ratio_high"]
    assert calls[4:].index("long") <= 2  # candidates take turns


NCHW = (2, 12, 4, 4)


@pytest.mark.parametrize(
    ("layout", "shape"), [("nchw", NCHW), ("channels_last", NCHW), ("flat", NCHW), ("last", (8, 12))]
)
def test_measure_covers_every_candidate(layout, shape):
    found = measure(Case(layout, shape, ms=(2, 3)), rounds=3, seconds=0.1, with_compile=False)
    others = {"leaky_relu", "prelu", "gelu", "silu", "wta", "plain2", "plain3", "memcpy"}
    assert set(found) == {"relu", "mpu2", "mpu3"} | others
    assert all(value["microseconds"] > 0 for value in found.values())


def test_cases_cover_the_layouts_and_sizes():
    every = list(cases(quick=False))
    assert {case.layout for case in every} == {"nchw", "channels_last", "last", "split", "flat"}
    assert min(case.elements for case in every) <= 2048
    assert max(case.elements for case in every) >= 2**26
    assert {case.dtype for case in every} == {torch.float32, torch.bfloat16}


@pytest.mark.slow
def test_a_training_step_needs_no_more_memory_than_with_gelu():
    assert peak_megabytes("mpu2") <= 1.02 * peak_megabytes("gelu")
