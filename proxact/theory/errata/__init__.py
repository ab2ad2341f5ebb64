"""Every correction to the paper's text, each with a residual that tells what is printed from what holds."""

from ..claim import Erratum
from .numbers import ERRATA as _NUMBERS
from .proximal import ERRATA as _PROXIMAL
from .theorems import ERRATA as _THEOREMS

ERRATA: list[Erratum] = [*_THEOREMS, *_PROXIMAL, *_NUMBERS]

__all__ = ["ERRATA"]
