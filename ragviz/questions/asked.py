"""What people asked: a log read to texts and counts, and nothing else of it.

A log is a table with a column of questions, as a question set may be, or text with one question a line. Of its other
columns only one of counts is read: times, users and addresses are neither kept nor looked at. Secrets and what
identifies a person by its form (addresses of mail, long numbers, keys) are taken out of the texts before anything is
stored.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ragviz.core import addresses
from ragviz.core.addresses import HIDDEN
from ragviz.core.errors import InputError
from ragviz.core.stopping import Progress, silent
from ragviz.documents import tables_in
from ragviz.questions.formats.input_file import InputFile, Problem
from ragviz.text.counts import counted
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
_TABLES = (".csv", ".tsv", ".json", ".jsonl", ".ndjson", ".xlsx", ".xlsm", ".parquet")
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
class Log:
    """What a log holds: texts with how often each was asked, the most asked first (ties: as in the file), and notes.

    Of texts that differ in case, width and signs only the first stands for all.
    """

    asked: tuple[tuple[str, int], ...]
    notes: tuple[str, ...] = ()


def read_log(file: InputFile, keys: Sequence[str] = (), progress: Progress = silent) -> Log:
    """Read a log of what people asked; `keys` are secrets that are taken out of it.

    Raises:
        InputError: no column of questions is known, or nothing in it is a question.

    """
    problems: list[Problem] = []
    notes: list[str] = []
    counts, texts = Counter[str](), dict[str, str]()
    hidden = shortened = 0
    is_table = file.name.lower().endswith(_TABLES) or file.head().startswith(("{", "[")) or _has_header(file)
    read = _of_table(file, problems, notes) if is_table else ((n, line, 1) for n, line in file.readable_lines(problems))
    for done, (number, asked, count) in enumerate(read):
        if done % _REPORTED == 0:
            progress(done, None, "rows", "Reading the log")
        clean = _BLANKS.sub(" ", harmless(asked, keys)).strip()
        hidden += HIDDEN in clean and HIDDEN not in asked
        shortened += len(clean) > LONGEST
        if key := normal(clean[:LONGEST]):
            texts.setdefault(key, clean[:LONGEST])
            counts[key] += count
        else:
            problems.append(Problem(file.name, number, "holds no word"))
    if not counts:
        raise InputError(
            f"'{file.name}' holds no question: give one a line, or a column called question, query or text."
        )
    if problems:
        first = min(problems, key=lambda problem: problem.row)
        said = counted(len(problems), "row", "was")
        notes.append(f"{said} left out: row {first.row} {harmless(first.reason, keys)}{' …' * (len(problems) > 1)}")
    if hidden:
        notes.append(f"Keys, addresses of mail or long numbers were taken out of {counted(hidden, 'text')}.")
    if shortened:
        notes.append(f"{counted(shortened, 'text', 'was')} cut after the first {LONGEST:,} characters.")
    asked_texts = sorted(((text, counts[key]) for key, text in texts.items()), key=lambda each: -each[1])
    return Log(tuple(asked_texts), tuple(notes))


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


def _has_header(file: InputFile) -> bool:
    first = file.head().partition("\n")[0]
    return any(name.strip().lower() in TEXTS for sign in ",;\t|" for name in first.split(sign))


def _of_table(file: InputFile, problems: list[Problem], notes: list[str]) -> Iterator[tuple[int, str, int]]:
    """Yield row, text and count; the names of columns that are not read are not repeated, they may be of persons."""
    column = counting = ""
    for number, row in tables_in.rows(file.data(), file.name, TEXTS):
        if refused := row.get(tables_in.REFUSED):
            problems.append(Problem(file.name, number, refused))
            continue
        if not column:
            names = [name for name in row if name not in tables_in.TOLD]
            if not (column := next((name for name in TEXTS if name in names), "")):
                known = ", ".join(TEXTS[:6])
                raise InputError(
                    f"'{file.name}' has no column that is known to hold questions ({known} …): name one so."
                )
            counting = next((name for name in COUNTS if name in names), "")
            others = len(names) - 1 - bool(counting)
            unread = f" {others:,} other columns were not read, and nothing of them is kept." if others else ""
            notes.append(f"Column read: '{column}'{f' and {counting!r}' if counting else ''}.{unread}")
        asked, said = row.get(column), str(row.get(counting) or "1").strip().replace(",", "").removesuffix(".0")
        if not isinstance(asked, str):
            problems.append(Problem(file.name, number, f"has no text as {column}"))
        elif not (said.isascii() and said.isdigit() and len(said) < 12):
            problems.append(Problem(file.name, number, f"has the count '{said[:40]}': give a whole number"))
        elif int(said):
            yield number, asked, int(said)
