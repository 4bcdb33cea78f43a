"""What can be done to settings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ragviz import connections
from ragviz.core.settings import settings
from ragviz.models.requests import Prices
from ragviz.service.access import verb
from ragviz.workspace import Workspace


def _told(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Any]:
    """Return what differs by name, as it is afterwards."""
    return {name: after.get(name) for name in {**before, **after} if after.get(name) != before.get(name)}


@verb("admin", "change prices", told=lambda prices, before: {"prices": _told(before, prices)})
def put_prices(workspace: Workspace, prices: Prices, before: Prices) -> None:
    """Store the prices of models, which were those `before`. As `StoredPrices.put`."""
    workspace.store.prices.put(prices, before)


@verb("editor", "test a connection", noted="never")
def test(workspace: Workspace, part: str) -> str:
    """Call one of `connections.PARTS`, and say what it answers; a model gets one tiny call."""
    return connections.PARTS[part](workspace)


tried = verb("editor", "test a connection", noted="never")(connections.tried)


@verb("editor", "type settings", told=lambda held, values: {"variables": sorted(_told(held, values))})
def type_settings(workspace: Workspace, held: dict[str, str], values: Mapping[str, str]) -> None:
    """Put `values` of variables in place of those `held` for a person; UsageError when one cannot be used."""
    settings(values)
    held.clear()
    held.update(values)
