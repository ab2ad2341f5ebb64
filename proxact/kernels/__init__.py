"""Optional accelerators, each with the stem of what it accelerates. The plain functions are the specification."""
