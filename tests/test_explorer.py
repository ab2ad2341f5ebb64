"""The explorer shows what Python computes and can be used by mouse, keys and touch, at every width."""

import math
import re
from pathlib import Path

import explorer_browser
import pytest
import torch
from explorer_browser import (
    MINUS,
    NAMES,
    assert_shows_python,
    choose,
    drag,
    middle,
    needs_browser,
    numbers,
    pixels_per_unit,
    shown_point,
    touch_drag,
)

from proxact import explorer, prox

browser, file, show = explorer_browser.browser, explorer_browser.file, explorer_browser.show  # fixtures


def test_the_page_needs_nothing_else(file):
    source = file.read_text()
    assert not re.search(r'\b(src|href)="(?!data:)', source)
    assert not re.search(
        r"\b(fetch|import|XMLHttpRequest|WebSocket|sendBeacon)\b\s*\(|https?://(?!www\.w3\.org/2000/svg)", source
    )
    assert source.count("<script>") == len(list(Path(explorer.__file__).parent.glob("*.js")))


@needs_browser
def test_the_point_follows_the_mouse(show):
    tab = show()
    assert_shows_python(tab)
    start, scale = shown_point(tab), pixels_per_unit(tab)
    drag(tab, "#point-handle .knob", scale, 0.5 * scale)
    assert shown_point(tab) == pytest.approx([start[0] + 1, start[1] - 0.5], abs=0.02)
    assert_shows_python(tab)
    x, y = middle(tab, "#main-plane .picture")
    tab.mouse.click(x - 0.5 * scale, y - 0.25 * scale)  # a click beside the handles moves x there
    assert shown_point(tab) == pytest.approx([-0.5, 0.25], abs=0.02)
    assert_shows_python(tab)
    drag(tab, "#point-handle .knob", -900, 0)  # far outside: it stays in the disc
    assert math.hypot(*shown_point(tab)) == pytest.approx(2.1, abs=0.02)


@needs_browser
def test_the_angle_follows_the_mouse(show):
    tab = show()
    centre, scale = middle(tab, "#main-plane .picture"), pixels_per_unit(tab)
    for degrees in (60, 10):
        turn = math.radians(45 + degrees)
        goal = centre[0] + 2.2 * scale * math.cos(turn), centre[1] - 2.2 * scale * math.sin(turn)
        start = middle(tab, "#angle-handle .knob")
        drag(tab, "#angle-handle .knob", goal[0] - start[0], goal[1] - start[1])
        assert float(tab.locator("#degrees").input_value()) == pytest.approx(degrees, abs=1)
        assert_shows_python(tab)


@needs_browser
def test_keys_move_handles_and_sliders(show):
    tab = show()
    start = shown_point(tab)
    tab.get_by_role("slider", name="Point x").focus()
    for key in ("ArrowRight", "ArrowRight", "ArrowDown", "Shift+ArrowUp"):
        tab.keyboard.press(key)
    assert shown_point(tab) == pytest.approx([start[0] + 0.2, start[1] - 0.09])
    assert_shows_python(tab)
    angle = tab.get_by_role("slider", name="on the cone's edge")
    angle.focus()
    for key, degrees in (("Home", 0), ("PageUp", 10), ("ArrowUp", 11), ("Shift+ArrowLeft", 10.5), ("End", 90)):
        tab.keyboard.press(key)
        assert float(tab.locator("#degrees").input_value()) == degrees
        assert angle.get_attribute("aria-valuenow") == str(degrees)
        assert_shows_python(tab)
    tab.get_by_role("slider", name=re.compile("^Half-apex angle [^,]*$")).focus()
    tab.keyboard.press("ArrowLeft")
    tab.get_by_role("slider", name="Leak").focus()
    tab.keyboard.press("PageUp")
    assert float(tab.locator("#leak").input_value()) > 0
    assert_shows_python(tab)
    tab.locator("#x1").fill("-1.23")
    tab.keyboard.press("Enter")
    assert shown_point(tab)[0] == -1.23
    assert_shows_python(tab)
    tab.locator("#x1").fill("")  # no number: the old one comes back
    tab.keyboard.press("Enter")
    assert shown_point(tab)[0] == -1.23


@needs_browser
@pytest.mark.parametrize("mode", ["plane", "space"])
def test_touch(show, mode):
    tab = show(390, f"#mode={mode}", has_touch=True, is_mobile=True)
    suffix = "" if mode == "plane" else "-3"
    before = shown_point(tab)
    tab.locator(f"#point-handle{suffix}").scroll_into_view_if_needed()
    scrolled = tab.evaluate("scrollY")
    touch_drag(tab, middle(tab, f"#point-handle{suffix} .knob"), 60, 80)
    assert math.dist(shown_point(tab), before) > 0.5
    assert_shows_python(tab)
    degrees = tab.locator("#degrees").input_value()
    touch_drag(tab, middle(tab, f"#angle-handle{suffix} .knob"), -70, 60)
    assert tab.locator("#degrees").input_value() != degrees
    assert_shows_python(tab)
    assert tab.evaluate("scrollY") == scrolled  # a handle that is dragged does not scroll the page
    if mode == "space":
        x, y = middle(tab, "#main-space .picture")
        touch_drag(tab, (x - 130, y + 130), 90, 10)
        assert float(tab.locator("#turn").input_value()) != -40
        assert_shows_python(tab)


