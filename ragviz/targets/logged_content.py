"""What a logged file holds before anybody asks what it means: rows, or one JSON value; and values within cells."""

from __future__ import annotations

import csv
import json
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ragviz.core.errors import InputError
from ragviz.documents import tables_in
from ragviz.text.untrusted import NESTED, is_deep, parsed, storable

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Content:
    """A file or a table in it: its rows, each with what it is called, or the one JSON object that it is, as `whole`."""

    name: str
    rows: tuple[tuple[str, Row], ...] = ()
    whole: Any = None


def opened(data: bytes, name: str) -> Content:
    """Open a file of any of our kinds.

    Raises:
        InputError: it is damaged, empty, in no known encoding, or no JSON though it begins like it.

    """
    if kind := tables_in.kind_of(data[:4], name):
        data = tables_in.as_lines(data, kind, name)
    text = tables_in.decoded(data, name)
    if not text.strip():
        raise InputError(f"'{name}' is empty.")
    if _OF_TREC.match(text):
        return Content(name, tuple(_of_trec(text)))
    if text.lstrip()[:1] not in "{[":
        first = text.lstrip().partition("\n")[0]
        headers = [next(csv.reader([first], delimiter=delimiter), []) for delimiter in ",;\t|"]
        titles = {cell.strip().lower(): cell.strip() for cell in reversed(max(headers, key=len)) if cell.strip()}
        read = tables_in.rows(data, name, titles)
        return Content(name, tuple((f"Row {n}", {titles.get(key, key): row[key] for key in row}) for n, row in read))
    try:
        whole = parsed(text)
    except ValueError as error:
        rows = tuple(_objects(text))
        if all(tables_in.REFUSED in row for _, row in rows):
            raise InputError(f"'{name}' is not JSON that can be read: {error}.") from None
        return Content(name, rows)
    if is_deep(whole):
        raise InputError(f"'{name}' has lists or objects nested more than {NESTED} deep.")
    whole = storable(whole)
    return Content(name, as_rows(whole)) if isinstance(whole, list) else Content(name, whole=whole)


def as_rows(values: list[Any]) -> tuple[tuple[str, Row], ...]:
    """Return objects of a list as rows; what is none is refused."""
    refused = {tables_in.REFUSED: "is not a JSON object"}
    return tuple((f"Row {n}", row if isinstance(row, dict) else refused) for n, row in enumerate(values, start=1))


_OF_TREC = re.compile(r"\s*\S+\s+Q0\s+\S+\s+\d+\s+[-+.\deE]+\s+\S+\s*(?:\n|$)")


def _of_trec(text: str) -> Iterator[tuple[str, Row]]:
    """Yield a run of TREC as a row a query: its documents by falling score, as trec_eval orders them."""
    ranked: dict[tuple[str, str], list[tuple[float, str]]] = {}
    for at, line in enumerate(text.splitlines(), start=1):
        cells = line.split()
        if len(cells) == 6 and (score := number(cells[4])) is not None:
            ranked.setdefault((cells[5], cells[0]), []).append((score, cells[2]))
        elif cells:
            yield f"Row {at}", {tables_in.REFUSED: "is no line of a TREC run: query, Q0, document, rank, score, name"}
    for (system, query), found in ranked.items():
        scores, ids = zip(*sorted(found, reverse=True), strict=True)
        row = {"system": system, "query_id": query, "context_ids": list(ids), "context_scores": list(scores)}
        yield f"Query {query}", row


def _objects(text: str) -> Iterator[tuple[str, Row]]:
    """Yield the objects that follow each other, each on a line or over several, and say of the rest why not."""
    decoder, at = json.JSONDecoder(), 0
    while at < len(text):
        begin = re.compile(r"\S").search(text, at)
        if begin is None:
            return
        at, called = begin.start(), f"Row {text.count(chr(10), 0, begin.start()) + 1}"
        try:
            row, at = decoder.raw_decode(text, at)
        except (ValueError, RecursionError) as error:
            following = re.compile(r"\n(?=\{)").search(text, at)
            at = following.end() if following else len(text)
            yield called, {tables_in.REFUSED: f"is not JSON that can be read: {error}"}
            continue
        if not isinstance(row, dict) or is_deep(row):
            row = {tables_in.REFUSED: "is not a JSON object, or is nested too deeply"}
        yield called, storable(row)


# Values within cells


def missing(value: Any) -> bool:
    """Return whether a value is what programs write for nothing."""
    if isinstance(value, str):
        return value.strip().casefold() in ("", "n/a", *tables_in.NOTHING)
    return value is None or value == [] or value == {} or (isinstance(value, float) and math.isnan(value))


def number(value: Any) -> float | None:
    """Return a number, one as text, or yes and no as 1 and 0; None for all else.

    >>> number("4"), number(True), number("FAIL"), number("nan"), number("4 of 5")
    (4.0, 1.0, 0.0, None, None)
    """
    said = str(value).strip().casefold() if isinstance(value, (str, bool)) else value
    if said in ("true", "pass", "passed"):
        return 1.0
    if said in ("false", "fail", "failed"):
        return 0.0
    try:
        found = float(said)
    except (TypeError, ValueError):
        return None
    return found if math.isfinite(found) else None


def plain(name: str) -> str:
    """Return a name without case, blanks and signs: "User Input", "user_input" and "userInput" are one."""
    return re.sub(r"[\W_]+", "", name).casefold()
