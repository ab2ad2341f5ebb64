"""Bad input: the message names the argument, the value and what is allowed."""

import math

import pytest
import torch

import proxact
from proxact import MPU, EmptySetError, Projection, project

x = torch.zeros(4, 6)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: project.cone([1.0], 0.5), TypeError, ["x", "list", "tensor"]),
        (lambda: project.cone(x.long(), 0.5), TypeError, ["x", "int64", "floating"]),
        (lambda: project.cone(x.cfloat(), 0.5), TypeError, ["x", "complex64", "floating"]),
        (lambda: project.cone(x, 2.0), ValueError, ["alpha", "2.0", "[0, pi/2]"]),
        (lambda: project.cone(x, -0.1), ValueError, ["alpha", "-0.1", "[0, pi/2]"]),
        (lambda: project.cone(x, math.nan), ValueError, ["alpha", "nan", "[0, pi/2]"]),
        (lambda: project.cone(x, "wide"), TypeError, ["alpha", "wide", "[0, pi/2]"]),
        (lambda: project.cone(x, torch.tensor(1.7)), ValueError, ["alpha", "1.7", "[0, pi/2]"]),
        (lambda: project.cone(x, torch.tensor(1)), TypeError, ["alpha", "int64"]),
        (lambda: project.cone(x, torch.full((2,), 0.5)), ValueError, ["alpha", "(2,)", "1 or 3"]),
        (lambda: project.cone(x, 0.5, 0), ValueError, ["m", "0", ">= 1"]),
        (lambda: project.cone(x, 0.5, 2.0), TypeError, ["m", "2.0", "int"]),
        (lambda: project.cone(x, 0.5, 2, 2), ValueError, ["dim", "2", "[-2, 1]"]),
        (lambda: project.cone(torch.tensor(1.0), 0.5), ValueError, ["dim", "no axis"]),
        (lambda: project.cone(x, 0.5, 4, remainder="error"), ValueError, ["remainder", "m=4", "6"]),
        (lambda: project.cone(x, 0.5, remainder="drop"), ValueError, ["remainder", "drop", "'pad'"]),
        (lambda: project.cone(x, 0.5, grouping="odd"), ValueError, ["grouping", "odd", "'split'"]),
        (lambda: project.cone(x, 0.5, leak=1.5), ValueError, ["leak", "1.5", "[0, 1]"]),
        (lambda: project.l2_ball(x, -1.0), EmptySetError, ["empty", "radius", "-1.0"]),
        (lambda: project.simplex(x, torch.tensor(-1.0)), EmptySetError, ["empty", "radius", "-1"]),
        (lambda: project.l1_ball(x, "big"), TypeError, ["radius", "big"]),
        (lambda: project.box(x, 1.0, 0.0), EmptySetError, ["empty", "lower", "1.0", "0.0"]),
        (lambda: project.box(x, math.nan, 0.0), ValueError, ["lower", "nan"]),
        (lambda: project.halfspace(x, torch.zeros(6)), ValueError, ["a", "zero"]),
        (lambda: project.hyperplane(x, torch.ones(5)), ValueError, ["a", "(5,)", "length 6"]),
        (lambda: project.affine(x, torch.ones(2, 6), torch.tensor([0.0, 1.0])), EmptySetError, ["empty", "contradict"]),
        (lambda: project.affine(x, torch.ones(6)), ValueError, ["A", "(..., k, 6)", "(6,)"]),
        (lambda: project.l2_ball(torch.zeros(4, 3), torch.ones(2, 4)), ValueError, ["radius", "(4,)", "(2, 4)"]),
        (lambda: project.box(x, torch.ones(5, 6)), ValueError, ["lower", "(4,)", "(5,)"]),
        (lambda: project.simplex(torch.zeros(2, 0)), EmptySetError, ["empty", "0"]),
        (lambda: MPU()(torch.ones(2, 4, dtype=torch.int64)), TypeError, ["x", "int64"]),
        (lambda: MPU()([1.0]), TypeError, ["x", "list"]),
        (lambda: Projection("psd", dim=-1), ValueError, ["dim"]),
        (lambda: project.affine(x, torch.ones(2, 6), torch.ones(3)), ValueError, ["b", "(3,)", "2"]),
        (lambda: project.polyhedron(x, torch.eye(6)[:1].repeat(2, 1) * torch.tensor([[1.0], [-1.0]]), -1.0),
         EmptySetError, ["empty"]),
        (lambda: project.polyhedron(x, torch.zeros(1, 6), -1.0), EmptySetError, ["empty", "row of H is zero"]),
        (lambda: project.polyhedron(x, torch.ones(2, 6), torch.ones(3)), ValueError, ["r", "(3,)", "2"]),
        (lambda: project.soc(x, torch.eye(6), 0.0, torch.zeros(6), -1.0), EmptySetError, ["empty"]),
        (lambda: project.soc(x, torch.eye(6), torch.ones(2), torch.zeros(6), 1.0), ValueError, ["d", "(2,)", "6"]),
        (lambda: project.exponential(x), ValueError, ["3 entries", "6"]),
        (lambda: project.rotated_lorentz(x[:, :1]), ValueError, ["2 entries", "1"]),
        (lambda: project.psd(x), ValueError, ["(..., n, n)", "(4, 6)"]),
        (lambda: MPU(alpha=0.0), ValueError, ["alpha", "0.0", "learnable=True"]),
        (lambda: MPU(alpha=2.0, learnable=False), ValueError, ["alpha", "2.0", "learnable=False"]),
        (lambda: MPU(alpha="pi"), TypeError, ["alpha", "'pi'"]),
        (lambda: MPU(-1), ValueError, ["m", "-1"]),
        (lambda: MPU(dim="all"), TypeError, ["dim", "all", "'flat'"]),
        (lambda: MPU(num_parameters=0), ValueError, ["num_parameters", "0"]),
        (lambda: MPU(num_parameters=5)(x), ValueError, ["num_parameters", "5", "3"]),
        (lambda: MPU()(torch.zeros(2, 3, 4)), ValueError, ["dim=None", "dim=1", "dim=-1"]),
        (lambda: MPU(dim="flat")(torch.zeros(3)), ValueError, ["flat", "batch"]),
        (lambda: MPU(remainder="error", dim=-1)(torch.zeros(3)), ValueError, ["remainder", "m=2", "3"]),
        (lambda: proxact.WTA(0.0), ValueError, ["ratio", "0.0", "(0, 1]"]),
        (lambda: proxact.Maxout(4)(x), ValueError, ["k=4", "6"]),
        (lambda: proxact.get("mpuu3"), ValueError, ["mpuu3", "mpu3"]),
        (lambda: proxact.get("rellu"), ValueError, ["rellu", "relu"]),
        (lambda: proxact.get(3), TypeError, ["name", "3"]),
        (lambda: Projection("sphere"), ValueError, ["set", "sphere", "l2_ball"]),
        (lambda: Projection("l2_ball", radios=1.0), ValueError, ["radios", "radius"]),
        (lambda: Projection("l2_ball", radius=1.0, learnable=["alpha"]), ValueError, ["learnable", "alpha", "radius"]),
        (lambda: proxact.gain(2, 3.0), ValueError, ["alpha", "3.0"]),
    ],
)  # fmt: skip
def test_message(call, error, words):
    with pytest.raises(error) as caught:
        call()
    for word in words:
        assert word in str(caught.value)


def test_empty_set_is_noticed_for_single_points_of_a_batch():
    """A batch of sets of which one is empty."""
    H = torch.eye(2).repeat(3, 2, 1) * torch.tensor([1.0, 1, -1, -1])[:, None]
    r = torch.tensor([[1.0, 1, 1, 1], [1, 1, 1, 1], [-1, 1, -1, 1]])
    with pytest.raises(EmptySetError):
        project.polyhedron(torch.randn(3, 2), H, r)
    assert project.polyhedron(torch.randn(2, 2), H[:2], r[:2]).abs().max() <= 1
