"""`ragviz report`: a run, a comparison or an experiment as one HTML file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ragviz.cli import console
from ragviz.cli.console import Json
from ragviz.report import reports


def report(
    names: Annotated[
        list[str], typer.Argument(metavar="NAME...", help="A run, an experiment, or several runs: the baseline first.")
    ],
    out: Annotated[Path, typer.Option("--out", metavar="FILE", help="The HTML file to write.")],
    k: Annotated[
        int | None, typer.Option("-k", help="Of several runs: compare at this k; default: the first's.")
    ] = None,
    primary: Annotated[
        str,
        typer.Option(help="Of several runs: the metric that decides, as recall or faithfulness; default: recall@k."),
    ] = "",
    minimum_effect: Annotated[
        float | None, typer.Option(help="Of several runs: the smallest difference that matters; default: 0.02.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Write a report as one HTML file: it opens offline, its plots can be hovered, and it prints to a clean PDF.

    First the change card (ship, do not ship, undecided), or the state of a run; then a summary in plain words, three
    telling questions, pictures, every number, and the configuration.
    """
    workspace = console.open_workspace()
    data = reports.made(workspace, names, k, primary=primary, minimum_effect=minimum_effect)
    console.write(out, data)
    console.show(
        {"names": names, "file": str(out), "bytes": len(data)},
        as_json,
        lambda: console.say(f"Wrote {out}, {len(data) / 1e6:.1f} MB."),
    )
