"""An experiment in Python: its conclusion, and its cells as a table."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from ragviz.experiments import findings
from ragviz.experiments.conclusion import Conclusion
from ragviz.experiments.findings import Outcome
from ragviz.library.display import Shown
from ragviz.workspace import Workspace


@dataclass(frozen=True, slots=True, repr=False)
class Experiment(Shown):
    """Configurations tried on the same questions, by name: read from the store when it is used."""

    workspace: Workspace
    name: str

    @property
    def outcome(self) -> Outcome:
        """Everything that it says: cells, comparison, conclusion, and that on the test side."""
        return findings.outcome_of(self.workspace, self.workspace.store.experiments.get(self.name))

    @property
    def conclusion(self) -> Conclusion:
        """Which configuration, under the rule declared before; `same_questions` says that it was chosen on these."""
        return self.outcome.conclusion

    def cells(self) -> pd.DataFrame:
        """Return a row for each cell: its state, primary metric, difference to the baseline, and what it takes."""
        rows = [
            {
                "cell": row.cell.name,
                "state": row.cell.state,
                "mean": row.estimate.mean if row.estimate else None,
                "low": row.estimate.low if row.estimate else None,
                "high": row.estimate.high if row.estimate else None,
                "difference": row.delta.difference.mean if row.delta else None,
                "verdict": row.delta.verdict if row.delta else "",
                "tokens": row.price.tokens,
                "dollars": row.price.dollars,
                "seconds": row.price.seconds,
                "run": row.run,
                "reason": row.cell.reason,
            }
            for row in self.outcome.rows
        ]
        return pd.DataFrame(rows).set_index("cell")

    def _title(self) -> str:
        return f"Experiment '{self.name}': {self.outcome.sentence}"

    def _table(self) -> pd.DataFrame:
        return self.cells()[["state", "mean", "difference", "verdict", "tokens"]]
