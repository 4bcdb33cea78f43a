"""`ragviz questions verify`: a question set is verified against an index."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from ragviz.cli import console
from ragviz.cli.console import DryRun, Json
from ragviz.cli.questions_commands import questions_app
from ragviz.cli.runs_commands import show_forecast
from ragviz.generation import verifying
from ragviz.service import question_verbs


@questions_app.command("verify")
def questions_verify(
    set_name: str,
    index_name: Annotated[str, typer.Option("--index", help="Index whose chunks are read.")],
    model: Annotated[str, typer.Option(help="Model that verifies; default: RAGVIZ_JUDGE, else RAGVIZ_MODEL.")] = "",
    again: Annotated[bool, typer.Option("--again", help="Verify those too that are verified already.")] = False,
    budget: Annotated[
        float | None, typer.Option(min=0, help="Most dollars that the set's questions may cost in all.")
    ] = None,
    dry_run: DryRun = False,
    as_json: Json = False,
) -> None:
    """Verify the questions of a set that nothing has verified yet; those with a fault are rejected, with the reason.

    A question has to be understood without the passage, answered from its evidence and not without any document; of
    several passages none may be left out; the best chunks of the retrievers must not answer an unanswerable one. What a
    person accepted stays accepted, with the fault as its reason; calls that were made before are not paid again.
    """
    workspace = console.open_workspace()
    arguments: dict[str, Any] = {"questions": set_name, "index": index_name, "model": model, "again": again}
    if dry_run:
        estimate = verifying.foresee_verification(workspace, **arguments)
        show_forecast(estimate, as_json, verifying.NOT_COUNTED if estimate.calls else "")
        return
    result = console.perform(workspace, question_verbs.verify(workspace, arguments, budget)).result
    console.show(result, as_json, lambda: console.say(verifying.summary(result, most=10)))
