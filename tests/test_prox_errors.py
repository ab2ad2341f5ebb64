"""Bad input: the message names the argument, the value and what is allowed."""

import math

import pytest
import torch
from test_prox import STEEPEST

from proxact import EmptySetError, prox

X = torch.zeros(4, 6)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: prox.elu(X, 1.1), ValueError, ["a must", "(0, 1]", "1.1"]),
        (lambda: prox.elu.penalty(X, a=2.0), ValueError, ["a must", "(0, 1]", "2.0"]),
        (lambda: prox.elu(X, torch.tensor(0.5)), TypeError, ["a must", "number"]),
        (lambda: prox.celu(X, 0.0), ValueError, ["a must", "(0, inf)", "0.0"]),
        (lambda: prox.leaky_relu(X, -0.1), ValueError, ["a must", "(0, 1]", "-0.1"]),
        (lambda: prox.leaky_relu(X, torch.tensor([1.5])), ValueError, ["a must", "(0, 1]", "1.5"]),
        (lambda: prox.leaky_relu(X, torch.ones(5)), ValueError, ["a must", "(4, 6)", "(5,)"]),
        (lambda: prox.leaky_relu(X, torch.tensor(1)), TypeError, ["a must", "int64"]),
        (lambda: prox.soft_threshold(X, -1), ValueError, ["lam", "[0, inf)", "-1"]),
        (lambda: prox.soft_threshold(X, math.nan), ValueError, ["lam", "nan"]),
        (lambda: prox.soft_threshold(X, "big"), TypeError, ["lam", "big"]),
        (lambda: prox.soft_threshold(X, True), TypeError, ["lam", "True"]),
        (lambda: prox.atan(X, 1.6), ValueError, ["c must", "pi/2", "1.6"]),
        (lambda: prox.geman_mcclure(X, STEEPEST + 1e-9), ValueError, ["mu", "8/sqrt(27)"]),
        (lambda: prox.squash(X, 1.6), ValueError, ["mu", "8/sqrt(27)", "1.6"]),
        (lambda: prox.modrelu(X, 0.1), ValueError, ["b must", "(-inf, 0]", "0.1"]),
        (lambda: prox.entmax(X, 2.5), ValueError, ["alpha", "[1, 2]", "2.5"]),
        (lambda: prox.entmax(X, 0.9), ValueError, ["alpha", "[1, 2]", "0.9"]),
        (lambda: prox.entmax(X, 1.5, dim=2), ValueError, ["dim", "2", "[-2, 1]"]),
        (lambda: prox.group_soft_threshold(X, torch.ones(3)), ValueError, ["lam", "(4,)", "(3,)"]),
        (lambda: prox.linf_norm(X, -0.5), ValueError, ["lam", "-0.5"]),
        (lambda: prox.clip(X, 1.0, 0.0), EmptySetError, ["empty", "low", "1.0", "0.0"]),
        (lambda: prox.clip.penalty(X, 1.0, 0.0), EmptySetError, ["empty", "low", "1.0", "0.0"]),
        (lambda: prox.sigmoid(X.long()), TypeError, ["x must", "int64"]),
        (lambda: prox.sigmoid([1.0]), TypeError, ["x must", "list"]),
        (lambda: prox.sigmoid.penalty(X.long()), TypeError, ["y must", "int64"]),
        (lambda: prox.softmax.penalty([1.0]), TypeError, ["y must", "list"]),
        (lambda: prox.sigmoid(X, 1.0), TypeError, ["sigmoid", "0 parameters"]),
        (lambda: prox.elu(X, b=1.0), TypeError, ["b"]),
        (lambda: prox.cone(X, 0.5, 4), ValueError, ["m=4", "6"]),
        (lambda: prox.verify(torch.relu), TypeError, ["penalty", "relu"]),
        (lambda: prox.verify(lambda x: x.sum(-1), torch.abs), ValueError, ["f must", "shape"]),
        (lambda: prox.verify(torch.relu, torch.abs, [1.0]), TypeError, ["x must", "list"]),
        (lambda: prox.verify(torch.relu, lambda y: y * math.nan), ValueError, ["penalty", "finite"]),
        (lambda: prox.verify(prox.simplex, prox.simplex.penalty), ValueError, ["penalty", "give outside"]),
        (lambda: prox.moreau_envelope(torch.abs, 0.0), ValueError, ["lam", "(0, inf)", "0.0"]),
        (lambda: prox.moreau_envelope(torch.abs)([1.0]), TypeError, ["y must", "list"]),
    ],
)  # fmt: skip
def test_message(call, error, words):
    with pytest.raises(error) as caught:
        call()
    for word in words:
        assert word in str(caught.value)
