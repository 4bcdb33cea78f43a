"""Every target there is, by name: a new one is a file, and its line here."""

from __future__ import annotations

from ragviz.core.configuration import Run, RunConfig
from ragviz.core.errors import UsageError
from ragviz.targets import closed_book, gold_chunks, hand_made, logged_file, retrieved_chunks
from ragviz.targets.target import Target

TARGETS: dict[str, Target] = {
    "retrieved": retrieved_chunks.TARGET,
    "none": closed_book.TARGET,
    "oracle": gold_chunks.TARGET,
    "file": logged_file.TARGET,
    "system": logged_file.SYSTEM,
    hand_made.NAME: hand_made.TARGET,
}
"""Target by name; those that are live are a run's choice `context`."""


def target_of(run: Run) -> Target:
    """Return what recorded a run."""
    return TARGETS[run.provenance.get("target", run.config.context)]


def check_models(config: RunConfig) -> None:
    """Raise UsageError for choices that name what recorded before as a model: it cannot be asked."""
    named = [name for name in (config.model, config.judge) if name in TARGETS and not TARGETS[name].live]
    if named:
        raise UsageError(
            f"The answers and verdicts of this run are {named[0]}: no model gave them, so none can give them again. "
            "Make a run with a model that answers and judges. One of the sample that was interrupted is finished by "
            "loading the sample again."
        )