@needs_browser
def test_the_cone_can_be_turned_and_its_point_moved(show):
    tab = show()
    choose(tab, "Cone, m = 3")
    assert len(shown_point(tab)) == 3
    assert_shows_python(tab)
    values, picture = tab.locator("#values").inner_text(), tab.locator("#main-space svg > g").first.inner_html()
    x, y = middle(tab, "#main-space .picture")
    tab.mouse.move(x - 150, y + 150)
    tab.mouse.down()
    tab.mouse.move(x - 90, y + 130, steps=4)
    tab.mouse.up()
    assert float(tab.locator("#turn").input_value()) == -70
    assert float(tab.locator("#tilt").input_value()) == 8
    assert tab.locator("#main-space svg > g").first.inner_html() != picture
    assert tab.locator("#values").inner_text() == values  # turning changes the view alone
    tab.get_by_role("slider", name="Turn").focus()
    tab.keyboard.press("ArrowRight")
    assert float(tab.locator("#turn").input_value()) == -69

    before = shown_point(tab)
    drag(tab, "#point-handle-3 .knob", 40, 40)
    # The point moves in the plane of the picture: by as much as the pointer, and not towards the eye.
    move = [new - old for new, old in zip(shown_point(tab), before, strict=True)]
    eye = tab.evaluate("explorer.space.camera(explorer.state.turn, explorer.state.tilt).eye")
    assert sum(a * b for a, b in zip(move, eye, strict=True)) == pytest.approx(0, abs=0.02)
    scale = tab.evaluate(
        "explorer.plane.UNIT * document.querySelector('#main-space svg').clientWidth / explorer.svg.SIZE"
    )
    assert math.hypot(*move) == pytest.approx(math.hypot(40, 40) / scale, abs=0.03)
    assert_shows_python(tab)

    before = shown_point(tab)
    tab.get_by_role("slider", name="Point x").focus()
    for key in ("ArrowRight", "ArrowUp", "PageDown"):
        tab.keyboard.press(key)
    assert shown_point(tab) == pytest.approx([before[0] + 0.1, before[1] + 0.1, before[2] - 0.1])
    assert_shows_python(tab)
    drag(tab, "#angle-handle-3 .knob", 0, -60)
    assert float(tab.locator("#degrees").input_value()) != 30
    assert_shows_python(tab)


@needs_browser
def test_scalar_proxes_are_shown_as_python_computes_them(show):
    tab = show()
    choose(tab, "One number")
    handle = tab.get_by_role("slider", name="Number x")
    for name in NAMES:
        tab.get_by_label("Activation", exact=True).select_option(name)
        handle.focus()
        tab.keyboard.press("ArrowLeft")
        (x,) = shown_point(tab)
        parameters = tab.evaluate("explorer.state.parameters[explorer.state.prox]")
        entry = prox.CATALOGUE[name]
        point = torch.tensor([x], dtype=torch.float64)
        y = entry(point, **parameters)
        penalty = entry.penalty(y, **parameters)
        expected = {"y": y, "penalty": penalty, "envelope": penalty + (point - y) ** 2 / 2, "lean": point - y}
        for key, value in expected.items():
            assert numbers(tab.locator(f"#value-{key}").inner_text()) == pytest.approx(value.tolist(), abs=6e-5), name
    tab.get_by_label("Activation", exact=True).select_option("soft_threshold")
    before = tab.locator("#value-y").inner_text()
    tab.get_by_label("threshold").press("End")
    assert tab.evaluate("explorer.state.parameters.soft_threshold.lam") == 3
    assert tab.locator("#value-y").inner_text() != before
    drag(tab, "#number-handle .knob", 60, 25)
    assert shown_point(tab)[0] > x + 0.5
    tab.get_by_role("button", name="Reset").click()
    assert tab.evaluate("explorer.state.parameters.soft_threshold.lam") == 0.5


