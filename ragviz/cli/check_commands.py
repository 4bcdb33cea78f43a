"""`ragviz check`: whether a run is good enough, for people and for CI."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, cast

import typer

from ragviz.analysis import requirements
from ragviz.cli import console
from ragviz.cli.console import Json
from ragviz.report import junit
from ragviz.runs import acceptance


def check(
    run_name: Annotated[str, typer.Argument(metavar="RUN")],
    require: Annotated[
        list[str],
        typer.Option(metavar="'METRIC>=X'", help='What a mean has to reach, as "recall@3>=0.8"; may be repeated.'),
    ] = [],  # noqa: B006
    baseline: Annotated[str, typer.Option(metavar="RUN", help="The run that this one must not be worse than.")] = "",
    no_worse_than: Annotated[
        float | None,
        typer.Option(help="The loss against the baseline that is allowed, as a share of the range; default: 0.02."),
    ] = None,
    metrics: Annotated[
        list[str],
        typer.Option(
            "--metric", metavar="NAME", help="Compared with the baseline; default: those required, else recall."
        ),
    ] = [],  # noqa: B006
    undecided: Annotated[
        str,
        typer.Option(
            help="How a limit within the interval counts: estimate (the default of --require), pass (the default of "
            "--baseline) or fail."
        ),
    ] = "",
    junit_file: Annotated[
        Path | None, typer.Option("--junit", metavar="FILE", help="Write JUnit XML: a test case for each check.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Check a run: exit 1 when its numbers are not reliable, a requirement is not met, or it is worse than a baseline.

    Its numbers are reliable when it is finished, no step failed and its judge passed its control items. A requirement
    is met when the whole 95 % interval is within the limit, not met when all of it is beyond, and otherwise undecided:
    the estimate decides. Against the baseline, the interval of the paired difference, clustered by document, must not
    be beyond the loss that is allowed: what is undecided passes. --undecided treats both alike.
    """
    if undecided:
        console.one_of("way to count what is undecided", undecided, requirements.UNDECIDED)
    workspace = console.open_workspace()
    run = workspace.store.runs.get(run_name)
    demands = acceptance.Demands(
        require,
        workspace.store.runs.get(baseline) if baseline else None,
        no_worse_than,
        metrics,
        cast("requirements.Undecided", undecided) if undecided else None,
    )
    checked = acceptance.check(workspace, run, demands)
    if junit_file is not None:
        console.write(junit_file, junit.junit(checked))
    console.show(acceptance.to_json(checked), as_json, lambda: console.say(*acceptance.lines(checked)))
    if not checked.passed:
        raise typer.Exit(1)
