"""The explorer computes in the browser what the library computes."""

import inspect
import math

import explorer_browser
import pytest
import torch
from explorer_browser import NAMES, needs_browser, python_cone

from proxact import prox
from proxact.project import cone

browser, file, tab = explorer_browser.browser, explorer_browser.file, explorer_browser.tab  # fixtures
pytestmark = needs_browser


def browser_cone(tab, cases):
    return tab.evaluate(
        "cases => cases.map(([x, alpha, leak]) => ['project', 'jacobian', 'byAlpha'].map("
        "name => explorer.cone[name](x, alpha, leak)))",
        cases,
    )


def assert_close(found, expected, case, tolerance=1e-9):
    found, expected = torch.tensor(found, dtype=torch.float64), torch.tensor(expected, dtype=torch.float64)
    torch.testing.assert_close(found, expected, atol=tolerance, rtol=tolerance, msg=lambda text: f"{case}: {text}")


@pytest.mark.parametrize("m", [2, 3, 5, 8])
def test_the_cone(tab, m):
    generator = torch.Generator().manual_seed(m)
    points = [row.tolist() for row in 2 * torch.randn(60, m, dtype=torch.float64, generator=generator)]
    points += [[0.0] * m, [1.5] * m, [-1.5] * m]
    angles = [0.0, math.pi / 2, math.pi / 4, *(math.pi / 2 * torch.rand(8, generator=generator).double()).tolist()]
    leaks = [0.0, 0.01, 0.7, 1.0]
    cases = [[x, angles[i % len(angles)], leaks[i % len(leaks)]] for i, x in enumerate(points)]
    cases += [[x, alpha, 0.25] for x in points[-3:] for alpha in angles]
    for case, found in zip(cases, browser_cone(tab, cases), strict=True):
        for one, expected in zip(found, python_cone(*case), strict=True):
            assert_close(one, expected, case)


@pytest.mark.parametrize("m", [2, 3, 5])
def test_borders_of_the_cone_are_outside(tab, m):
    """On the border of the cone, and of its polar, values are exact and derivatives those of the outer side."""
    generator = torch.Generator().manual_seed(m)
    axis = torch.full((m,), 1 / math.sqrt(m), dtype=torch.float64)
    cases, outer = [], []
    for alpha in [0.1, math.pi / 6, math.pi / 4, 1.2, 1.5]:
        side = torch.randn(m, dtype=torch.float64, generator=generator)
        side = side - side.mean()
        side = side / side.norm()
        edge = math.cos(alpha) * axis + math.sin(alpha) * side
        outwards = math.cos(alpha) * side - math.sin(alpha) * axis
        cases += [[(1.7 * edge).tolist(), alpha, 0.0], [(1.7 * outwards).tolist(), alpha, 0.0]]
        # A little off the border, so that no rounding brings it back: outside the cone; inside the polar.
        outer += [(1.7 * edge + 1e-11 * outwards).tolist(), (1.7 * outwards - 1e-11 * edge).tolist()]
    found = browser_cone(tab, cases)
    for case, near, (value, by_x, by_alpha) in zip(cases, outer, found, strict=True):
        expected = python_cone(near, *case[1:])
        for one, other in zip((value, by_x, by_alpha), expected, strict=True):
            assert_close(one, other, case)


def test_m_2_at_a_quarter_turn_is_relu_with_its_jacobian(tab):
    points = [[a / 4, b / 4] for a in range(-8, 9) for b in range(-8, 9)]
    found = browser_cone(tab, [[x, math.pi / 4, 0.0] for x in points])
    for x, (value, by_x, _) in zip(points, found, strict=True):
        point = torch.tensor(x, dtype=torch.float64)
        assert_close(value, torch.relu(point).tolist(), x, 1e-15)
        assert_close(by_x, torch.autograd.functional.jacobian(torch.relu, point).tolist(), x, 1e-15)


@pytest.mark.parametrize("m", [2, 3])
def test_shares_of_the_regions(tab, m):
    """Against the share of random directions that Python leaves alone, sets to 0 or moves."""
    x = torch.randn(200_000, m, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    for alpha in (0.2, 0.8, 1.4):
        y = cone(x, alpha, m=m)
        stays, vanishes = (y == x).all(-1).double().mean(), (y == 0).all(-1).double().mean()
        found = tab.evaluate("([m, alpha]) => explorer.cone.shares(m, alpha)", [m, alpha])
        assert found["cone"] == pytest.approx(stays.item(), abs=5e-3)
        assert found["polar"] == pytest.approx(vanishes.item(), abs=5e-3)
        assert sum(found.values()) == pytest.approx(1)


def settings(tab, name):
    """Parameters of a prox: the defaults, and both ends of the sliders."""
    sliders = tab.evaluate("name => explorer.scalar.catalogue[name].parameters ?? {}", name)
    chosen = [{key: slider["value"] for key, slider in sliders.items()}]
    if name == "clip":
        return [*chosen, {"low": -2.5, "high": 0.5}, {"low": 1.0, "high": 1.0}], sliders
    return chosen + [
        {key: slider[end] for key, slider in sliders.items()} for end in ("min", "max") if sliders
    ], sliders


def test_every_scalar_prox_is_there_with_its_parameters(tab):
    assert sorted(tab.evaluate("Object.keys(explorer.scalar.catalogue)")) == NAMES
    for name in NAMES:
        entry = prox.CATALOGUE[name]
        own = {p.name: p.default for p in list(inspect.signature(entry).parameters.values())[1:]}
        _, sliders = settings(tab, name)
        assert {key: slider["value"] for key, slider in sliders.items()} == pytest.approx(own)
        for key, slider in sliders.items():
            assert entry.ranges[key].contains(slider["min"]), (name, key)
            assert entry.ranges[key].contains(slider["max"]), (name, key)


@pytest.mark.parametrize("name", NAMES)
def test_scalar_proxes_penalties_and_envelopes(tab, name):
    entry = prox.CATALOGUE[name]
    x = torch.cat([torch.linspace(-9, 9, 181), 20 * torch.randn(40, generator=torch.Generator().manual_seed(0))])
    x = x.double().round(decimals=4).requires_grad_()
    for parameters in settings(tab, name)[0]:
        y = entry(x, **parameters)
        (slope,) = torch.autograd.grad(y.sum(), x, retain_graph=True)
        level = entry.penalty(y.detach(), **parameters)
        anywhere = torch.linspace(-4, 4, 321).double()  # also outside the domain
        envelope = prox.moreau_envelope(
            lambda v, parameters=parameters: entry.penalty(v, **parameters),
            prox=lambda v, parameters=parameters: entry(v, **parameters),
        )(x.detach())
        found = tab.evaluate(
            "([name, x, y, anywhere, parameters]) => { const s = explorer.scalar; return ["
            "x.map((v) => s.prox(name, v, parameters)), x.map((v) => s.slope(name, v, parameters)),"
            "y.map((v) => s.penalty(name, v, parameters)), anywhere.map((v) => s.penalty(name, v, parameters)),"
            "x.map((v) => s.envelope(name, v, parameters))]; }",
            [name, x.tolist(), y.tolist(), anywhere.tolist(), parameters],
        )
        expected = [y, slope, level, entry.penalty(anywhere, **parameters), envelope]
        what = ("prox", "slope", "penalty", "penalty anywhere", "envelope")
        for one, other, kind in zip(found, expected, what, strict=True):
            # torch itself rounds 1/a to float32 in the derivative of celu.
            tolerance = 1e-7 if (name, kind) == ("celu", "slope") else 1e-9
            assert_close(one, other.tolist(), (name, kind, parameters), tolerance)
