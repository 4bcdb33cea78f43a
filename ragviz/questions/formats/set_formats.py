"""The formats of question sets: which module reads and writes each, what it holds and what it cannot carry."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any, cast

from ragviz.core.document import Document
from ragviz.core.errors import InputError, UsageError
from ragviz.core.question import Question
from ragviz.core.stopping import Progress
from ragviz.questions.formats.input_file import InputFile, Problem
from ragviz.text.untrusted import has_keys

if TYPE_CHECKING:
    from ragviz.questions.formats.known import Known


@dataclass(frozen=True, slots=True)
class Format:
    """A format: the module whose `read` and `write` handle it, its title, and the extension of what is written.

    `brings_documents` says that its files hold documents beside the questions. `holds` tells what is read, `lacks` what
    an export in this format cannot carry; one without an extension is only read. A file is in this format when its
    columns, or the keys of its JSON, are all of one of `shown_by`.
    """

    module: str
    title: str
    extension: str
    holds: str
    lacks: str = ""
    brings_documents: bool = False
    shown_by: tuple[tuple[str, ...], ...] = ()


_HERE = "ragviz.questions.formats"
FORMATS: Mapping[str, Format] = {
    "jsonl": Format(
        f"{_HERE}.own",
        "JSONL",
        "jsonl",
        "one question a line, with every field of ragviz",
        "nothing: importing the file restores the same questions.",
    ),
    "csv": Format(
        f"{_HERE}.own",
        "CSV",
        "csv",
        "one question a row, of Excel and Parquet too: question, answer, and passage, document and quote, chunk_id, or "
        "evidence",
        "nothing: importing the file restores the same questions.",
    ),
    "qa": Format(
        f"{_HERE}.own",
        "QA table",
        "csv",
        "question, ground_truth_answer, chunk_id and document, as any CSV",
        "places within chunks, alternatives, types, styles, reviews, sides and weights.",
    ),
    "beir": Format(
        f"{_HERE}.beir",
        "BEIR",
        "zip",
        "a folder or .zip with corpus.jsonl, queries.jsonl and qrels/*.tsv: its entries become documents",
        "places within documents, titles of documents (they begin the text), which pieces of evidence are needed "
        "together, types, styles, reviews and weights.",
        brings_documents=True,
    ),
    "ragas": Format(
        f"{_HERE}.quoted",
        "Ragas",
        "jsonl",
        "JSONL, JSON or CSV with user_input, reference and reference_contexts, which are found in the documents",
        "documents and offsets of the evidence (only its text), alternatives, grades, reviews, sides and weights.",
        shown_by=(("user_input",), ("evolution_type",)),
    ),
    "squad": Format(
        f"{_HERE}.squad",
        "SQuAD",
        "",
        "JSON of SQuAD 1.1 or 2: paragraphs that stand in no document become documents, answers are the evidence",
        brings_documents=True,
        shown_by=(("paragraphs",), ("qas",)),
    ),
    "trec": Format(
        f"{_HERE}.trec",
        "TREC",
        "",
        "topics (<top>, XML or TSV) and qrels about documents of the corpus, by name",
    ),
    "deepeval": Format(
        f"{_HERE}.quoted",
        "DeepEval",
        "",
        "goldens in JSON, JSONL or CSV with input, expected_output and context, which is found in the documents; "
        "exports of Langfuse",
        shown_by=(("input", "expected_output"), ("input", "expectedoutput")),
    ),
    "llamaindex": Format(
        f"{_HERE}.quoted",
        "LlamaIndex",
        "",
        "JSON of a RAG data set (examples) or an embedding data set (queries, corpus, relevant_docs), whose passages "
        "are found in the documents",
        shown_by=(("examples", "query"), ("queries",)),
    ),
    "autorag": Format(
        f"{_HERE}.quoted",
        "AutoRAG",
        "",
        "QA data (query, generation_gt) with retrieval_gt_contents, which are found in the documents",
        shown_by=(("query", "generation_gt"), ("query", "retrieval_gt")),
    ),
}
"""Format by name: a new one is a module, and its entry here."""
WRITTEN = {name: each for name, each in FORMATS.items() if each.extension}
"""Those in which a set is exported."""


def file_name(set_name: str, name: str) -> str:
    """Return what the file of a set in a format is called: no two formats of a set have the same name.

    >>> [file_name("asked", name) for name in ("jsonl", "ragas", "qa")]
    ['asked.jsonl', 'asked.ragas.jsonl', 'asked.qa.csv']
    """
    extension = FORMATS[name].extension
    return f"{set_name}.{extension}" if name == extension else f"{set_name}.{name}.{extension}"


def format_named(file: str) -> str:
    """Return the format that the name of a file to be written tells, by its last endings; "qa_dataset" tells one, too.

    >>> [format_named(name) for name in ("a.csv", "a.ragas.jsonl", "a.zip", "v1.2.JSONL", "qa_dataset_limit=9.csv")]
    ['csv', 'ragas', 'beir', 'jsonl', 'qa']

    Raises:
        UsageError: it tells none, or several could be meant.

    """
    *_, before, ending = ["", "", *file.lower().split(".")]
    if file.lower().startswith("qa_dataset") and ending == "csv":
        return "qa"
    if before in WRITTEN and WRITTEN[before].extension == ending:
        return before
    able = [ending] if ending in WRITTEN else [name for name, each in WRITTEN.items() if each.extension == ending]
    if len(able) == 1:
        return able[0]
    told = f"can be any of {', '.join(able)}" if able else f"tells none of the formats {', '.join(WRITTEN)}"
    raise UsageError(f"The name '{file}' {told}: name one with --format.")


AUTO = "auto"
"""In place of a format's name: the one that the files are recognised as."""


