"""What can be done to settings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ragviz import connections
from ragviz.core.settings import settings
from ragviz.models.requests import Prices
from ragviz.service.access import verb
from ragviz.workspace import Workspace


def _changed(prices: Prices, before: Prices) -> dict[str, Any]:
    return {"prices": {name: prices.get(name) for name in {**before, **prices} if prices.get(name) != before.get(name)}}


@verb("admin", "change prices", told=_changed)
def put_prices(workspace: Workspace, prices: Prices, before: Prices) -> None:
    """Store the prices of models, which were those `before`. As `StoredPrices.put`."""
    workspace.store.prices.put(prices, before)


@verb("editor", "test a connection", noted="never")
def test(workspace: Workspace, part: str) -> str:
    """Call one of `connections.PARTS`, and say what it answers; a model gets one tiny call."""
    return connections.PARTS[part](workspace)


tried = verb("editor", "test a connection", noted="never")(connections.tried)


def _typed(held: Mapping[str, str], values: Mapping[str, str]) -> dict[str, Any]:
    return {"variables": sorted(name for name in {**held, **values} if held.get(name) != values.get(name))}


@verb("editor", "type settings", told=_typed)
def type_settings(workspace: Workspace, held: dict[str, str], values: Mapping[str, str]) -> None:
    """Put `values` of variables in place of those `held` for a person; UsageError when one cannot be used."""
    settings(values)
    held.clear()
    held.update(values)
