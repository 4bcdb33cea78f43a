"""Ragas: rows of `user_input`, `reference` and `reference_contexts`, as JSONL, JSON or CSV."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from ragviz.core.question import Question, QuestionStyle, QuestionType
from ragviz.core.stopping import Progress
from ragviz.documents import tables_in
from ragviz.questions.formats import quoted
from ragviz.questions.formats.input_file import InputFile
from ragviz.questions.formats.known import Known
from ragviz.questions.formats.set_formats import Choices, Outgoing, Read, Written
from ragviz.questions.interchange import Row
from ragviz.text.counts import counted

COLUMNS = ("user_input", "reference", "reference_contexts", "synthesizer_name", "query_style", "evolution_type")
"""Columns of a test set of Ragas that are read."""
_OLD = {"question": "user_input", "ground_truth": "reference", "contexts": "reference_contexts"}
"""Columns of test sets of Ragas 0.1, which have an `evolution_type`."""
_HOP = re.compile(r"\s*<\d+-hop>\s*")
_STYLES: Mapping[str, QuestionStyle] = {"misspelled": "misspelt", "web_search_like": "keywords"}


def read(files: Sequence[InputFile], known: Known, _choices: Choices, progress: Progress) -> Read:
    """Read a Ragas test set; each reference context is one piece of evidence. Raises as `quoted.rows_of`."""
    [file] = files[:1]
    rows = quoted.rows_of(file, ("user_input", "evolution_type"))
    renamed = [
        (number, {_OLD.get(name, name): value for name, value in row.items()} if "evolution_type" in row else row)
        for number, row in rows
    ]
    return quoted.read(file.name, renamed, _quoted, COLUMNS, known, progress)


def _quoted(row: Row) -> Row:
    contexts = tables_in.texts_in(row.get("reference_contexts"), "reference_contexts")
    passages = [(_HOP.sub("", text, count=1).strip(),) for text in contexts]
    made: QuestionType = ""
    maker = str(row.get("synthesizer_name") or "").lower()
    if maker.startswith("single_hop_spec"):
        made = "fact"
    elif maker.startswith("multi_hop") and len(passages) > 1:
        made = "bridge"
    return quoted.asked(
        row.get("user_input"),
        row.get("reference"),
        list(dict.fromkeys(passages)),
        type=made,
        style=_STYLES.get(str(row.get("query_style") or "").lower().strip(), ""),
    )


# Out


def write(outgoing: Outgoing, _format: str) -> Written:
    """Write JSONL of `user_input`, `reference`, `reference_contexts`: of alternatives the first, stale ones as kept."""
    more = sum(any(len(group) > 1 for group in question.evidence) for question in outgoing.asked)
    rows = [json.dumps(_row(question), ensure_ascii=False) + "\n" for question in outgoing.asked]
    notes = [f"{counted(more, 'question', 'has')} alternative evidence: the first is written."] * (more > 0)
    return Written("".join(rows).encode("utf-8", "replace"), "jsonl", (*notes, *outgoing.left_out))


def _row(question: Question) -> dict[str, Any]:
    asked: Any = question.text
    if question.history:
        turns = [*question.history, (question.text, "")]
        kinds = [(said, kind) for pair in turns for said, kind in zip(pair, ("human", "ai"), strict=True)]
        asked = [{"content": said, "type": kind} for said, kind in kinds if said]
    contexts = [group[0].text for group in question.evidence]
    return {"user_input": asked, "reference": question.answer, "reference_contexts": contexts}
