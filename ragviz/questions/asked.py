"""What people asked: a log read to texts and counts, and nothing else of it.

A log is a table with a column of questions, as a question set may be, or text with one question a line. Of its other
columns only one of counts is read: times, users and addresses are neither kept nor looked at. Secrets and what
identifies a person by its form (addresses of mail, long numbers, keys) are taken out of the texts before anything is
stored.
"""

from __future__ import annotations

import csv
import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from ragviz.core import addresses
from ragviz.core.addresses import HIDDEN
from ragviz.core.errors import InputError
from ragviz.core.stopping import Progress, silent
from ragviz.documents import tables_in
from ragviz.questions.formats.input_file import InputFile, Problem
from ragviz.text.untrusted import storable, without_keys

TEXTS = (
    "question", "query", "user_input", "prompt", "text", "message", "utterance", "input", "search", "q",
    "问题", "提问", "查询", "问句", "内容", "搜索词",
)  # fmt: skip
"""Names of the column that holds what was asked; the first that a log has is read."""
COUNTS = ("count", "n", "frequency", "freq", "times", "hits", "occurrences", "次数", "频次", "数量")
"""Names of the column that says how often; once, without one."""
LONGEST = 1_000
"""Characters of a question that are kept: what is longer is a pasted text, whose beginning tells what was asked."""
_REPORTED = 2_000
_LISTED = 20  # rows in one sentence
_MAIL = re.compile(r"[\w.+%-]+@[\w-]+(?:\.[\w-]+)+")
_NUMBER = re.compile(r"(?<![\w.])\+?\d(?:[\s().-]{0,2}\d){8,}(?![\w])")
_KEY = re.compile(
    r"(?<![A-Za-z0-9])(?:(?:sk|pk|rk|ghp|gho|ghs|xox[abpr]|key|token)[-_][A-Za-z0-9_-]{12,}|AKIA[A-Z0-9]{12,}"
    r"|[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12})"
)
_RANDOM = re.compile(r"\b(?=[A-Za-z0-9]*\d)(?=[A-Za-z0-9]*[A-Za-z])[A-Za-z0-9]{32,}\b")
_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]*://\S+", re.IGNORECASE)
_BLANKS = re.compile(r"\s+")


@dataclass(frozen=True, slots=True)
class Asked:
    """A text that was asked `count` times: as it came first, of all that differ in case, width and signs only."""

    text: str
    count: int


@dataclass(frozen=True, slots=True)
class Log:
    """What a log holds: distinct texts, the most asked first; ties in the order of the file.

    `hidden` counts the texts out of which something was taken, `shortened` those that were cut.
    """

    asked: tuple[Asked, ...]
    rows: int
    problems: tuple[Problem, ...] = ()
    hidden: int = 0
    shortened: int = 0
    notes: tuple[str, ...] = field(default=())

    @property
    def total(self) -> int:
        """How often anything was asked."""
        return sum(each.count for each in self.asked)


def read_log(file: InputFile, keys: Sequence[str] = (), progress: Progress = silent) -> Log:
    """Read a log of what people asked; `keys` are secrets that are taken out of it.

    Raises:
        InputError: no column of questions is known, or nothing in it is a question.

    """
    problems: list[Problem] = []
    notes: list[str] = []
    counts: dict[str, int] = {}
    texts: dict[str, str] = {}
    rows = hidden = shortened = 0
    for rows, (number, asked, count) in enumerate(_rows(file, problems, notes), start=1):
        if rows % _REPORTED == 0:
            progress(rows, None, "rows", "Reading the log")
        clean = _BLANKS.sub(" ", harmless(asked, keys)).strip()
        hidden += HIDDEN in clean and HIDDEN not in asked
        shortened += len(clean) > LONGEST
        clean = clean[:LONGEST]
        key = normal(clean)
        if not key:
            problems.append(Problem(file.name, number, "holds no word: left out"))
            continue
        texts.setdefault(key, clean)
        counts[key] = counts.get(key, 0) + count
    if not counts:
        raise InputError(
            f"'{file.name}' holds no question: give one a line, or a column called question, query or text."
        )
    if problems:
        notes.append(_left_out(problems, keys))
    asked_texts = sorted((Asked(text, counts[key]) for key, text in texts.items()), key=lambda each: -each.count)
    return Log(tuple(asked_texts), rows, tuple(problems), hidden, shortened, tuple(notes))


