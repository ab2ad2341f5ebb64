"""One file per section of the page: ``ORDER`` and ``section(summaries, figures) -> Section``."""
