"""A page of the explorer in a browser, and what Python computes for it."""

import shutil

import pytest
import torch

from proxact import explorer, prox
from proxact.project import cone

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
OPTIONS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]
NAMES = sorted(name for name, entry in prox.CATALOGUE.items() if entry.is_elementwise)
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
