"""How many multiply-adds a forward pass takes."""

from .count import cost
from .result import Cost, Row
from .rules import RULES, register_cost

__all__ = ["RULES", "Cost", "Row", "cost", "register_cost"]
