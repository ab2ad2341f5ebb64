"""The paper's claims hold, and none survives a perturbation of anything it constructs."""

import dataclasses
import math

import pytest
import torch

from proxact import theory

EVERYTHING = [*theory.CLAIMS, *theory.ERRATA]
every = pytest.mark.parametrize("claim", EVERYTHING, ids=lambda claim: claim.name)


def perturbed(construction, name, seed):
    """One entry, every number in it off by 0.05 to 0.1 % of the largest, at random."""
    value = construction[name]
    noise = 2 * torch.rand(value.shape, generator=torch.Generator().manual_seed(seed), dtype=value.dtype) - 1
    size = 5e-4 * max(1.0, value.abs().max().item())
    return {**construction, name: value + size * (noise.sign() + noise)}


@every
def test_holds(claim):
    verdict = claim.verdict()
    assert verdict.holds, verdict
    assert 0 <= verdict.residual <= claim.tolerance


@every
def test_no_perturbed_entry_is_accepted(claim):
    construction = claim.construct()
    for name in construction:
        for seed in range(3):
            residual = claim.residual(**perturbed(construction, name, seed))
            assert not residual <= claim.tolerance, f"{name}, perturbed with seed {seed}, has residual {residual}"


@pytest.mark.parametrize("erratum", [e for e in theory.ERRATA if e.printed], ids=lambda erratum: erratum.where)
def test_what_is_printed_is_refused(erratum):
    """Not by a hair: no rounding of what is printed would be accepted."""
    assert erratum.residual(**erratum.printed()) > max(0.01, 100 * erratum.tolerance)


def test_constructions_repeat():
    """A residual that can be quoted needs the same construction each time."""
    for claim in EVERYTHING:
        first, second = claim.construct(), claim.construct()
        assert all(torch.equal(first[name], second[name]) for name in first)


def test_every_row_of_the_errata_is_there():
    assert len(theory.ERRATA) == 19


def test_verify_all_prints_and_passes(capsys):
    assert theory.verify_all() is True
    printed = capsys.readouterr().out
    assert f"{len(EVERYTHING)} of {len(EVERYTHING)} hold" in printed
    assert "errata" in printed
    assert "FAILS" not in printed


def broken_claim():
    claim = theory.CLAIMS[0]
    return dataclasses.replace(claim, construct=lambda: perturbed(claim.construct(), "weight", 0))


@pytest.mark.parametrize(
    ("claims", "errata"),
    [
        ([theory.CLAIMS[1], broken_claim()], []),
        ([dataclasses.replace(theory.CLAIMS[0], residual=lambda **_: math.nan)], []),
        ([], [dataclasses.replace(theory.ERRATA[0], construct=theory.ERRATA[0].printed)]),
        ([], [dataclasses.replace(theory.ERRATA[0], printed=theory.ERRATA[0].construct)]),
    ],
    ids=["perturbed", "nan", "correction wrong", "print not refused"],
)
def test_verify_all_fails(claims, errata, capsys):
    assert theory.verify_all(claims, errata) is False
    assert capsys.readouterr().out.count("FAILS") == 1
