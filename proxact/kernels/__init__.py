"""Optional accelerators, each with the stem of what it accelerates. The plain functions are the specification."""

from . import cone_op as cone_op  # makes the operator known to torch
