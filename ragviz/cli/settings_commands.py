"""`ragviz settings`, `ragviz prices`: test what is configured; what models cost, and who spent how much."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from ragviz import connections
from ragviz.cli import console
from ragviz.cli.options import Json
from ragviz.core.errors import UsageError
from ragviz.service import settings_verbs

settings_app = console.group("Test what is configured.")
prices_app = console.group("Prices of models, in dollars per million tokens.")


@settings_app.command("test")
def settings_test(
    parts: Annotated[list[str] | None, typer.Argument(help="store, index, embedder, model; default: all.")] = None,
    as_json: Json = False,
) -> None:
    """Try the store, the search server, the embedder and the model endpoint; each model gets one tiny call."""
    workspace = console.open_workspace()
    for part in parts or ():
        console.one_of("part", part, connections.PARTS)
    configured = [part for part in connections.PARTS if part != "model" or workspace.settings.model_configured]
    tried = [settings_verbs.tried(workspace, part) for part in parts or configured]
    columns: console.Columns = {
        "part": "part",
        "": lambda record: "answers" if record["ok"] else "fails",
        "seconds": lambda record: f"{record['seconds']:.2f}",
        "detail": "detail",
    }
    console.show_records([asdict(each) for each in tried], as_json, columns)
    if not all(t.ok for t in tried):
        raise typer.Exit(1)


@prices_app.command("spent")
def prices_spent(as_json: Json = False) -> None:
    """List what each person spent on models, by calendar month (UTC)."""
    months = console.open_workspace().store.payments.of_months()
    records = [{"month": month, "person": person} | asdict(paid) for month, person, paid in months]
    columns = {"month": "month", "person": "person", "calls": "calls", "dollars": "dollars"}
    console.show_records(records, as_json, columns)


@prices_app.command("list")
def prices_list(as_json: Json = False) -> None:
    """List the prices; the longest name that a model's name begins with applies."""
    prices = console.open_workspace().store.prices.all()
    records = [{"model": name, "asked": asked, "answered": told} for name, (asked, told) in sorted(prices.items())]
    columns = {"model": "model", "Input $/M tokens": "asked", "Output $/M tokens": "answered"}
    console.show_records(records, as_json, columns)


@prices_app.command("set")
def prices_set(
    model: Annotated[str, typer.Argument(help="A model's name, or the beginning of several.")],
    input_price: Annotated[float, typer.Argument(help="Dollars per million input tokens.")],
    output_price: Annotated[float, typer.Argument(help="Dollars per million output tokens.")],
    as_json: Json = False,
) -> None:
    """Set the prices of MODEL."""
    workspace = console.open_workspace()
    before = workspace.store.prices.all()
    settings_verbs.put_prices(workspace, before | {model.strip(): (input_price, output_price)}, before)
    prices_list(as_json)


@prices_app.command("remove")
def prices_remove(model: str, as_json: Json = False) -> None:
    """Remove the prices of MODEL."""
    workspace = console.open_workspace()
    before = workspace.store.prices.all()
    if model not in before:
        raise UsageError(f"There is no price of '{model}': `ragviz prices list` shows all.")
    settings_verbs.put_prices(workspace, {name: pair for name, pair in before.items() if name != model}, before)
    prices_list(as_json)
