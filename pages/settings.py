import os
import time

import pandas as pd
import streamlit as st

from ragviz.core import addresses
from ragviz.core import settings as config
from ragviz.core.digests import digest
from ragviz.core.errors import UsageError
from ragviz.service import settings_verbs
from ragviz.text.markup import plain
from ragviz.ui import address, cache, frame, sign_ins
from ragviz.ui.kit import acting, heading, notices, table

workspace = frame.begin()
settings = workspace.settings


typed = cache.typed_by(workspace.person)
used_model = settings.model if settings.model_configured else ""


def shown(name: str, value: object) -> str:
    """Return a value as it may be shown: at most the last four characters of a key, an address without its password."""
    if value is None or value == "" or value == ():
        return "not set"
    if hasattr(value, "get_secret_value"):
        secret = value.get_secret_value()
        last = secret[-4:] if len(secret) >= 12 and "key" in name else ""
        return f"{addresses.HIDDEN}{last}"
    return addresses.shown(str(value)) if name.endswith("_url") else str(value)


def values() -> pd.DataFrame:
    rows, places = [], {"environment": os.environ, ".env file": config.variables_of(".env")}
    for name, field in config.Settings.model_fields.items():
        alias, value = str(field.alias), getattr(settings, name)
        named = [alias, f"{alias}_FILE"] if hasattr(value, "get_secret_value") else [alias]
        sources = (place if each == alias else each for place in places for each in named if places[place].get(each))
        rows.append((alias, shown(name, value), "typed here" if alias in typed else next(sources, "default")))
    return pd.DataFrame(rows, columns=["Variable", "Value", "Source"])


def part(title: str, address: str, key: str) -> None:
    with st.container(border=True, height="stretch"):
        heading.section(title)
        st.caption(plain(address))
        tested: dict[tuple[object, ...], str] = st.session_state.setdefault("tested", {})
        of = key, address, st.session_state["endpoint-turn"]  # a result holds until what it is of is changed
        if key and st.button("Test", key=f"test-{key}", disabled=acting.off()):
            tested.pop(of, None)
            with notices.errors_shown(), st.spinner("Testing"):
                started = time.perf_counter()
                words = settings_verbs.test(workspace, key)
                seconds = time.perf_counter() - started
                took = "" if key == "model" else f" · {seconds:.2f} s"  # a model's sentence has its own
                tested[of] = f":blue[●] {plain(words)}{took}"
        if of in tested:
            st.markdown(tested[of])


def endpoint() -> None:
    alone = sign_ins.access() is None
    handed = "and handed to its jobs" if alone else "for you alone, and handed to the jobs that you start"
    turn = st.session_state["endpoint-turn"]  # part of the fields' keys: a new one empties them
    with st.form(f"endpoint-{turn}"):
        heading.section("Model endpoint")
        url = st.text_input(
            "Base URL", addresses.shown(settings.openai_base_url or ""), max_chars=500,
            placeholder="https://api.openai.com/v1", key=f"url-{turn}",
            help="Of any server that speaks OpenAI's protocol; empty for the OpenAI API itself.",
        )  # fmt: skip
        one, two = st.columns(2)
        model = one.text_input(
            "Model", used_model, placeholder=settings.model, max_chars=200, key=f"typed-model-{turn}"
        )
        judge = two.text_input(
            "Judge model", settings.judge, placeholder="the same model", max_chars=200, key=f"typed-judge-{turn}"
        )
        key = one.text_input(
            "API key", "", type="password", key=f"typed-key-{turn}", max_chars=500,
            placeholder="not set" if settings.openai_api_key is None else shown("key", settings.openai_api_key),
            autocomplete="off",
        )  # fmt: skip
        st.caption(
            f"Held by this server process until it ends, {handed}. The key is never stored, logged or shown again "
            "beyond its last four characters."
        )
        if st.form_submit_button("Apply", type="primary", disabled=acting.off()):
            given = {"OPENAI_BASE_URL": url, "RAGVIZ_MODEL": model, "RAGVIZ_JUDGE": judge}
            with notices.errors_shown():
                use({alias: value.strip() for alias, value in given.items()}, key.strip())
    if typed and st.button("Reset to the environment", type="tertiary"):
        settings_verbs.type_settings(workspace, typed, {})
        reopen()


