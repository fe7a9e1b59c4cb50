# Every target sets itself up: the first one that runs makes .venv and installs into it what
# pyproject.toml and constraints.txt say; later ones install again only when those files change.

VENV := .venv
BIN := $(VENV)/bin
PIP_INSTALL := $(BIN)/python -m pip install --disable-pip-version-check -c constraints.txt
INSTALLED := $(VENV)/.installed
INSTALLED_BENCH := $(VENV)/.installed-bench

# Parallel test processes. Each gets one BLAS thread, else they fight over the cores.
WORKERS ?= 2
PYTEST := MPLBACKEND=Agg OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 \
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadfile

.DEFAULT_GOAL := help
.PHONY: help setup zoo test test-slow test-all lint notebooks bench clean

help: ## show this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1|\2/p' Makefile | awk -F'|' '{printf "%-18s %s\n", $$1, $$2}'

setup: $(INSTALLED) ## make .venv and install the package, editable, with what the tests need

zoo: $(INSTALLED) ## sample every model, print the table and write zoo-report.html
	$(BIN)/bayeskernels zoo --report zoo-report.html

test: $(INSTALLED) ## the fast tests
	$(PYTEST) -m "not slow"

test-slow: $(INSTALLED) ## only the slow tests
	$(PYTEST) -m slow || [ $$? -eq 5 ]  # 5: no test is marked slow

test-all: test test-slow notebooks ## all tests, and every notebook executed

lint: $(INSTALLED) ## ruff: rules and format
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

notebooks: $(INSTALLED) ## execute every notebook with reduced draws, into build/notebooks
	$(BIN)/python notebooks/run.py

bench: $(INSTALLED_BENCH) ## measure against other samplers (takes long)
	@for script in benchmarks/[!_]*.py; do \
		[ -e "$$script" ] || { echo "There are no benchmarks yet."; continue; }; \
		echo "== $$script"; $(BIN)/python "$$script" || exit 1; \
	done

clean: ## remove build products and caches; .venv stays
	rm -rf build dist *.egg-info zoo-report.html .pytest_cache .ruff_cache .hypothesis
	find . -name $(VENV) -prune -o -name __pycache__ -type d -exec rm -rf {} +

# .venv/bin/python is a link to a file far older than the project, so only its existence counts.
$(BIN)/python:
	@python=$$(PYTHON="$(PYTHON)" .ci/find-python) || exit 1; \
	echo "Making $(VENV) with $$python"; \
	"$$python" -m venv --clear $(VENV)

$(INSTALLED): pyproject.toml constraints.txt | $(BIN)/python
	@echo "Installing into $(VENV) (a few minutes the first time)"
	$(PIP_INSTALL) -e '.[test]'
	@touch $@

# The benchmarks skip a peer that is not there, so one that does not install here is no error.
$(INSTALLED_BENCH): $(INSTALLED)
	$(PIP_INSTALL) -e '.[test,bench]' || for peer in hopsy nutpie; do \
		$(PIP_INSTALL) $$peer || echo "$$peer does not install here: benchmarks go without it"; \
	done
	@touch $@
