# Two commands on a fresh machine: `make app` opens the dashboard, `make test` runs the tests. Python 3.11 or newer.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
UV := $(shell command -v uv 2>/dev/null)

.PHONY: app test test-fast attack check docs elasticsearch format clean

# `make app ARGS="--port 8600"` takes another port.
app: $(VENV)/.installed
	$(BIN)/ragviz app $(ARGS)

# `make test ARGS="-n 2"` runs them in two processes; tests/conftest.py says which stay together.
test: $(VENV)/.dev
	$(BIN)/python -m pytest $(ARGS)

test-fast: $(VENV)/.dev
	$(BIN)/python -m pytest -m "not elasticsearch and not browser and not model" $(ARGS)

# Every attack of tests/attack with all its inputs; `make test` runs a part of them.
attack: $(VENV)/.dev
	RAGVIZ_ATTACK=whole $(BIN)/python -m pytest tests/attack $(ARGS)

check: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python -m pytest -q tests/test_layers.py

format: $(VENV)/.dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# The documentation as a site, in site/; a warning fails.
docs: $(VENV)/.dev
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict

# A real single node for those without Docker: needs a JDK 17 or newer and Maven. Stays in the foreground.
elasticsearch:
	$(PYTHON) tools/elasticsearch/run.py build
	$(PYTHON) tools/elasticsearch/run.py start

$(BIN)/python:
ifdef UV
	uv venv --python $(PYTHON) $(VENV)
else
	$(PYTHON) -m venv $(VENV)
endif

$(VENV)/.installed: $(BIN)/python requirements.txt pyproject.toml
ifdef UV
	uv pip install --python $(BIN)/python -e .
else
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e .
endif
	touch $@

$(VENV)/.dev: $(VENV)/.installed requirements-dev.txt
ifdef UV
	uv pip install --python $(BIN)/python -e ".[dev]"
else
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[dev]"
endif
	touch $@

clean:
	rm -rf $(VENV) .elasticsearch artifacts build *.egg-info
