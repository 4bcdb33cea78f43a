# Two commands on a fresh machine: `make app` opens the dashboard, `make test` runs the tests. Python 3.11 or newer.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
UV := $(shell command -v uv 2>/dev/null)
# The versions that the tests passed on, whichever installs them.
INSTALL := $(if $(UV),uv pip install --python $(BIN)/python,$(BIN)/python -m pip install --quiet --disable-pip-version-check)
INSTALL += --constraint requirements.lock

.PHONY: app test test-fast bench attack libraries check docs elasticsearch format lock clean

# `make app ARGS="--port 8600"` takes another port.
app: $(VENV)/.installed
	$(BIN)/ragviz app $(ARGS)

# `make test ARGS="-n 2"` runs them in two processes; tests/conftest.py says which stay together.
test: $(VENV)/.dev
	$(BIN)/python -m pytest $(ARGS)

test-fast: $(VENV)/.dev
	$(BIN)/python -m pytest -m "not elasticsearch and not browser and not model" --ignore=tests/attack $(ARGS)

# Every figure of benchmarks/README.md that has a bound; ARGS names the scripts, all without it.
bench: $(VENV)/.dev
	$(BIN)/python benchmarks/rows.py $(ARGS)

# Every attack of tests/attack with all its inputs; `make test` runs a part of them.
attack: $(VENV)/.dev
	RAGVIZ_ATTACK=whole $(BIN)/python -m pytest tests/attack $(ARGS)

# Objects of LangChain, LlamaIndex and Haystack, as targets: installs them into an environment of its own.
libraries:
	$(MAKE) VENV=$(VENV)-libraries $(VENV)-libraries/.dev
	$(VENV)-libraries/bin/python -m pip install --quiet langchain-core langchain-classic llama-index-core haystack-ai
	$(VENV)-libraries/bin/python -m pytest tests/test_real_libraries.py

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
	$(if $(UV),uv venv --python $(PYTHON) $(VENV),$(PYTHON) -m venv $(VENV))

$(VENV)/.installed: $(BIN)/python requirements.txt requirements.lock pyproject.toml setup.py
	$(INSTALL) -e .
	touch $@

$(VENV)/.dev: $(VENV)/.installed requirements-dev.txt
	$(INSTALL) -e ".[dev]"
	touch $@

# Adds what the lists name anew; `make lock ARGS=--upgrade` takes the newest versions of all.
lock: $(VENV)/.dev
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --no-annotate --custom-compile-command "make lock" \
		$(ARGS) --output-file requirements.lock requirements.txt requirements-dev.txt

clean:
	rm -rf $(VENV) .elasticsearch artifacts build *.egg-info
