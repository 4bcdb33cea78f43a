"""`ragviz settings`, `ragviz prices`: what is connected, tried; what models cost."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from ragviz.cli import console
from ragviz.cli.console import Json
from ragviz.cli.rooms import connections
from ragviz.errors import UsageError

settings_app = console.group("What is configured: test it.")
prices_app = console.group("What models cost, in dollars per million tokens.")


@settings_app.command("test")
def settings_test(
    parts: Annotated[list[str] | None, typer.Argument(help="store, index, embedder, model; default: all.")] = None,
    as_json: Json = False,
) -> None:
    """Try the store, the search server, the embedder and the model endpoint; a model is asked one tiny question."""
    workspace = console.open_workspace()
    for part in parts or ():
        console.one_of("part", part, connections.PARTS)
    configured = [part for part in connections.PARTS if part != "model" or workspace.settings.model_configured]
    tried = [connections.tried(workspace, part) for part in parts or configured]
    rows = [(t.part, "answers" if t.ok else "fails", f"{t.seconds:.2f}", t.detail) for t in tried]
    console.show([asdict(t) for t in tried], as_json, lambda: console.table(("part", "", "seconds", ""), rows))
    if not all(t.ok for t in tried):
        raise typer.Exit(1)


@prices_app.command("list")
def prices_list(as_json: Json = False) -> None:
    """List the prices: the longest name that a model's begins with counts."""
    _show(console.open_workspace().prices(), as_json)


@prices_app.command("set")
def prices_set(
    model: Annotated[str, typer.Argument(help="A model's name, or what several begin with.")],
    asked: Annotated[float, typer.Argument(help="Dollars per million tokens asked.")],
    answered: Annotated[float, typer.Argument(help="Dollars per million tokens answered.")],
    as_json: Json = False,
) -> None:
    """Keep what MODEL costs."""
    workspace = console.open_workspace()
    prices = workspace.prices() | {model.strip(): (asked, answered)}
    workspace.set_prices(prices)
    _show(prices, as_json)


@prices_app.command("remove")
def prices_remove(model: str, as_json: Json = False) -> None:
    """Forget what MODEL costs."""
    workspace = console.open_workspace()
    prices = workspace.prices()
    if model not in prices:
        raise UsageError(f"There is no price of '{model}': `ragviz prices list` shows those there are.")
    del prices[model]
    workspace.set_prices(prices)
    _show(prices, as_json)


def _show(prices: dict[str, tuple[float, float]], as_json: bool) -> None:
    rows = [(name, *pair) for name, pair in sorted(prices.items())]
    body = [{"model": name, "asked": asked, "answered": answered} for name, asked, answered in rows]
    console.show(body, as_json, lambda: console.table(("model", "Input $/M tokens", "Output $/M tokens"), rows))
