import os
import time
from collections.abc import Callable

import pandas as pd
import streamlit as st

from ragviz import config, ui
from ragviz.index import elastic
from ragviz.markup import plain

SECRET = ("DATABASE_URL", "API_KEY")

workspace = ui.begin()
settings = workspace.settings


def source_of(alias: str) -> str:
    """Where a value comes from."""
    if os.environ.get(alias):
        return "environment"
    if alias in {line.split("=")[0].strip().removeprefix("export ") for line in env_lines()}:
        return ".env file"
    return "default"


def env_lines() -> list[str]:
    try:
        return [line for line in open(".env", encoding="utf-8").read().splitlines() if "=" in line]  # noqa: PTH123
    except OSError:
        return []


def shown(name: str, value: object) -> str:
    """A value as it may be seen: of a secret at most its last four characters."""
    if value is None:
        return "not set"
    if hasattr(value, "get_secret_value"):
        secret = value.get_secret_value()
        return f"••••{secret[-4:]}" if len(secret) >= 12 and "key" in name else "••••"
    return str(value)


def values() -> pd.DataFrame:
    rows = []
    for name, field in config.Settings.model_fields.items():
        alias = str(field.alias)
        rows.append((alias, shown(name, getattr(settings, name)), source_of(alias)))
    return pd.DataFrame(rows, columns=["Variable", "Value", "From"])


def part(title: str, address: str, test: Callable[[], str], key: str) -> None:
    """One part: where it is, and a test with the real reply time."""
    with st.container(border=True, height="stretch"):
        st.markdown(f"**{title}**")
        st.caption(plain(address))
        if st.button("Test", key=f"test-{key}"):
            with ui.errors_shown(), st.spinner("Asking"):
                started = time.perf_counter()
                words = test()
                st.markdown(f":blue[●] {plain(words)} · {time.perf_counter() - started:.2f} s")


def test_store() -> str:
    store = workspace.store
    return f"answers; {ui.counted(len(store.corpora()), 'corpus')}, {ui.counted(len(store.runs()), 'run')}"


def test_index() -> str:
    key = settings.elasticsearch_api_key
    return elastic.health(str(settings.elasticsearch_url), key.get_secret_value() if key else None)


def test_embedder() -> str:
    vectors = workspace.embedder(settings.embedder).embed([f"a test at {time.time()}"], "query")
    return f"answers with {vectors.shape[1]} dimensions"


def test_model() -> str:
    return str(workspace.model.test())


ui.header("Settings", "What ragviz is connected to, and where each value comes from.")
columns = st.columns(2)
with columns[0]:
    part("Store", workspace.store.address, test_store, "store")
with columns[1]:
    if settings.elasticsearch_url:
        part("Elasticsearch", settings.elasticsearch_url, test_index, "index")
    else:
        with st.container(border=True, height="stretch"):
            st.markdown("**Index**")
            st.caption("Local files, exact search. Set ELASTICSEARCH_URL to use Elasticsearch.")
columns = st.columns(2)
with columns[0]:
    part("Embedder", settings.embedder, test_embedder, "embedder")
with columns[1]:
    if settings.model_configured:
        part("Model", f"{settings.model} at {settings.openai_base_url or 'the OpenAI API'}", test_model, "model")
    else:
        with st.container(border=True, height="stretch"):
            st.markdown("**Model**")
            st.caption(
                "None: questions are extractive. Set OPENAI_API_KEY, or OPENAI_BASE_URL for a server of your own."
            )
st.markdown("**Values**")
ui.table(values(), "values", height="content", alt="Settings and where they come from")
st.caption(
    "Change a value in the environment or in a file `.env`, and start the app again. Keys are never stored or shown."
)