@needs_browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 900, 390])
def test_every_width_is_readable(show, width, scheme):
    tab = show(width, color_scheme=scheme)
    for mode in ("Cone, m = 2", "Cone, m = 3", "One number"):
        choose(tab, mode)
        assert tab.evaluate("document.documentElement.scrollWidth") <= width
        for figure in tab.locator("figure:visible").all():
            box = figure.locator("svg").bounding_box()
            assert min(250, width) <= box["width"] <= width
            assert box["x"] >= 0
        for part in tab.locator("dd:visible, td:visible, button:visible").all():
            box = part.bounding_box()
            assert box["x"] >= 0
            assert box["x"] + box["width"] <= width
        sizes = tab.evaluate(
            "[...document.querySelectorAll('.label, p, dd, td, label')].filter((e) => e.getClientRects().length)"
            ".map((e) => parseFloat(getComputedStyle(e).fontSize)"
            " * (e.closest('svg')?.clientWidth ?? explorer.svg.SIZE) / explorer.svg.SIZE)"
        )
        assert min(sizes) >= 9


RANDOM_STATES = """(mode) => {
  let seed = 7;
  const random = () => { seed = (seed * 16807) % 2147483647; return seed / 2147483647; };
  const point = (n) => Array.from({ length: n }, () => 5 * random() - 2.5);
  const names = Object.keys(explorer.scalar.catalogue);
  const overlaps = [];
  for (let k = 0; k < 120; k += 1) {
    explorer.set({ mode, degrees: [0, 45, 90][k % 6] ?? 90 * random(), leak: k % 3 ? 0 : random(), plane: point(2),
      space: point(3), turn: 360 * random(), tilt: 178 * random() - 89, prox: names[k % names.length],
      number: 12 * random() - 4 });
    for (const svg of document.querySelectorAll("figure:not([hidden]) svg")) {
      const boxes = [...svg.querySelectorAll(".label")].map((label) => [label.textContent, label.getBBox()]);
      boxes.forEach(([name, a], i) => boxes.slice(i + 1).forEach(([other, b]) => {
        const wide = Math.min(a.x + a.width, b.x + b.width) - Math.max(a.x, b.x);
        const high = Math.min(a.y + a.height, b.y + b.height) - Math.max(a.y, b.y);
        if (wide > 1 && high > 3) overlaps.push([name, other, JSON.stringify(explorer.state)]);
      }));
    }
  }
  return overlaps;
}"""


@needs_browser
@pytest.mark.parametrize("mode", ["plane", "space", "graph"])
def test_labels_do_not_overlap(show, mode):
    assert show().evaluate(RANDOM_STATES, mode) == []


@needs_browser
def test_a_screen_reader_finds_everything(show):
    tab = show()
    for mode in ("Cone, m = 2", "Cone, m = 3", "One number"):
        tab.get_by_role("radio", name=mode).check()
        for slider in tab.get_by_role("slider").all():
            words = slider.get_attribute("aria-valuetext")
            assert words, slider
            assert not re.search("undefined|NaN|null", words)
        snapshot = tab.locator("main").aria_snapshot()
        assert not re.search(r"- (slider|spinbutton|checkbox|combobox|button|radio)(?! \")", snapshot), snapshot
    tab.get_by_role("radio", name="Cone, m = 2").check()
    tab.get_by_role("slider", name="Point x").press("ArrowRight")
    x = ", ".join(f"{value:.2f}".replace("-", MINUS) for value in shown_point(tab))
    status = tab.get_by_role("status")
    status.get_by_text(f"x is ({x})").wait_for(timeout=5000)
    assert numbers(status.inner_text())[2:4] == numbers(tab.locator("#value-y").inner_text())


@needs_browser
def test_a_link_chooses_what_is_shown(show):
    assert show(address="#prox=tanh").locator("#prox").input_value() == "tanh"
    tab = show(address="#mode=space&degrees=60")
    assert tab.locator("#main-space").is_visible()
    assert tab.locator("#degrees").input_value() == "60"
    assert show(address="#mode=nonsense&prox=toString&degrees=much").locator("#main-plane").is_visible()


@needs_browser
@pytest.mark.parametrize("width", [1280, 390])
def test_inside_another_page(show, tmp_path, width):
    """The frame is as high as its content, so that it has no scroll bar of its own, and can be used as ever."""
    outer = tmp_path / "outer.html"
    outer.write_text(
        f'<!doctype html><meta charset="utf-8"><link rel="icon" href="data:,"><h1>A page</h1>{explorer.frame()}'
    )
    tab = show(width, target=outer)
    frame = tab.frames[1]
    frame.wait_for_function("frameElement.clientHeight >= document.body.offsetHeight")
    choose(frame, "Cone, m = 3")
    frame.wait_for_function("Math.abs(frameElement.clientHeight - document.body.offsetHeight) <= 1")
    choose(frame, "Cone, m = 2")
    before = shown_point(frame)
    box = frame.locator("#point-handle .knob").bounding_box()
    tab.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    tab.mouse.down()
    tab.mouse.move(box["x"] + 50, box["y"] + 30, steps=4)
    tab.mouse.up()
    assert math.dist(shown_point(frame), before) > 0.3
    assert_shows_python(frame)