@dataclass(frozen=True, slots=True)
class Read:
    """What files hold: questions, documents that are not in the corpus yet, and what was wrong."""

    questions: tuple[Question, ...]
    documents: tuple[Document, ...] = ()
    problems: tuple[Problem, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def left_out(self) -> dict[int, str]:
        """Why rows were left out, by their numbers."""
        return {problem.row: problem.reason for problem in self.problems if not problem.kept}

    @property
    def has_sides(self) -> bool:
        """Whether the questions name sides of a split."""
        return any(question.split for question in self.questions)


@dataclass(frozen=True, slots=True)
class Written:
    """An exported file, and sentences on what of the set it does not hold."""

    data: bytes
    extension: str
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Outgoing:
    """What is exported: the questions of a set, the documents they are about, and the names of these by id."""

    questions: Sequence[Question]
    known: Known
    names: Mapping[str, str] = field(default_factory=dict)

    @property
    def asked(self) -> list[Question]:
        """The questions that are neither rejected nor quarantined."""
        return [question for question in self.questions if question.asked]

    @property
    def left_out(self) -> tuple[str, ...]:
        """How many are, in words; nothing where none is."""
        count = len(self.questions) - len(self.asked)
        are = "question is" if count == 1 else "questions are"
        return (f"{count:,} rejected or quarantined {are} left out.",) if count else ()


Reader = Callable[[Sequence[InputFile], "Known", str, Progress], Read]
"""Reads files about known documents; the text is the name of the judgements of BEIR that are read."""
Writer = Callable[[Outgoing, str], Written]


def reader(name: str) -> Reader:
    """Return what reads the files of a format; UsageError for one that does not exist."""
    return cast(Reader, _module(name, FORMATS).read)


def writer(name: str) -> Writer:
    """Return what writes a format; UsageError for one that does not exist."""
    return cast(Writer, _module(name, WRITTEN).write)


def _module(name: str, formats: Mapping[str, Format]) -> Any:
    if name not in formats:
        raise UsageError(f"There is no format '{name}': choose one of {', '.join(formats)}.")
    return import_module(FORMATS[name].module)


def recognised(files: Sequence[InputFile]) -> str:
    """Return the name of the format that files are in, by their names and the beginning of their content.

    Raises:
        InputError: there is no file, or several that are no format together.

    """
    if not files:
        raise InputError("There is no file to import: name a file, a folder or a .zip.")
    names = [file.name.lower().rpartition("/")[2] for file in files]
    if "corpus.jsonl" in names and "queries.jsonl" in names:
        return "beir"
    heads = [file.head() for file in files]
    for file, head in zip(files, heads, strict=True):
        if other := next((what for keys, what in OTHERS.items() if has_keys(head, keys)), ""):
            raise InputError(f"'{file.name}' is {other}")
    looks = [_look(name, head) for name, head in zip(names, heads, strict=True)]
    if "topics" in looks or "qrels" in looks:
        return "trec"
    if len(files) > 1:
        raise InputError(
            f"{len(files)} files ({', '.join(names[:5])}) are no BEIR folder (corpus.jsonl, queries.jsonl, qrels/) and "
            "no TREC topics with qrels: import other files one by one."
        )
    return looks[0]


_LOGGED = "it holds what systems answered. Import it as a run: ragviz runs import."
OTHERS: Mapping[tuple[str, ...], str] = {
    ("models", "tasks", "evaluations"): f"a file of InspectorRAGet: {_LOGGED}",
    ("results", "query_id", "retrieved_context"): f"a file of RAGChecker: {_LOGGED}",
    ("question", "__expected"): "a file of tests of promptfoo: write each answer without its assertion (`contains:` …) "
    "in a column `answer`, in place of `__expected`.",
}
"""Keys that show a format of another program that is no question set → what it is, and what to do instead."""


def _look(name: str, head: str) -> str:
    """Return what one file looks like: a format of a single file, or "topics" or "qrels"."""
    if head[:4000].lower().startswith(("<top", "<?xml", "<!--")):
        return "topics"
    if shown := next((n for n, each in FORMATS.items() if any(has_keys(head, keys) for keys in each.shown_by)), ""):
        return shown
    header = head.partition("\n")[0]
    first = header.split()
    if head.startswith(("{", "[")) or name.endswith((".jsonl", ".ndjson", ".json")):
        return "jsonl"
    if len(first) == 4 and first[3].lstrip("-").isdigit():
        return "qrels"
    return "topics" if "question" not in header.lower() and len(header.split("\t")) == 2 else "csv"
