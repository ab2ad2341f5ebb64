"""Parts of the pages that are made from code and results: ``<!-- made: key -->`` becomes what ``MAKERS[key]`` returns.

The numbers are read from ``results/`` when the site is built, so the pages grow with it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any

from proxact.experiments.runs import read_summaries
from proxact.report import markdown, markdown_bench
from proxact.report.sections.paper_tables import PAPER
from proxact.theory import CLAIMS
from proxact.theory.errata import ERRATA

RESULTS = Path(__file__).parent.parent / "results"
MARK = re.compile(r"^<!-- made: (.+?) -->$", re.MULTILINE)


def fill(page: str) -> str:
    """Put what is made in place of every mark of a page."""

    def made(mark: re.Match[str]) -> str:
        if mark[1] not in MAKERS:
            raise ValueError(f"made: the key must be one of {', '.join(MAKERS)}; got {mark[1]!r}")
        return MAKERS[mark[1]]()

    return MARK.sub(made, page)


def results(make: Callable[..., str], *arguments: Any) -> Callable[[], str]:
    return lambda: make(*arguments, read_summaries([RESULTS]))


MAKERS: dict[str, Callable[[], str]] = {
    "state": results(markdown.state),
    **{name: results(markdown.paper_table, name) for name in PAPER["tables"]},
    **{f"fit:{target}": results(markdown.fitting, target) for target in ("cone", "leaky_relu")},
    **{f"findings:{name}": results(markdown.findings, name) for name in ("fit", "cifar10", "ant")},
    "protocol:cifar10": results(markdown.protocol),
    **{f"others:{name}": results(markdown.others, name) for name in ("cifar10", "imagenet", "ant")},
    "errata": cache(partial(markdown.errata, ERRATA)),  # seconds, and a site that is served asks again and again
    "claims": cache(partial(markdown.claims, CLAIMS)),
    **{f"bench:{name}": partial(markdown_bench.bench, name, RESULTS / "bench") for name in markdown_bench.TABLES},
}
