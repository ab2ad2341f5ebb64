# make test, make demo: both need only python3 and make. Everything else is installed into .venv.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin

# Freed memory stays with the process: fresh pages for large tensors cost up to five times the computation itself.
export MALLOC_MMAP_THRESHOLD_ := 4294967296
export MALLOC_TRIM_THRESHOLD_ := 17179869184

.PHONY: help test test-all test-torchrun lint demo docs clean

help:
	@echo "make demo      run the main job and write a page of results"
	@echo "make test      lint and all tests that fit in ten minutes"
	@echo "make test-all  the slow tests"
	@echo "make test-torchrun  the tests that start and kill several processes"
	@echo "make docs      build the documentation: site/index.html, readable without a network"
	@echo "make clean     remove .venv and everything built"

KERNEL := setup.py $(wildcard proxact/kernels/*.c proxact/kernels/*.h)

$(VENV)/.installed: pyproject.toml constraints.txt $(KERNEL)
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[dev]'
	touch $@

lint: $(VENV)/.installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

test: lint
	OMP_NUM_THREADS=1 $(BIN)/pytest -n 2 -m "not slow and not torchrun"

test-all: lint
	OMP_NUM_THREADS=1 $(BIN)/pytest -n 2 --dist loadfile -m slow

test-torchrun: $(VENV)/.installed
	OMP_NUM_THREADS=1 $(BIN)/pytest -m torchrun

# The paper's fitting experiment in small: every activation, both targets, every fifth width, 8 of 50 epochs.
demo: $(VENV)/.installed
	$(BIN)/proxact fit --widths 2:40:5 --epochs 8 --runs demo-output/runs
	$(BIN)/proxact report demo-output/runs --out demo-output

docs: $(VENV)/.installed
	NO_MKDOCS_2_WARNING=1 OMP_NUM_THREADS=1 $(BIN)/mkdocs build --strict --quiet
	@echo "The documentation: site/index.html"

clean:
	rm -rf $(VENV) build demo-output site *.egg-info
