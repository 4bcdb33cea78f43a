"""Question sets and the sample: each resumable, each telling its progress.

Whatever a person does on a page or the command line goes through here, `corpora`, `indexing` and `running`;
nothing here prints.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ragviz import corpora, indexing, interchange, judging, running, sample, synthesize
from ragviz.errors import UsageError
from ragviz.metrics import questeval
from ragviz.records import (
    Chunk,
    Corpus,
    IndexConfig,
    IndexInfo,
    Progress,
    Question,
    QuestionSet,
    RetrieverName,
    RunConfig,
    silent,
)
from ragviz.workspace import Workspace

NEIGHBOURS = 20
"""How far to look for chunks that are related to one."""

SAMPLE_QUESTIONS = "sample-questions"
SAMPLE_INDEXES = {
    "sample-tokens-200": IndexConfig(),
    "sample-recursive-120": IndexConfig(chunker="recursive", chunk_size=120),
}
SAMPLE_RUNS: dict[str, tuple[str, RetrieverName]] = {
    "sample-knn": ("sample-tokens-200", "knn"),
    "sample-hybrid": ("sample-recursive-120", "hybrid"),
}


@dataclass(frozen=True, slots=True)
class Generated:
    """What a generation made: questions in the set now, proposed and rejected ones of this generation."""

    questions: str
    total: int
    proposed: int
    rejected: int
    rejections: Mapping[str, int]


def generate_questions(
    workspace: Workspace,
    index: str,
    name: str,
    *,
    limit: int = 50,
    generator: str = "extractive",
    passages: int = 1,
    seed: int = 0,
    progress: Progress = silent,
) -> Generated:
    """Make questions from the chunks of an index, sampled evenly over its documents, until `limit` of them can stand.

    They go into the set `name`, the rejected ones too, with their reasons. What this generator made of the same chunks
    with the same `seed` counts and is not made again: a stopped generation goes on, a greater limit adds to it, and
    another seed takes other chunks. With `passages` above 1 each question needs so many related chunks.

    Raises:
        UsageError: the index is not built, no such generator, no model configured, a limit or passages below 1.

    """
    if limit < 1 or not 1 <= passages <= 5:
        raise UsageError(f"Give a limit of 1 or more and 1 to 5 passages, not {limit} and {passages}.")
    info = workspace.store.index(index)
    indexing.check_ready(info)
    client = workspace.model if generator == "model" else None
    asked = question_set(workspace, workspace.store.corpus(info.corpus_id), name)
    there = {q.id: q for q in workspace.store.questions(asked.id)}
    made: list[Question] = []
    standing = sum(_same_making(q, client.model if client else generator, passages, seed) for q in there.values())
    groups = _groups(workspace, info, passages, seed, synthesize.USABLE.get(generator, bool))
    texts = [q.text for q in there.values()]
    done = {question_id for question_id, q in there.items() if not q.reason.startswith(synthesize.FAILED)}
    wanted = max(0, limit - standing)
    fresh = synthesize.generate(groups, generator, client=client, seed=seed, limit=wanted, done=done, seen=texts)
    progress(standing, limit, "questions", "Writing questions")
    while standing < limit and (question := next(fresh, None)) is not None:
        workspace.store.put_questions(asked.id, [question])
        made.append(question)
        standing += question.status != "rejected"
        progress(standing, limit, "questions", question.text or "Writing questions")
    rejected = [q.reason for q in made if q.status == "rejected"]
    total = workspace.store.question_set(asked.id).total
    return Generated(asked.name, total, len(made) - len(rejected), len(rejected), dict(Counter(rejected)))


def _same_making(question: Question, maker: str, passages: int, seed: int) -> bool:
    """Whether a question that can stand was made by this maker with this seed, from so many chunks."""
    return (
        question.status != "rejected"
        and len(question.source_chunks) == passages
        and question.id == synthesize.question_id(question.source_chunks, maker, seed)
    )


def _sampled(workspace: Workspace, info: IndexInfo, seed: int) -> list[Chunk]:
    """All chunks of an index in the order in which they are to be asked about."""
    cuts = workspace.store.cuts(info.build, info.documents)
    documents = workspace.store.document_texts(info.corpus_id, list(cuts))
    return synthesize.sample({d.id: indexing.chunks_of(d, cuts[d.id]) for d in documents}, info.chunks, seed)


def _groups(
    workspace: Workspace, info: IndexInfo, passages: int, seed: int, usable: Callable[[Chunk], bool]
) -> Iterator[synthesize.Group]:
    """Groups of `passages` related chunks: each sampled one with its nearest; one that has too few is left out."""
    chunks = _sampled(workspace, info, seed)
    if passages == 1:
        yield from ((chunk,) for chunk in chunks)
        return
    index, embedder = workspace.index(info), workspace.embedder(info.config.embedder)
    by_id = {chunk.id: chunk for chunk in chunks}
    for chunk in chunks:
        [ranking] = index.knn(embedder.embed([chunk.text], "passage"), NEIGHBOURS)
        group = synthesize.related(chunk, [by_id[i] for i in ranking.ids if i in by_id], passages, usable)
        if len(group) == passages:
            yield group


def import_questions(
    workspace: Workspace, corpus: Corpus, data: bytes, file_name: str, name: str
) -> interchange.Imported:
    """Read questions from CSV or JSONL into the set `name`; rows that cannot be read are told, the others are kept.

    Raises:
        InputError: the file as a whole cannot be read; no set is made then, nor when no row can be read.

    """
    infos = [d for d in workspace.store.documents(corpus.id) if d.status == "ok"]
    texts = workspace.store.document_texts(corpus.id, [d.id for d in infos])
    imported = interchange.read_questions(data, file_name, {d.name: d for d in texts})
    if imported.questions:
        asked = question_set(workspace, corpus, name)
        workspace.store.put_questions(asked.id, imported.questions)
    return imported


def import_banks(workspace: Workspace, asked: QuestionSet, data: bytes) -> questeval.ImportedBanks:
    """Keep RAGQuestEval banks for the questions of a set: a judge asks those instead of making its own.

    What cannot be read, and banks whose id is no question's, are told as problems.

    Raises:
        InputError: the data as a whole cannot be read.

    """
    found = questeval.read_banks(data)
    there = {question.id: question for question in workspace.store.questions(asked.id)}
    kept = {question_id: bank for question_id, bank in found.banks.items() if question_id in there}
    items = {judging.imported_bank_key(there[i]): judging.bank_bytes(bank) for i, bank in kept.items()}
    workspace.store.cache("bank").put_many(items)
    workspace.store.touch(asked.id)  # what a run of these questions would ask is another now
    strangers = tuple(f"No question of '{asked.name}' has the id '{i}'." for i in found.banks if i not in kept)
    return questeval.ImportedBanks(kept, found.problems + strangers)


def export_questions(workspace: Workspace, asked: QuestionSet, file_format: str) -> bytes:
    """Write a question set as "csv" or "jsonl", so that importing it gives the same questions."""
    names = {d.id: d.name for d in workspace.store.documents(asked.corpus_id, replaced=True)}
    return interchange.write_questions(workspace.store.questions(asked.id), names, file_format)


def question_set(workspace: Workspace, corpus: Corpus, name: str) -> QuestionSet:
    """Return the set called `name` of a corpus, made when there is none."""
    for questions in workspace.store.question_sets():
        if questions.name == name and questions.corpus_id != corpus.id:
            raise UsageError(f"Question set '{name}' belongs to another corpus: choose another name.")
        if questions.name == name:
            return questions
    return workspace.store.create_question_set(corpus.id, name)


# The sample


def load_sample(workspace: Workspace, *, progress: Progress = silent) -> dict[str, Any]:
    """Load the sample corpus and its questions, build two indexes and make two runs; what is there is kept.

    Returns the names: {"corpus", "questions", "indexes", "runs"}.
    """
    store = workspace.store
    there = {corpus.name: corpus for corpus in store.corpora()}
    corpus = there.get(sample.NAME) or store.create_corpus(sample.NAME)
    documents = sample.documents()
    for number, (name, data) in enumerate(documents):
        progress(number, len(documents), "files", f"Reading {name}")
        corpora.add_file(workspace, corpus, name, data)
    if SAMPLE_QUESTIONS not in {asked.name for asked in store.question_sets(corpus.id)}:
        import_questions(workspace, corpus, sample.questions(), "questions.jsonl", SAMPLE_QUESTIONS)
    for name, config in SAMPLE_INDEXES.items():
        indexing.build_index(workspace, corpus, name, config, progress=progress)
    done = {current.name for current in store.runs(corpus.id) if current.status == "done"}
    for name, (index, retriever) in SAMPLE_RUNS.items():
        if name not in done:
            running.run(workspace, name, RunConfig(index, SAMPLE_QUESTIONS, retriever), progress=progress)
    names = {"indexes": list(SAMPLE_INDEXES), "runs": list(SAMPLE_RUNS)}
    return {"corpus": corpus.name, "questions": SAMPLE_QUESTIONS, **names}
