"""The formats of question sets: which module reads and writes each, what it holds and what it cannot carry."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, Protocol, cast

from ragviz.core.document import Document, DocumentInfo
from ragviz.core.errors import InputError, UsageError
from ragviz.core.progress import Progress
from ragviz.core.question import Question
from ragviz.questions.formats.input_file import InputFile, Problem


@dataclass(frozen=True, slots=True)
class Format:
    """A format: the module whose `read` and `write` handle it, its title, and the extension of what is written.

    `brings_documents` says that its files hold documents beside the questions. `holds` tells what is read, `lacks` what
    an export in this format cannot carry.
    """

    module: str
    title: str
    extension: str
    holds: str
    lacks: str
    brings_documents: bool = False


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
        f"{_HERE}.ragas",
        "Ragas",
        "jsonl",
        "JSONL, JSON or CSV with user_input, reference and reference_contexts, which are found in the documents",
        "documents and offsets of the evidence (only its text), alternatives, grades, reviews, sides and weights.",
    ),
    "squad": Format(
        f"{_HERE}.squad",
        "SQuAD",
        "json",
        "JSON of SQuAD 1.1 or 2: paragraphs that stand in no document become documents, answers are the evidence",
        "questions that need several pieces of evidence or name none, grades, types, styles, reviews and weights.",
        brings_documents=True,
    ),
    "trec": Format(
        f"{_HERE}.trec",
        "TREC",
        "zip",
        "topics (<top>, XML, TSV or JSONL) and qrels about documents of the corpus, by name",
        "answers, places within documents, which pieces of evidence are needed together, and all that is ours.",
    ),
}
"""Format by name: a new one is a module, and its entry here."""


def file_name(set_name: str, name: str) -> str:
    """Return what the file of a set in a format is called: no two formats of a set have the same name.

    >>> [file_name("asked", name) for name in ("jsonl", "ragas", "beir")]
    ['asked.jsonl', 'asked.ragas.jsonl', 'asked.beir.zip']
    """
    extension = FORMATS[name].extension
    return f"{set_name}.{extension}" if name == extension else f"{set_name}.{name}.{extension}"


def format_named(file: str) -> str:
    """Return the format that the name of a file to be written tells, by its last endings.

    >>> [format_named(name) for name in ("a.csv", "a.ragas.jsonl", "a.json", "v1.2.JSONL", "a.beir")]
    ['csv', 'ragas', 'squad', 'jsonl', 'beir']

    Raises:
        UsageError: it tells none, or several could be meant.

    """
    *_, before, ending = ["", "", *file.lower().split(".")]
    if before in FORMATS and FORMATS[before].extension == ending:
        return before
    able = [ending] if ending in FORMATS else [name for name, each in FORMATS.items() if each.extension == ending]
    if len(able) == 1:
        return able[0]
    told = f"can be any of {', '.join(able)}" if able else f"tells none of the formats {', '.join(FORMATS)}"
    raise UsageError(f"The name '{file}' {told}: name one with --format.")


AUTO = "auto"
"""In place of a format's name: the one that the files are recognised as."""


@dataclass(frozen=True, slots=True)
class Read:
    """What files hold: questions, documents that are not in the corpus yet, and what was wrong.

    `has_sides` says that the questions name sides of a split.
    """

    questions: tuple[Question, ...]
    documents: tuple[Document, ...] = ()
    problems: tuple[Problem, ...] = ()
    notes: tuple[str, ...] = ()
    has_sides: bool = False


@dataclass(frozen=True, slots=True)
class Choices:
    """How files are read.

    `split` is the name of the judgements to be read ("test", "dev", "train", "all"; "" for those of test and dev).
    `all_needed` reads several relevant documents of a question as all needed, instead of any of them sufficing.
    """

    split: str = ""
    all_needed: bool = False


@dataclass(frozen=True, slots=True)
class Written:
    """An exported file, and sentences on what of the set it does not hold."""

    data: bytes
    extension: str
    notes: tuple[str, ...] = ()


class Known(Protocol):
    """The documents of a corpus."""

    def called(self, name: str) -> DocumentInfo | None:
        """Return the document of this name or id, or the only one with this file name, with or without suffix."""
        ...

    def named(self, name: str) -> DocumentInfo | None:
        """Return the document of exactly this name."""
        ...

    def texts(self, ids: Collection[str] | None = None) -> Iterable[Document]:
        """Yield the documents with their texts, one at a time; all of them, or those with these ids."""
        ...


