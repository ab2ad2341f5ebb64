"""A page of the explorer in a browser, the hands that use it, and what Python computes for it."""

import math
import re
import shutil

import pytest
import torch

from proxact import explorer, prox
from proxact.project import cone

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
OPTIONS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]
NAMES = sorted(name for name, entry in prox.CATALOGUE.items() if entry.is_elementwise)
MINUS = "\N{MINUS SIGN}"
needs_browser = pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed")


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    return explorer.write(tmp_path_factory.mktemp("explorer") / "new folder" / "explorer.html")


@pytest.fixture(scope="module")
def browser():
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as driver:
        running = driver.chromium.launch(executable_path=CHROMIUM, args=OPTIONS)
        yield running
        running.close()


@pytest.fixture
def show(browser, file):
    """Opens a page; when the test is over, there must have been no error and no request but the one for the page."""
    problems, requests, contexts = [], [], []

    def open_page(width=1280, address="", target=file, **context):
        contexts.append(browser.new_context(viewport={"width": width, "height": 800}, **context))
        tab = contexts[-1].new_page()
        tab.on("console", lambda said: problems.append(said.text) if said.type in ("error", "warning") else None)
        tab.on("pageerror", lambda error: problems.append(str(error)))
        tab.on("request", lambda request: requests.append(request.url))
        tab.goto(target.as_uri() + address)
        return tab

    yield open_page
    for context in contexts:
        context.close()
    assert problems == []
    assert len([url for url in requests if not url.startswith(("data:", "about:"))]) == len(contexts)


@pytest.fixture(scope="module")
def tab(browser, file):
    """One page for all that is only computed in it."""
    page = browser.new_page()
    page.goto(file.as_uri())
    yield page
    page.close()


def python_cone(x, alpha, leak):
    """The projection, its Jacobian and its derivative in alpha."""
    point, angle = torch.tensor(x, dtype=torch.float64), torch.tensor([alpha], dtype=torch.float64)

    def function(v, a):
        return cone(v, a, m=len(x), leak=leak)

    by_x, by_alpha = torch.autograd.functional.jacobian(function, (point, angle))
    return function(point, angle).tolist(), by_x.tolist(), by_alpha.squeeze(-1).tolist()


def numbers(text):
    return [float(value) for value in re.findall(r"-?\d+\.\d+", text.replace(MINUS, "-"))]


def shown_point(tab):
    return [float(box.input_value()) for box in tab.locator("#coordinates input:visible").all()]


def assert_shows_python(tab):
    """The text beside the picture is what Python computes for the point, angle and leak shown there."""
    x = shown_point(tab)
    alpha = math.radians(float(tab.locator("#degrees").input_value()))
    leak = float(tab.locator("#leak").input_value())
    y, by_x, by_alpha = python_cone(x, alpha, leak)
    point = torch.tensor(x, dtype=torch.float64)
    cells = [float(cell.replace(MINUS, "-")) for cell in tab.locator("#jacobian td").all_inner_texts()]
    relu_cells = [float(cell) for cell in tab.locator("#relu-jacobian td").all_inner_texts()]
    assert numbers(tab.locator("#value-y").inner_text()) == pytest.approx(y, abs=6e-5)
    assert numbers(tab.locator("#value-relu").inner_text()) == pytest.approx(torch.relu(point).tolist())
    assert numbers(tab.locator("#value-dalpha").inner_text()) == pytest.approx(by_alpha, abs=6e-5)
    assert cells == pytest.approx([entry for row in by_x for entry in row], abs=6e-4)
    assert relu_cells == torch.diag((point > 0).double()).flatten().tolist()
    distance = (point - torch.tensor(y)).norm().item()
    assert numbers(tab.locator("#value-distance").inner_text()) == pytest.approx([distance], abs=6e-5)


def choose(tab, mode):
    tab.get_by_text(mode, exact=True).click()


def middle(tab, selector):
    box = tab.locator(selector).bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def drag(tab, selector, dx, dy):
    x, y = middle(tab, selector)
    tab.mouse.move(x, y)
    tab.mouse.down()
    tab.mouse.move(x + dx / 2, y + dy / 2, steps=3)
    tab.mouse.move(x + dx, y + dy, steps=3)
    tab.mouse.up()


def touch_drag(tab, start, dx, dy):
    session = tab.context.new_cdp_session(tab)
    session.send("Input.dispatchTouchEvent", {"type": "touchStart", "touchPoints": [{"x": start[0], "y": start[1]}]})
    for i in range(1, 9):
        at = {"x": start[0] + dx * i / 8, "y": start[1] + dy * i / 8}
        session.send("Input.dispatchTouchEvent", {"type": "touchMove", "touchPoints": [at]})
    session.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})


def pixels_per_unit(tab):
    return tab.evaluate(
        "explorer.plane.UNIT * document.querySelector('#main-plane svg').clientWidth / explorer.svg.SIZE"
    )
