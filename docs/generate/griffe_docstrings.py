"""An extension of griffe: the roles and formulas of our docstrings in the API reference."""

from __future__ import annotations

import re
from typing import Any

import griffe
from docstrings import to_markdown


class Docstrings(griffe.Extension):
    def on_object(self, *, obj: griffe.Object, **kwargs: Any) -> None:
        if obj.docstring:
            text = re.sub(r"^( *)Example:$", r"\1Examples:", obj.docstring.value, flags=re.M)  # as griffe calls it
            obj.docstring.value = to_markdown(text)
