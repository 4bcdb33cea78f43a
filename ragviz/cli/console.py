"""What all commands share: printing, confirming, files, jobs.

Results go to standard output (`--json`: one JSON value and nothing else), progress and errors to standard error.
"""

from __future__ import annotations

import json
import os
import re
import sys
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from rich.console import Console
from rich.markup import escape

from ragviz.core.call import Estimate
from ragviz.core.errors import Cancelled, InputError, UsageError
from ragviz.core.job import Job, NewJob
from ragviz.core.stopping import Progress
from ragviz.service import job_verbs
from ragviz.text import former_documents

if TYPE_CHECKING:
    from ragviz.workspace import Workspace as Workspace


def open_workspace() -> Workspace:
    """Open what the environment configures, for the person whose process this is."""
    from ragviz import workspace

    opened = workspace.open_workspace()
    opened.calls_functions = True
    return opened


def group(explanation: str) -> typer.Typer:
    """Return a command that holds others."""
    return typer.Typer(help=explanation, no_args_is_help=True, rich_markup_mode=None, add_completion=False)


umask = 0o077
"""Umask of the files that commands write for the user; `main` sets it to the user's own."""
PIPED = 500
"""Columns of output that is not a terminal: a row stays on one line."""
WAITING = "Waiting"
"""How progress begins that says why nothing is done yet: it is printed where no bar is drawn."""
out = Console(soft_wrap=True)
err = Console(stderr=True, soft_wrap=True)


def fail(sentence: str, code: int) -> None:
    """Print what is wrong on standard error, and exit with `code`."""
    err.print(printable(sentence), style="bold", highlight=False)
    sys.exit(code)


_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def printable(text: object) -> str:
    """Escape text that others may have written: markup, and characters that control the terminal."""
    return escape(_CONTROL.sub("\ufffd", str(text)))


def say(*lines: object) -> None:
    """Print lines on standard output as they are, without those that are empty."""
    for each in filter(None, lines):
        out.print(printable(each), highlight=False)


def warn(*lines: object) -> None:
    """Print lines on standard error as they are, without those that are empty."""
    for each in filter(None, lines):
        err.print(printable(each), highlight=False)


def show(value: Any, as_json: bool, draw: Callable[[], object]) -> None:
    """Print `value` as JSON, or else `draw` it."""
    if as_json:
        sys.stdout.write(json.dumps(value, ensure_ascii=False, default=asdict) + "\n")
    else:
        draw()


def table(columns: Sequence[str], rows: Sequence[Sequence[object]], title: str = "") -> None:
    """Print rows under their columns, None as nothing; no cell is truncated when the output is not a terminal."""
    from rich.table import Table

    drawn = Table(title=title or None, title_justify="left", box=None, pad_edge=False)
    for column in columns:
        drawn.add_column(column, overflow="fold")  # a truncated name cannot be given to another command
    for row in rows:
        drawn.add_row(*(printable("" if cell is None else cell) for cell in row))
    if out.is_terminal:
        out.print(drawn)
        return
    with (console := Console(soft_wrap=True, width=PIPED)).capture() as printed:
        console.print(drawn)
    sys.stdout.write("".join(f"{row.rstrip()}\n" for row in printed.get().splitlines()))  # no blanks up to the longest


Columns = Sequence[str] | Mapping[str, Callable[[Any], object] | str]
"""Keys of records to be shown; or what a column is called → its key, or what a function makes of the record."""


def cells(records: Iterable[Mapping[str, Any]], columns: Columns) -> list[list[object]]:
    """Return the rows of a table of records; lists are joined by commas."""
    shown = list(columns.values()) if isinstance(columns, Mapping) else columns

    def cell(record: Mapping[str, Any], of: Callable[[Any], object] | str) -> object:
        value = record.get(of) if isinstance(of, str) else of(record)
        return ", ".join(map(str, value)) if isinstance(value, (list, tuple)) else value

    return [[cell(record, of) for of in shown] for record in records]


