"""`ragviz questions import` and `export`: question sets from files of any format, and to them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from ragviz.cli import console
from ragviz.cli.console import Json
from ragviz.questions import exchange
from ragviz.questions.formats import input_file as input_files
from ragviz.questions.formats import set_formats
from ragviz.service import question_verbs
from ragviz.text import counts

_FORMATS, _WRITTEN = ", ".join(set_formats.FORMATS), ", ".join(set_formats.WRITTEN)


def questions_import(
    corpus: str,
    file: Annotated[
        list[Path],
        typer.Argument(help="A file, a folder or .zip of BEIR, files that belong together."),
    ],
    set_name: Annotated[str, typer.Option("--name")],
    file_format: Annotated[str, typer.Option("--format", help=f"{set_formats.AUTO}, {_FORMATS}.")] = set_formats.AUTO,
    split: Annotated[
        str, typer.Option(help="Judgements of BEIR to read: test, dev, train … or all (default: test and dev).")
    ] = "",
    all_needed: Annotated[
        bool, typer.Option("--all-needed", help="Several relevant documents are all needed; else any one suffices.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Import questions with evidence, from BEIR and SQuAD with their documents; what cannot be read is reported.

    Nothing is stored until everything is read. BEIR and SQuAD create a corpus that does not exist.
    """
    workspace = console.open_workspace()
    if file_format != set_formats.AUTO:
        console.one_of("format", file_format, set_formats.FORMATS)
    files = [(each.name, str(each.absolute())) for each in file]
    chosen: dict[str, Any] = {"format": file_format, "split": split, "all_needed": all_needed}
    read = input_files.from_paths([(each.name, each) for each in file])
    with exchange.corpus_for(workspace, corpus, read, file_format) as target:
        result = console.perform(workspace, question_verbs.import_files(target, set_name, files, chosen)).result
    _show(workspace, dict(result), as_json)


def _show(workspace: console.Workspace, result: dict[str, Any], as_json: bool) -> None:
    problems = exchange.problems_of(workspace, result.pop("key"))
    listed = [{"file": p.file, "row": p.row, "reason": p.reason, "imported": p.kept} for p in problems]
    left_out = {problem.row: problem.reason for problem in problems if not problem.kept}
    body = result | {"problems": left_out if len({p.file for p in problems}) < 2 else listed}
    documents = f" {counts.counted(result['documents'], 'document')} added." if result["documents"] else ""
    line = f"{counts.counted(result['imported'], 'question')} imported into '{result['questions']}'.{documents}"
    console.show(body, as_json, lambda: console.say(line))
    hint = f"Find it: ragviz questions find-evidence {result['questions']}" if result["reference_only"] else ""
    console.warn(*result["notes"], hint)
    several = len({problem.file for problem in problems}) > 1
    for problem in problems:
        where = f"{problem.file}, row {problem.row}" if several else f"row {problem.row}"
        console.warn(f"{where}: {problem.reason}")
    if result["problems"]:
        raise typer.Exit(1 if result["imported"] else 2)


def questions_export(
    set_name: str,
    file: Path,
    file_format: Annotated[str, typer.Option("--format", help=f"{_WRITTEN} (default: by the endings of FILE).")] = "",
    as_json: Json = False,
) -> None:
    """Write a question set to FILE, and say what of it the format cannot carry."""
    workspace = console.open_workspace()
    chosen = file_format or set_formats.format_named(file.name)
    question_set = workspace.store.sets.get(set_name)
    written = exchange.export_set(workspace, question_set, chosen)
    console.write(file, written.data)
    lacks = set_formats.FORMATS[chosen].lacks
    body = {"file": str(file), "bytes": len(written.data), "format": chosen, "lacks": lacks, "notes": written.notes}
    console.show(body, as_json, lambda: console.say(f"Wrote {file}."))
    notes = [*written.notes, *([] if lacks.startswith("nothing") else [f"{chosen} cannot carry {lacks}"])]
    console.warn(*notes)
