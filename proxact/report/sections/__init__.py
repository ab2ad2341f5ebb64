"""One file per section of the page: ``ORDER`` and ``section(results, figures) -> Section``."""
