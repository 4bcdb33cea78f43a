"""LlamaIndex: a RAG data set (`examples`), or an embedding data set (`queries`, `corpus`, `relevant_docs`), as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ragviz.core.errors import InputError
from ragviz.core.stopping import Progress
from ragviz.documents import tables_in
from ragviz.questions.formats import quoted
from ragviz.questions.formats.input_file import InputFile
from ragviz.questions.formats.known import Known
from ragviz.questions.formats.set_formats import Choices, Read
from ragviz.questions.interchange import Row
from ragviz.text.untrusted import is_deep, parsed, storable

COLUMNS = ("query", "query_by", "reference_answer", "reference_answer_by", "reference_contexts", "id", "relevant")


def read(files: Sequence[InputFile], known: Known, _choices: Choices, progress: Progress) -> Read:
    """Read a data set; each reference context is one piece of evidence, of relevant documents any suffices.

    Raises:
        InputError: it is none of the two.

    """
    [file] = files[:1]
    try:
        whole = parsed(file.text())
    except ValueError as error:
        raise InputError(f"'{file.name}' is not JSON that can be read: {error}.") from None
    if not isinstance(whole, dict) or is_deep(whole):
        raise InputError(f"'{file.name}' is no data set of LlamaIndex: it needs `examples`, or `queries` and `corpus`.")
    rows = list(enumerate(_rows(storable(whole)), start=1))
    if not rows:
        raise InputError(f"'{file.name}' holds no question: LlamaIndex has `examples`, or `queries` and `corpus`.")
    return quoted.read(file.name, rows, _quoted, COLUMNS, known, progress)


def _rows(whole: dict[str, Any]) -> Iterator[Row]:
    examples = whole.get("examples")
    for each in examples if isinstance(examples, list) else ():
        yield each if isinstance(each, dict) else {}
    queries, corpus, relevant = (
        found if isinstance(found := whole.get(key), dict) else {} for key in ("queries", "corpus", "relevant_docs")
    )
    for key, text in queries.items():
        passages = [str(corpus[each]) for each in map(str, relevant.get(key) or ()) if each in corpus]
        yield {"id": key, "query": text, "relevant": [passages]}


def _quoted(row: Row) -> Row:
    contexts = [(text,) for text in tables_in.texts_in(row.get("reference_contexts"), "reference_contexts")]
    passages = [*contexts, *filter(None, row.get("relevant") or ())]
    return quoted.asked(row.get("query"), row.get("reference_answer"), passages, str(row.get("id") or ""))
