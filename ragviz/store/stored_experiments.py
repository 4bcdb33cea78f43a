"""The experiments in the store, with their cells."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Row

from ragviz.core.errors import UsageError
from ragviz.core.experiment import Cell, Confirmation, Experiment
from ragviz.store import schema
from ragviz.store.database import repeated
from ragviz.store.schema import columns, record
from ragviz.store.transactions import NamedRecords, insert


class StoredExperiments(NamedRecords[Experiment]):
    """Experiments; what is read of them takes two queries."""

    kind = "experiment"
    newest_first = True

    def _records(self, rows: Sequence[Row[Any]]) -> list[Experiment]:
        cells: dict[str, list[Cell]] = {row.id: [] for row in rows}
        table = schema.cells
        query = sa.select(table).order_by(table.c.number)
        for row in self._transactions.rows_of(query, table.c.experiment_id, cells):
            cells[row.experiment_id].append(record(Cell, row))
        return [record(Experiment, row, cells=tuple(cells[row.id])) for row in rows]

    def add(self, experiment: Experiment) -> Experiment:
        """Store a new experiment with its cells; UsageError when the name is blank or taken."""
        row = columns(experiment, self._table) | {"name": self.free_name(experiment.name)}
        self._insert(row, (schema.cells, _cell_rows(experiment.id, experiment.cells)))
        return self.get(experiment.id)

    @repeated
    def replace(self, experiment: Experiment) -> Experiment:
        """Store other cells and another rule of an experiment; UsageError when a result of it was stored meanwhile."""
        table = self._table
        with self._transactions.changing(experiment.id, "experiment") as connection:
            unseen = table.update().where(table.c.id == experiment.id, table.c.seen.is_(None))
            if connection.execute(unseen.values(**columns(experiment, table))).rowcount != 1:
                raise UsageError(
                    f"A result of experiment '{experiment.name}' was seen: its rule, questions and cells stay. Declare "
                    "another experiment."
                )
            connection.execute(schema.cells.delete().where(schema.cells.c.experiment_id == experiment.id))
            insert(connection, schema.cells, _cell_rows(experiment.id, experiment.cells))
        return self.get(experiment.id)

    @repeated
    def put_cell(self, experiment_id: str, cell: Cell) -> None:
        """Store what became of a cell; when its run is done, a result of the experiment is seen from now on."""
        table, cells = self._table, schema.cells
        mine = sa.and_(cells.c.experiment_id == experiment_id, cells.c.name == cell.name)
        values = {"state": cell.state, "reason": cell.reason, "index_id": cell.index_id, "run_id": cell.run_id}
        with self._transactions.changing(experiment_id, "experiment") as connection:
            connection.execute(cells.update().where(mine).values(**values))
            if cell.state == "done":
                unseen = table.update().where(table.c.id == experiment_id, table.c.seen.is_(None))
                connection.execute(unseen.values(seen=time.time()))

    @repeated
    def confirm(self, experiment_id: str, confirmation: Confirmation) -> bool:
        """Store a confirmation; False when there is one already, which stays."""
        table = self._table
        with self._transactions.changing(experiment_id, "experiment") as connection:
            first = table.update().where(table.c.id == experiment_id, table.c.confirmation.is_(None))
            return connection.execute(first.values(confirmation=confirmation)).rowcount == 1


def _cell_rows(experiment_id: str, cells: Iterable[Cell]) -> list[dict[str, Any]]:
    return [
        columns(cell, schema.cells) | {"experiment_id": experiment_id, "number": number}
        for number, cell in enumerate(cells)
    ]
