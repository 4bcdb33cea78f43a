"""The targets in the store: running systems that can be asked."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from sqlalchemy.engine import Row

from ragviz.core.digests import new_id
from ragviz.core.endpoint_choices import Endpoint
from ragviz.core.errors import UsageError
from ragviz.store import schema
from ragviz.store.database import repeated
from ragviz.store.transactions import NamedRecords


class StoredTargets(NamedRecords[Endpoint]):
    """Targets, by name; no secret is in them."""

    kind = "target"

    def _records(self, rows: Sequence[Row[Any]]) -> list[Endpoint]:
        return [row.endpoint for row in rows]

    def add(self, endpoint: Endpoint, target_id: str = "") -> Endpoint:
        """Store a target, with the id of one that it replaces; UsageError when its name is blank, taken or has a ':'.

        A name with ':' reads as a function.
        """
        if ":" in endpoint.name:
            raise UsageError(f"'{endpoint.name[:40]}' cannot be a target's name: leave out the colon.")
        endpoint = replace(endpoint, name=self.free_name(endpoint.name))
        self._insert({"id": target_id or new_id(), "name": endpoint.name, "created": time.time(), "endpoint": endpoint})
        return endpoint

    @repeated
    def delete(self, name: str) -> None:
        """Delete a target; runs that were recorded of it stay."""
        with self._transactions.writing() as connection:
            connection.execute(schema.targets.delete().where(schema.targets.c.name == name))
