"""Servers that tests share. A real Elasticsearch is required in CI; elsewhere its tests are skipped without one."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def elasticsearch_tool() -> ModuleType:
    """tools/elasticsearch/run.py, which builds and runs a node."""
    file = ROOT / "tools" / "elasticsearch" / "run.py"
    spec = importlib.util.spec_from_file_location("elasticsearch_node", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def elasticsearch_url(elasticsearch_tool: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Address of an Elasticsearch: ELASTICSEARCH_URL, else a node of our own for this session."""
    if url := os.environ.get("ELASTICSEARCH_URL"):
        yield url
        return
    if not elasticsearch_tool.is_built():
        if os.environ.get("CI") != "true":
            pytest.skip("no Elasticsearch: set ELASTICSEARCH_URL, or run `make elasticsearch` once")
        elasticsearch_tool.build()
    data = tmp_path_factory.mktemp("elasticsearch")
    with elasticsearch_tool.running(elasticsearch_tool.free_port(), data) as (url, _):
        yield url
