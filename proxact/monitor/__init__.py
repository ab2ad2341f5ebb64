"""Watch the angles while a network trains, in a plain loop, Lightning or transformers' Trainer."""

from .angles import AngleMonitor
from .callbacks import hf_callback, lightning_callback
from .collapse import CollapseWarning
from .figure import draw
from .regions import Regions, regions
from .rows import read_rows

__all__ = [
    "AngleMonitor",
    "CollapseWarning",
    "Regions",
    "draw",
    "hf_callback",
    "lightning_callback",
    "read_rows",
    "regions",
]