def show_records(records: Sequence[Mapping[str, Any]], as_json: bool, columns: Columns) -> None:
    """Print records as JSON, or as a table."""
    show(records, as_json, lambda: table([*columns], cells(records, columns)))


def line(text: str) -> str:
    """Put a text on one line, white space as single blanks."""
    return " ".join(text.split())


def when(seconds: float) -> str:
    """Return a time, in seconds since 1970, as date and time of this machine's zone."""
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(seconds))


def interval(estimate: Estimate) -> str:
    """Write mean, interval and n in one cell."""
    if estimate.mean is None:
        return f"none (n={estimate.n})"
    if estimate.interval is None:
        return f"{estimate.mean:.3f} (n={estimate.n}, no interval)"
    return f"{estimate.mean:.3f} {estimate.interval_words(3)} n={estimate.n}"


@contextmanager
def bar() -> Iterator[Progress]:
    """Yield a callback that draws a bar on standard error, if that is a terminal; Cancelled when Ctrl-C interrupts."""
    from rich.progress import BarColumn, MofNCompleteColumn, TaskID, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[unit]}"))
    with Bar(*columns, TimeRemainingColumn(), console=err, transient=True, disable=not err.is_terminal) as drawn:
        tasks: list[TaskID] = []
        told = ""

        def watch(done: int, total: int | None, unit: str, message: str = "") -> None:
            nonlocal told
            if total is None and message.startswith(WAITING) and message != told and not err.is_terminal:
                told = message
                warn(message)
            tasks or tasks.append(drawn.add_task("", unit=unit))  # type: ignore[func-returns-value]
            drawn.update(tasks[0], completed=done, total=total, unit=unit, description=escape(message[:40]))

        try:
            yield watch
        except KeyboardInterrupt as stop:
            raise Cancelled(str(stop) or "Stopped.") from stop  # which typer would end without a word


def perform(workspace: Workspace, job: NewJob) -> Job:
    """Do a job here, under a progress bar."""
    with bar() as watch:
        return job_verbs.perform(workspace, job, watch)


def confirm(question: str, yes: bool) -> None:
    """Ask before something is destroyed; UsageError without a terminal, Cancelled when the answer is no."""
    if not yes and not sys.stdin.isatty():
        raise UsageError(f"{question} There is no terminal to ask on: give --yes.")
    if not yes and not typer.confirm(question, err=True):
        raise Cancelled("Nothing was deleted.")


def report_left(left: Iterable[str]) -> None:
    """Print what was left on a server."""
    warn(*(f"Left behind: {indices}. Delete them there, when it can be reached." for indices in left))


def one_of(what: str, value: str, choices: Collection[str]) -> None:
    """Raise UsageError where a value is none of the choices; "" is one that was not given."""
    if value and value not in choices:
        raise UsageError(f"There is no {what} '{value}': choose one of {', '.join(choices)}.")


def known_document(document: str, names: Mapping[str, str]) -> None:
    """Raise UsageError for a document that a corpus neither has nor had, by its `names`; "" is one not given."""
    if document and not former_documents.is_among(document, names.values()):
        raise UsageError(f"There is no document '{document}': `ragviz corpus show` lists them.")


def read(file: Path) -> bytes:
    """Read the file; InputError when it cannot be opened."""
    try:
        return file.read_bytes()
    except OSError as error:
        raise InputError(f"The file {file} cannot be opened: {error.strerror}.") from None


def text_or_file(given: str) -> str:
    """Return a text, or that of the file named after an @; InputError when it cannot be opened, or is not UTF-8."""
    if not given.startswith("@"):
        return given
    try:
        return read(Path(given[1:])).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InputError(f"The file {given[1:]} is no text in UTF-8.") from None


@contextmanager
def for_user() -> Iterator[None]:
    """Write files with the user's own umask, not with that of stored files."""
    before = os.umask(umask)
    try:
        yield
    finally:
        os.umask(before)


def write(file: Path, data: bytes) -> None:
    """Write the file; InputError when it cannot be written."""
    try:
        with for_user():
            file.write_bytes(data)
    except OSError as error:
        raise InputError(f"{file} cannot be written: {error.strerror}.") from None
