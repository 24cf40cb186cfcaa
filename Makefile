PYTHON ?= python3
LOWEST_PYTHON ?= python3.11
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check

.PHONY: reproduce paper test test-fast test-lowest test-newest test-interop test-wheel notebooks notebooks-write check-results tables torture lint format docs clean

# The paper's experiments at the quick preset; --resume continues an interrupted call.
reproduce: $(VENV)/.installed
	$(BIN)/reinstate reproduce barcode-bandits --preset quick --resume

# Every experiment at the quick preset, and one report; an interrupted call is continued.
paper: $(VENV)/.installed
	$(BIN)/reinstate reproduce all --preset quick

# A file's tests stay together, since they share what they compile. In their own order: by default files
# with few tests come last, and the few tests that learn take longest.
test: $(VENV)/.installed-dev
	$(BIN)/python -m pytest --numprocesses 2 --dist loadfile --no-loadscope-reorder

# For the inner loop: without tests that train an agent or start processes.
test-fast: $(VENV)/.installed-dev
	$(BIN)/python -m pytest --numprocesses 2 --dist loadfile -m "not slow"

# The fast tests with the lowest versions that pyproject.toml allows, and with the newest there are on
# the newest Python there is. What those versions warn of is no failure.
test-lowest: .venv-lowest/.installed
	.venv-lowest/bin/python -m pytest --numprocesses 2 --dist loadfile -m "not slow" -W default

test-newest: .venv-newest/.installed
	.venv-newest/bin/python -m pytest --numprocesses 2 --dist loadfile -m "not slow" -W default

# The tasks, the cell and the memory in other people's tools: Gymnasium, gymnax, Stoa, PyTorch and a client.
test-interop: $(VENV)/.installed-interop
	$(BIN)/python -m pytest tests/interop --numprocesses 2 --dist loadfile

# A wheel and an sdist, installed into an environment of their own, without this folder.
test-wheel:
	.ci/test-wheel $(PYTHON)

# Every notebook, run from top to bottom; `make notebooks-write` also keeps what it shows.
notebooks: $(VENV)/.installed-dev
	PYTHONPATH=docs/_ext $(BIN)/python -m notebooks --check

notebooks-write: $(VENV)/.installed-dev
	PYTHONPATH=docs/_ext $(BIN)/python -m notebooks

# Committed results against what pages, README and presets say of them; seconds, and nothing is trained.
check-results: $(VENV)/.installed-dev
	$(BIN)/python -m pytest checks

# What is made and kept: tables in README and pages, of the recorded results, and the page of commands.
tables: $(VENV)/.installed
	PYTHONPATH=docs/_ext $(BIN)/python -m fill_pages

# Kills, full disks, hostile files and long runs, in earnest: an hour or so, and no part of `make test`.
# Records go to results/torture.
torture: $(VENV)/.installed-dev
	for name in kills "fuzz --cases 100000" long_runs sweeps ranks; do \
	  set -- $$name; record=results/torture/$$(echo $$1 | tr _ -).json; \
	  PYTHONPATH=tests $(BIN)/python -m torture.$$name --record $$record || failed=1; \
	done; test -z "$$failed"

lint: $(VENV)/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(VENV)/.installed-dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# Into docs/_build; a warning is an error. Every page is read again (-E): docstrings are not in the page
# that shows them, and a build that failed would succeed the second time.
docs: $(VENV)/.installed-docs
	$(BIN)/python -m sphinx -E -W -q -b html docs docs/_build

$(BIN)/python:
	$(PYTHON) -c 'import sys; sys.exit("reinstate needs Python 3.11 or newer" if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: $(BIN)/python pyproject.toml constraints.txt
	@echo "installing into $(VENV)"
	$(PIP) --constraint constraints.txt --editable .
	@touch $@

$(VENV)/.installed-dev: $(VENV)/.installed
	$(PIP) --constraint constraints.txt --editable ".[test,lint]"
	@touch $@

$(VENV)/.installed-interop: $(VENV)/.installed-dev
	$(PIP) --constraint constraints.txt --editable ".[test,interop]"
	@touch $@

$(VENV)/.installed-docs: $(VENV)/.installed
	$(PIP) --constraint constraints.txt --editable ".[docs]"
	@touch $@

.venv-lowest/.installed: pyproject.toml .ci/lowest.py
	$(LOWEST_PYTHON) -m venv .venv-lowest
	.venv-lowest/bin/python .ci/lowest.py > .venv-lowest/lowest.txt
	.venv-lowest/bin/python -m pip install --quiet --disable-pip-version-check \
	  --constraint .venv-lowest/lowest.txt --editable ".[test]"
	@touch $@

.venv-newest/.installed: pyproject.toml .ci/newest-python
	$$(.ci/newest-python) -m venv .venv-newest
	.venv-newest/bin/python -m pip install --quiet --disable-pip-version-check \
	  --upgrade --upgrade-strategy eager --editable ".[test]"
	@touch $@

clean:
	rm -rf $(VENV) .venv-lowest .venv-newest .jax-cache reproduction tuning docs/_build docs/jupyter_execute
