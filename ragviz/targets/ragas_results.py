"""Results of Ragas: a table of questions, what was retrieved and answered, references, and Ragas' scores."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import partial
from typing import Any

from ragviz.documents import tables_in
from ragviz.targets.logged_item import Log, LoggedItem, Passage, gathered

_QUESTION, _ANSWER = ("user_input", "question"), ("response", "answer")
_CONTEXTS, _REFERENCE = ("retrieved_contexts", "contexts"), ("reference", "ground_truth")


def read(data: bytes, name: str) -> Log:
    """Read results, a row a question; the names of columns are those of Ragas 0.2, or 0.1.

    Raises:
        InputError: the file cannot be read, or holds no readable row.

    """
    rows = tables_in.rows(data, name, _QUESTION)
    return gathered(((f"Row {number}", partial(_item, str(number), row)) for number, row in rows), name, "ragas")


def _item(number: str, row: Mapping[str, Any]) -> LoggedItem:
    if refused := row.get(tables_in.REFUSED):
        raise ValueError(refused)
    question, answer, reference = (_text(row, names) for names in (_QUESTION, _ANSWER, _REFERENCE))
    if not question:
        raise ValueError("it has no question that is a text")
    contexts = tables_in.texts_in(next((row[name] for name in _CONTEXTS if name in row), None), "contexts")
    others = row.keys() - {*_QUESTION, *_ANSWER, *_CONTEXTS, *_REFERENCE, "id"}
    scores = {name: value for name in row if name in others and (value := _number(row[name])) is not None}
    passages = tuple(map(Passage, contexts))
    return LoggedItem(str(row.get("id") or number), question, reference, answer or None, passages, scores=scores)


def _text(row: Mapping[str, Any], names: tuple[str, ...]) -> str:
    """Return the text of the first of these columns that a row has; "" for what is missing, or no text."""
    value = next((row[name] for name in names if name in row), None)
    return value if isinstance(value, str) and value.strip().casefold() not in ("", *tables_in.NOTHING) else ""


def _number(value: Any) -> float | None:
    try:
        found = float(value)
    except (TypeError, ValueError):
        return None
    return found if math.isfinite(found) else None