@dataclass(frozen=True, slots=True)
class Outgoing:
    """What is exported: the questions of a set, the documents they are about, and whether the set has a split."""

    questions: Sequence[Question]
    known: Known
    has_sides: bool = False
    names: Mapping[str, str] = field(default_factory=dict)


Reader = Callable[[Sequence[InputFile], Known, Choices, Progress], Read]
Writer = Callable[[Outgoing, str], Written]


def reader(name: str) -> Reader:
    """Return what reads the files of a format; UsageError for one that does not exist."""
    return cast(Reader, _module(name).read)


def writer(name: str) -> Writer:
    """Return what writes a format; UsageError for one that does not exist."""
    return cast(Writer, _module(name).write)


def _module(name: str) -> Any:
    if name not in FORMATS:
        raise UsageError(f"There is no format '{name}': choose one of {', '.join(FORMATS)}.")
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
        if other := next((each for each in OTHERS if all(f'"{key}"' in head for key in each.keys)), None):
            raise InputError(f"'{file.name}' is {other.title}: {other.instead}")
    looks = [_look(name, head) for name, head in zip(names, heads, strict=True)]
    if "topics" in looks or "qrels" in looks:
        return "trec"
    if len(files) > 1:
        raise InputError(
            f"{len(files)} files ({', '.join(names[:5])}) are no BEIR folder (corpus.jsonl, queries.jsonl, qrels/) and "
            "no TREC topics with qrels: import other files one by one."
        )
    return looks[0]


@dataclass(frozen=True, slots=True)
class Other:
    """A format of another program that is no question set of ours: the keys that show it, and what to do instead."""

    keys: tuple[str, ...]
    title: str
    instead: str


_RUN = "it holds what a system answered. Import it as a run: ragviz runs import."
OTHERS = (
    Other(
        ("queries", "corpus", "relevant_docs"),
        "an embedding data set of LlamaIndex",
        "write `queries` and `relevant_docs` as rows of question, quote (the text in `corpus`).",
    ),
    Other(
        ("examples", "reference_contexts", "query"),
        "a RAG data set of LlamaIndex",
        "write each of `examples` as user_input (`query`), reference (`reference_answer`) and reference_contexts.",
    ),
    Other(
        ("input", "expected_output", "actual_output"),
        "a data set of DeepEval",
        "rename `input` to user_input, `expected_output` to reference and `context` to reference_contexts.",
    ),
    Other(
        ("query", "retrieval_gt", "generation_gt"),
        "QA data of AutoRAG",
        "rename `query` to question and `generation_gt` to answer; the text of `retrieval_gt` is the quote.",
    ),
    Other(("models", "tasks", "evaluations"), "a file of InspectorRAGet", _RUN),
    Other(("results", "query_id", "retrieved_context"), "a file of RAGChecker", _RUN),
)
"""What is refused by its name."""


def _look(name: str, head: str) -> str:
    """Return what one file looks like: a format of a single file, or "topics" or "qrels"."""
    start = head.lstrip("\ufeff \t\r\n")
    lowered = start[:4000].lower()
    if lowered.startswith(("<top", "<?xml", "<!--")):
        return "topics"
    if any(f'"{key}"' in start or key in start.partition("\n")[0].lower() for key in ("user_input", "evolution_type")):
        return "ragas"
    if start.startswith("{") and ('"paragraphs"' in start or '"qas"' in start):
        return "squad"
    first = start.partition("\n")[0].split()
    if not start.startswith(("{", "[")) and len(first) == 4 and first[3].lstrip("-").isdigit():
        return "qrels"
    if name.endswith((".jsonl", ".ndjson", ".json")) or start.startswith(("{", "[")):
        is_line = start.startswith("{") and start.partition("\n")[0].rstrip().endswith("}")
        query = is_line and '"question"' not in start and ('"query"' in start or '"title"' in start)
        return "topics" if query else "jsonl"
    header = start.partition("\n")[0].lower()
    cells = start.partition("\n")[0].split("\t")
    return "topics" if "question" not in header and len(cells) == 2 else "csv"
