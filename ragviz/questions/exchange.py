"""Question sets brought in from files of any format, with their documents, and handed out in any format."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from ragviz.core.digests import digest
from ragviz.core.document import Corpus
from ragviz.core.errors import NotFoundError, UsageError
from ragviz.core.question import Split
from ragviz.core.question_set import Edit, QuestionSet
from ragviz.core.stopping import Progress, silent
from ragviz.questions.formats import set_formats
from ragviz.questions.formats.input_file import InputFile, Problem, from_bytes
from ragviz.questions.formats.known import Known
from ragviz.questions.formats.set_formats import AUTO, Outgoing, Written
from ragviz.store.transactions import plain_name
from ragviz.text.counts import counted
from ragviz.workspace import Workspace

KEPT_PROBLEMS = "import"
"""Kind of cache that holds the problems of an import, which may be as many as its rows."""
NEVER_EXPORTED = "Versions of the set are not in the file."
"""What every export says."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What an import did: how many questions and new documents were stored, from which format.

    `problems` counts the rows that were left out, `repaired` those imported otherwise than they say. `key` finds the
    sentences on all of them (`problems_of`). `reference_only` counts the questions whose evidence is not known.
    """

    questions: str
    format: str
    imported: int
    documents: int
    problems: int
    repaired: int
    reference_only: int
    key: str
    notes: tuple[str, ...] = field(default=())


def import_files(
    workspace: Workspace,
    corpus: Corpus,
    files: Sequence[InputFile],
    name: str,
    file_format: str = AUTO,
    judgements: str = "",
    progress: Progress = silent,
) -> Outcome:
    """Import a question set, with the documents that its format brings, into the set `name` of a corpus.

    Everything is read before anything is stored, and stored in one transaction: an import that fails, is cancelled or
    killed leaves nothing. Rows that cannot be read are left out, and told. Nothing is stored when no row can be read.

    Raises:
        InputError: the files as a whole cannot be read, or hold no question.
        UsageError: no such format; the name belongs to a set of another corpus, or is blank.

    """
    existing = workspace.store.sets.find(name)
    if existing is not None and existing.corpus_id != corpus.id:
        raise UsageError(f"Question set '{existing.name}' belongs to another corpus: choose another name.")
    if not plain_name(name):
        raise UsageError("Give the question set a name.")
    name = existing.name if existing is not None else plain_name(name)
    found = set_formats.recognised(files) if file_format == AUTO else file_format
    progress(0, None, "rows", "Opening the files")
    read = set_formats.reader(found)(files, Known(workspace.store, corpus.id), judgements, progress)
    notes, stored = list(read.notes), 0
    if read.questions:
        total = len(read.documents) + len(read.questions)
        progress(0, total, "rows", f"Storing {counted(total, 'row')}")
        split = Split("imported") if read.has_sides and (existing is None or existing.split is None) else None
        edit = Edit(workspace.person.name, f"imported from {set_formats.FORMATS[found].title}")
        stored = workspace.store.questions.put_import(
            corpus.id, name, read.documents, read.questions, split, edit, progress
        )
        workspace.store.evidence.settle_all()  # a document may have been replaced since it was read
        sides = {q.id: q.split for q in workspace.store.questions.all(workspace.store.sets.get(name).id)}
        has_others = any(question.split and question.split != sides.get(question.id) for question in read.questions)
        if read.has_sides and split is None and has_others:
            notes.append(
                f"The sides of the split were not kept: '{name}' has a split already. New questions are on neither "
                "side until it is made again."
            )
    left_out = [problem for problem in read.problems if not problem.kept]
    return Outcome(
        questions=name,
        format=found,
        imported=len(read.questions),
        documents=stored,
        problems=len(left_out),
        repaired=len(read.problems) - len(left_out),
        reference_only=sum(question.kind == "reference" for question in read.questions),
        key=_kept(workspace, read.problems),
        notes=tuple(notes),
    )


def import_data(workspace: Workspace, corpus: Corpus, data: bytes, file_name: str, name: str) -> Outcome:
    """Import a question set from the bytes of one file of any format; raises as `import_files`."""
    return import_files(workspace, corpus, from_bytes(file_name, data), name)


@contextmanager
def corpus_for(workspace: Workspace, name: str, files: Sequence[InputFile], file_format: str) -> Iterator[Corpus]:
    """Yield the corpus of this name, created when the files bring documents; deleted again if nothing was stored.

    Raises:
        NotFoundError: there is no such corpus, and the files bring no documents.
        InputError: as `registry.recognised`.

    """
    found = workspace.store.corpora.find(name)
    if found is not None:
        yield found
        return
    format_of = set_formats.FORMATS[set_formats.recognised(files) if file_format == AUTO else file_format]
    if not format_of.brings_documents:
        raise NotFoundError(
            f"There is no corpus '{name}': add its documents first, with `ragviz corpus add`. '{files[0].name}' is "
            f"read as {format_of.title}, which brings none."
        )
    with ensured(workspace, name) as created:
        yield created


@contextmanager
def ensured(workspace: Workspace, name: str) -> Iterator[Corpus]:
    """Yield the corpus of this name, created where there is none; deleted again if nothing was stored in it."""
    corpora = workspace.store.corpora
    is_new, corpus = corpora.find(name) is None, corpora.ensure(name)
    try:
        yield corpus
    finally:
        if is_new and not any(corpora.holdings(corpus.id).values()):
            corpora.delete(corpus.id)


def _kept(workspace: Workspace, problems: Sequence[Problem]) -> str:
    """Keep problems, and return the key that finds them; "" without any."""
    if not problems:
        return ""
    body = json.dumps([[p.file, p.row, p.reason, p.kept] for p in problems], ensure_ascii=False)
    data = body.encode("utf-8", "replace")
    key = digest(data, length=64)
    workspace.store.cache(KEPT_PROBLEMS).put_many({key: zlib.compress(data)})
    return key


def problems_of(workspace: Workspace, key: str) -> list[Problem]:
    """Return what was wrong with the rows of an import, by `Outcome.key`."""
    kept = workspace.store.cache(KEPT_PROBLEMS).get_many([key]).get(key) if key else None
    return [Problem(*row) for row in json.loads(zlib.decompress(kept))] if kept else []


def export_set(workspace: Workspace, question_set: QuestionSet, file_format: str) -> Written:
    """Return a question set in a format, with sentences on what it does not hold; UsageError for no such format."""
    write = set_formats.writer(file_format)
    questions = workspace.store.questions.all(question_set.id)
    names = workspace.store.documents.names(question_set.corpus_id)
    known = Known(workspace.store, question_set.corpus_id)
    written = write(Outgoing(questions, known, names), file_format)
    return replace(written, notes=(*written.notes, NEVER_EXPORTED))