def use(values: dict[str, str], key: str) -> None:
    """Apply the values that differ; a key only when one was typed, and none after a change of address."""
    as_shown = {
        "OPENAI_BASE_URL": addresses.shown(settings.openai_base_url or ""),  # without its password
        "RAGVIZ_MODEL": used_model,
        "RAGVIZ_JUDGE": settings.judge,
    }
    changed = {alias: value for alias, value in values.items() if value != as_shown[alias]}
    url = changed.get("OPENAI_BASE_URL", "")
    if addresses.HIDDEN in url:
        raise UsageError(f"{addresses.HIDDEN} stands for a part of the changed base URL: type the whole address.")
    if url and not url.startswith(("http://", "https://")):
        raise UsageError("The base URL must begin with http:// or https://.")
    dropped = "OPENAI_BASE_URL" in changed and not key and settings.openai_api_key is not None
    if key or dropped:
        changed["OPENAI_API_KEY"] = key
    settings_verbs.type_settings(workspace, typed, typed | changed)
    if dropped:
        st.toast("The address changed, so its key was dropped: type the key of the new one.")
    reopen()


def reopen() -> None:
    st.session_state["endpoint-turn"] += 1
    st.rerun()


# Prices

PRICE_COLUMNS = ("Model", "Input $/M", "Output $/M")  # whole at 1024


def prices() -> None:
    heading.section("Prices")
    st.caption(
        "Dollars per million input and output tokens, by the beginning of a model's name; the longest match applies. "
        "Check them with your provider: they change."
    )
    current = workspace.store.prices.all()
    turn = digest(repr(sorted(current.items())))  # edits are by row, of this table
    rows = pd.DataFrame([(name, *pair) for name, pair in sorted(current.items())], columns=list(PRICE_COLUMNS))
    # Not `required`: the editor would drop a row that lacks something without a word.
    money = {c: st.column_config.NumberColumn(min_value=0, format="%.3f", width=85) for c in PRICE_COLUMNS[1:]}
    edited = st.data_editor(
        rows.astype(dict.fromkeys(PRICE_COLUMNS[1:], float)), num_rows="dynamic", key=f"prices-{turn}", hide_index=True,
        column_config=money, width="stretch",
    )  # fmt: skip
    if st.button("Save prices", disabled=acting.off("admin")):
        settings_verbs.put_prices(workspace, priced(edited), current)
        st.toast("Prices saved")
        st.rerun()


def priced(rows: pd.DataFrame) -> dict[str, tuple[float, float]]:
    """Return the prices of an edited table; UsageError for a row that is no price."""
    read: dict[str, tuple[float, float]] = {}
    for place, (name, input_price, output_price) in enumerate(rows.itertuples(index=False), start=1):
        text = "" if pd.isna(name) else str(name).strip()
        pair = tuple(float(n) if n is not None and not pd.isna(n) else -1.0 for n in (input_price, output_price))
        if not text or text in read or not all(0 <= n < 1e6 for n in pair):
            raise UsageError(f"Row {place} is no price: give a model's name once, and two numbers from 0 up.")
        read[text] = (pair[0], pair[1])
    return read


st.session_state.setdefault("endpoint-turn", 0)
heading.header("Settings", "What ragviz is connected to, and the source of each value.")
with st.grid(2, min_column_width=260):
    part("Store", workspace.store.address, "store")
    if settings.elasticsearch_url:
        part("Elasticsearch", addresses.shown(settings.elasticsearch_url), "index")
    else:
        part("Index", "Local files, exact search. Set ELASTICSEARCH_URL to use Elasticsearch.", "")
    part("Embedder", settings.embedder, "embedder")
    if settings.model_configured:
        where = addresses.shown(settings.openai_base_url or "") or "the OpenAI API"
        judge = f", judge {settings.judge}" if settings.judge else ""
        part("Model", f"{settings.model}{judge} at {where}", "model")
    else:
        part("Model", "None: questions and answers are extractive. Enter an address or a key below.", "")
columns = st.columns(2)
with columns[0], notices.errors_shown():
    endpoint()
with columns[1], notices.errors_shown():
    prices()
if workspace.person.may("admin"):
    address.link("audit", "Audit: who did what")
heading.section("Effective settings")
table.draw(values(), "values", alt="Effective settings and their sources")
st.caption(
    "Change other values in the environment or in a file `.env`, then restart the app. Keys are never stored, and only "
    "their last four characters are shown."
)