def _left_out(problems: Sequence[Problem], keys: Sequence[str]) -> str:
    """Say how many rows of a log were left out, which, and why the first was."""
    ordered = sorted(problems, key=lambda problem: problem.row)
    numbers = ", ".join(str(each.row) for each in ordered[:_LISTED]) + (" …" if len(ordered) > _LISTED else "")
    count = f"{len(ordered):,} rows were" if len(ordered) > 1 else "1 row was"
    first = ordered[0]
    return f"{count} left out: {numbers}. Row {first.row} {harmless(first.reason, keys).removesuffix(': left out')}."


def harmless(text: str, keys: Sequence[str] = ()) -> str:
    """Return a text without `keys` and without what looks like a key, an address of mail or a long number.

    >>> harmless("Why is ada@example.org, +44 20 7946 0958, locked out with sk-abcdefghijkl1234?")
    'Why is ••••, ••••, locked out with ••••?'
    >>> harmless("Was 2021 better than 1,998,000?")
    'Was 2021 better than 1,998,000?'
    """
    text = _ADDRESS.sub(lambda match: addresses.within(match[0]), without_keys(str(storable(text)), keys))
    for pattern in (_MAIL, _KEY, _RANDOM, _NUMBER):
        text = pattern.sub(HIDDEN, text)
    return text


def normal(text: str) -> str:
    """Return a text in the form in which it is the same question: case, width, blanks and signs do not count.

    >>> normal("  How much?? "), normal("How much"), normal("多少钱？"), normal("?!")
    ('how much', 'how much', '多少钱', '')
    """
    folded = unicodedata.normalize("NFKC", text).casefold()
    return " ".join("".join(c if c.isalnum() else " " for c in folded).split())


def _rows(file: InputFile, problems: list[Problem], notes: list[str]) -> Iterator[tuple[int, str, int]]:
    """Yield row, text and count."""
    head = file.head()
    first = head.partition("\n")[0]
    columns = [next(csv.reader([first], delimiter=sign), []) for sign in ",;\t|"]
    if head.startswith(("{", "[")) or any(name.strip().lower() in TEXTS for names in columns for name in names):
        yield from _table_rows(file, problems, notes)
        return
    if max(map(len, columns)) > 1 and file.name.lower().endswith((".csv", ".tsv")):
        raise _unknown(file)
    yield from ((number, line, 1) for number, line in file.readable_lines(problems))


def _table_rows(file: InputFile, problems: list[Problem], notes: list[str]) -> Iterator[tuple[int, str, int]]:
    column = counted = ""
    for number, row in tables_in.rows(file.data(), file.name, TEXTS):
        if refused := row.get(tables_in.REFUSED):
            problems.append(Problem(file.name, number, refused))
            continue
        if not column:
            names = [name for name in row if name not in tables_in.TOLD]
            if not (column := next((name for name in TEXTS if name in names), "")):
                raise _unknown(file)
            counted = next((name for name in COUNTS if name in names), "")
            _note(notes, column, counted, names)
        asked, said = row.get(column), row.get(counted)
        if isinstance(asked, str):
            yield from _counted(file, number, asked, "" if said is None else str(said), problems)
        else:
            problems.append(Problem(file.name, number, f"has no text as {column}: left out"))


def _unknown(file: InputFile) -> InputError:
    known = ", ".join(TEXTS[:6])
    return InputError(f"'{file.name}' has no column that is known to hold questions ({known} …): name one so.")


def _note(notes: list[str], column: str, counted: str, names: Sequence[str]) -> None:
    """Note which columns were read; the names of the others are not repeated, they may be of persons."""
    others = len(names) - 1 - bool(counted)
    read = f"'{column}'" + (f" and '{counted}'" if counted else "")
    notes.append(
        f"Column read: {read}."
        + (f" {others:,} other columns were not read, and nothing of them is kept." * (others > 0))
    )


def _counted(
    file: InputFile, number: int, asked: str, said: str, problems: list[Problem]
) -> Iterator[tuple[int, str, int]]:
    said = said.strip().replace(",", "").removesuffix(".0")
    if said and not (said.isascii() and said.isdigit() and len(said) < 12):
        problems.append(Problem(file.name, number, f"has the count '{said[:40]}': give a whole number; left out"))
    elif said != "0":
        yield number, asked, int(said or 1)
