"""The pictures show what they say: regions, sections, slopes and penalties, held against formulas of their own."""

import io
import math

import pytest
import torch

from proxact import prox
from proxact.plot import FIGURES, draw_all, plane, proof, regions, scalar, sections, style
from proxact.project import cone

F64 = torch.float64


@pytest.mark.parametrize("name", FIGURES)
def test_draws(name):
    figure = FIGURES[name][0]()
    out = io.BytesIO()
    figure.savefig(out, format="svg")
    assert len(out.getvalue()) > 5000
    labels = [text.get_text() for axes in figure.axes for text in axes.texts]
    assert all("nan" not in label for label in labels)


def test_some_figures_only(tmp_path):
    assert [path.name for path, _ in draw_all(tmp_path, ["proof", "line"], "svg")] == ["proof.svg", "line.svg"]
    with pytest.raises(ValueError, match=r"names must be of field, .*got 'profo'"):
        draw_all(tmp_path, ["profo"])


def outline(axes):
    """The corners of the contour lines of a picture."""
    pieces = [torch.from_numpy(path.vertices) for found in axes.collections for path in found.get_paths()]
    return torch.cat(pieces)


def test_sections():
    """The plane across the axis cuts a disc of radius height x tan(alpha); the others lie on the cone too."""
    figure = sections.draw_sections()
    _, wedge, disc, ellipse, hyperbola = figure.axes
    alpha, height = math.pi / 8, 1.9
    radius = outline(disc).norm(dim=1)
    assert radius.max() == pytest.approx(height * math.tan(alpha), abs=0.02)
    lines = [line for line in figure.axes[0].lines if line.get_linestyle() == "-"]
    assert len(lines) >= 4
    for line in lines:
        x = torch.tensor([values.tolist() for values in line.get_data_3d()], dtype=F64).T
        t = x.sum(-1) / math.sqrt(3)
        angle = torch.atan2((x.square().sum(-1) - t * t).clamp(min=0).sqrt(), t)
        near_edge = (t * (angle - alpha).abs() < 0.04) | (t < 0.1)
        assert near_edge.all(), line.get_color()
    assert not torch.allclose(outline(wedge).mean(0), outline(hyperbola).mean(0), atol=1e-3)
    assert outline(ellipse).std(0).min() > 0.1


def test_divergence_counts_the_directions_that_pass():
    _, points = style.grid(2.0, 41)
    points = points + 0.013  # off the kinks
    assert torch.equal(plane.divergence(torch.relu, points), (points > 0).double().sum(-1))
    t = points.sum(-1) / math.sqrt(2)
    n = (points[..., 0] - points[..., 1]).abs() / math.sqrt(2)
    angle, alpha = torch.atan2(n, t), math.pi / 8
    expected = torch.where(angle < alpha, 2.0, torch.where(angle < alpha + math.pi / 2, 1.0, 0.0)).double()
    found = plane.divergence(lambda x: cone(x, alpha), points)
    assert ((found - expected).abs() < 1e-9).double().mean() > 0.995


def test_plane_of_the_proof():
    """What R^3's projection does in the plane of 1 and h is the projection onto a wedge."""
    x = torch.randn(200, 2, generator=torch.Generator().manual_seed(0), dtype=F64)
    edge = torch.tensor([math.sin(math.pi / 6), math.cos(math.pi / 6)], dtype=F64)
    mirrored = torch.stack([x[:, 0].abs(), x[:, 1]], -1)
    onto_edge = (mirrored @ edge).clamp(min=0)[:, None] * edge
    inside = (mirrored[:, 0] * edge[1] <= mirrored[:, 1] * edge[0])[:, None]
    expected = torch.where(inside, mirrored, onto_edge) * torch.stack([x[:, 0].sign(), torch.ones(200)], -1)
    torch.testing.assert_close(proof.in_plane(x), expected)


@pytest.mark.parametrize("alpha", [regions.SMALL, regions.LARGE])
def test_names_stand_in_their_regions(alpha):
    axes = regions.draw_regions(alpha).axes[0]
    names = {text.get_text(): text.get_position() for text in axes.texts}
    for name, place in names.items():
        if "mathcal" not in name:
            continue
        x, y = place
        angle = abs(math.remainder(math.atan2(y, x) - math.pi / 4, 2 * math.pi))
        region = "_1" if angle < alpha else "_3" if angle > alpha + math.pi / 2 else "_2" if y > x else "_2'"
        assert name == f"$\\mathcal{{R}}{region}$"
    assert sum("mathcal" in name for name in names) == 4


def test_slope_and_graph():
    line = scalar.draw_slope(torch.nn.functional.gelu).axes[0].lines[-1]
    x, slope = (torch.as_tensor(values) for values in line.get_data())
    normal = torch.distributions.Normal(torch.tensor(0.0, dtype=F64), torch.tensor(1.0, dtype=F64))
    expected = normal.cdf(x) + x * normal.log_prob(x).exp()
    torch.testing.assert_close(slope, expected, atol=1e-6, rtol=0)
    step = scalar.draw_slope(torch.relu).axes[0].lines[-1].get_ydata()
    assert sum(math.isnan(value) for value in step) == 1, "the jump of the slope is a gap"


def test_penalty_and_envelope():
    """Of the absolute value: Huber's function."""
    axes = scalar.draw_penalty(lambda x: prox.soft_threshold(x, 1.0), torch.abs).axes[0]
    lines = {line.get_label(): line.get_data() for line in axes.lines}
    y, value = (torch.as_tensor(part) for part in lines["penalty $\\phi$"])
    torch.testing.assert_close(value, y.abs())
    smooth = torch.as_tensor(lines["Moreau envelope"][1])
    torch.testing.assert_close(smooth, torch.where(y.abs() <= 1, y * y / 2, y.abs() - 0.5))


def test_penalty_ends_with_its_domain():
    axes = scalar.draw_penalty(prox.sigmoid, prox.sigmoid.penalty).axes[0]
    y, value = (torch.as_tensor(part) for part in axes.lines[-3].get_data())
    assert torch.equal(value.isnan(), (y < -1e-9) | (y > 1 + 1e-9))
