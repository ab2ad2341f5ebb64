"""The documentation site: built strictly, no dead link, nothing from the network, readable from a file."""

import os
import re
import subprocess
import sys
from collections import defaultdict
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import explorer_browser
import pytest
from explorer_browser import needs_browser

pytestmark = pytest.mark.slow  # make test-all gives a file to one worker: one build for all of them
for package in ("mkdocs", "material", "mkdocstrings", "mkdocs_jupyter"):
    pytest.importorskip(package)

ROOT = Path(__file__).parent.parent
browser = explorer_browser.browser  # a fixture
LOADING = {
    "script": "src",
    "img": "src",
    "iframe": "src",
    "source": "src",
    "video": "src",
    "audio": "src",
    "object": "data",
}
LOADING |= {"embed": "src", "use": "href", "image": "href"}


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    out = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(out)]
    # Notebooks are run by test_notebooks.py.
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1", "DOCS_NOTEBOOKS": "false"}
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr
    return out


class Page(HTMLParser):
    """The names that can be linked to, the links, and what a browser fetches by itself."""

    def __init__(self, path):
        super().__init__()
        self.anchors, self.links, self.loads = set(), [], []
        self.feed(path.read_text())

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        self.anchors |= {given[key] for key in ("id", "name") if given.get(key)}
        if tag == "a" and given.get("href"):
            self.links.append(given["href"])
        if tag == "link" and "canonical" not in given.get("rel", ""):
            self.loads.append(given["href"])
            self.links.append(given["href"])
        if given.get(LOADING.get(tag)):
            self.loads.append(given[LOADING[tag]])
            self.links.append(given[LOADING[tag]])
        self.loads += [part.split()[0] for part in (given.get("srcset") or "").split(",") if part.strip()]


@pytest.fixture(scope="module")
def pages(site):
    return {path: Page(path) for path in site.rglob("*.html")}


def test_no_dead_link(site, pages):
    assert len(pages) > 90
    dead = defaultdict(set)
    for path, page in pages.items():
        if path.name == "404.html":  # for servers, with addresses from their root
            continue
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if not target.is_file():
                dead[link].add(path.name)
            elif parts.fragment and target in pages and parts.fragment != "__skip":
                fragment = unquote(parts.fragment)
                if fragment not in pages[target].anchors:
                    dead[link].add(path.name)
    assert not dead


def test_nothing_is_loaded_from_elsewhere(site, pages):
    for path, page in pages.items():
        remote = [load for load in page.loads if re.match(r"(https?:)?//", load)]
        assert not remote, path
        assert not re.search(r'class="[^"]*\bmermaid\b', path.read_text()), "the theme would fetch mermaid"
    for style in site.rglob("*.css"):
        assert not re.search(r"url\(\s*['\"]?(https?:)?//|@import", style.read_text()), style
    # The theme's script has three addresses, for what we do not have: diagrams, very old browsers, a repository.
    allowed = r"https://unpkg.com/(mermaid|resize-observer)|https://(api.github.com|\$\{e\})/|http://www.w3.org/"
    for script in [*site.rglob("*.js")]:
        if script.name.startswith("search_index") or "lunr" in script.parts:
            continue
        code = re.sub(r"/\*.*?\*/", "", script.read_text(), flags=re.DOTALL)
        found = re.findall(r"['\"`](https?://[^'\"`\s]+)", code)
        assert [address for address in found if not re.match(allowed, address)] == [], script


def test_every_page_has_its_formulas(pages):
    for path in pages:
        text = re.sub(r"<pre.*?</pre>", "", path.read_text(), flags=re.DOTALL)
        assert "arithmatex" not in text, path
        assert ":math:`" not in text, path
    assert sum("<math" in path.read_text() for path in pages) > 40


@needs_browser
@pytest.mark.parametrize("width", [1280, 390])
def test_in_a_browser(site, browser, width):
    """No request but for files of the site, no message in the console, nothing wider than the window."""
    context = browser.new_context(viewport={"width": width, "height": 900})
    tab, problems, requests = context.new_page(), [], []
    tab.on("console", lambda said: problems.append(said.text) if said.type in ("error", "warning") else None)
    tab.on("pageerror", lambda error: problems.append(str(error)))
    tab.on("request", lambda request: requests.append(request.url))
    shown = ["index", "activations/index", "prox/sigmoid", "sets/cone", "figures", "explore", "reproduce", "api/prox"]
    for name in [*shown, "notebooks/first_steps"]:
        tab.goto((site / f"{name}.html").as_uri())
        tab.wait_for_load_state("networkidle")
        assert _sideways(tab) <= 0, name
        broken = tab.evaluate("[...document.images].filter(i => i.complete && !i.naturalWidth).map(i => i.src)")
        assert broken == [], name
    assert problems == []
    assert [url for url in requests if not url.startswith((site.as_uri(), "data:", "about:", "blob:"))] == []
    context.close()


@needs_browser
def test_every_page_fits_a_phone(pages, browser):
    """Fonts differ from machine to machine: a formula that fits here may be too wide elsewhere."""
    tab = browser.new_page(viewport={"width": 360, "height": 800})
    too_wide = []
    for path in pages:
        tab.goto(path.as_uri())
        too_wide += [path.name] if _sideways(tab) > 0 else []
    assert too_wide == []
    tab.close()


def _sideways(tab):
    return tab.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")


@needs_browser
def test_search_from_a_file(site, browser):
    tab = browser.new_page()
    tab.goto((site / "index.html").as_uri())
    tab.keyboard.press("/")
    tab.keyboard.type("half-apex")
    tab.wait_for_selector(".md-search-result__link", timeout=15_000)
    links = tab.eval_on_selector_all(".md-search-result__link", "found => found.map(a => a.getAttribute('href'))")
    assert any("cone.html" in link or "mpu.html" in link for link in links)
    tab.close()
