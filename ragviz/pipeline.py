"""Questions, runs and the sample: each resumable, each telling its progress.

Whatever a person does on a page or the command line goes through here, `corpora` and `indexing`; nothing here prints.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from ragviz import __version__, corpora, evaluate, gold, indexing, interchange, sample, synthesize
from ragviz import compare as comparing
from ragviz.errors import UsageError
from ragviz.metrics import METRICS
from ragviz.records import (
    Chunk,
    Corpus,
    IndexConfig,
    IndexInfo,
    Progress,
    Question,
    QuestionSet,
    Retrieved,
    RetrieverName,
    Run,
    RunConfig,
    digest,
    silent,
)
from ragviz.retrieve import Retriever
from ragviz.store import corpus_hash, questions_hash
from ragviz.workspace import Workspace

BATCH = 100
"""Questions that are retrieved and written down together."""
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


def run(workspace: Workspace, name: str, config: RunConfig, *, progress: Progress = silent) -> Run:
    """Retrieve for every question that is not rejected, to `config.depth`, and keep the rankings under `name`.

    A run of this name that was stopped goes on when it would do the same; what it has is not asked again.

    Raises:
        UsageError: the name is taken by another run, index and questions are of different corpora, nothing to ask.

    """
    store = workspace.store
    index, asked = store.index(config.index), store.question_set(config.questions)
    config = replace(config, index=index.id, questions=asked.id)
    check_run(config)
    if index.corpus_id != asked.corpus_id:
        raise UsageError(f"Index '{index.name}' and question set '{asked.name}' are of different corpora.")
    questions = [q for q in store.questions(asked.id) if q.status != "rejected"]
    if not questions:
        raise UsageError(f"Question set '{asked.name}' has no question that is not rejected: generate or import some.")
    search_all = indexing.retriever(workspace, index, config.retriever, config.rrf_constant)
    current = _run_row(workspace, name, config, index, asked, questions)
    _retrieve(workspace, current, index, questions, search_all, progress)
    store.finish_run(current.id, "done")
    return store.run(current.id)


def check_run(config: RunConfig) -> None:
    """Raise UsageError for a k or depth that cannot be used."""
    if not 1 <= config.k <= config.depth:
        raise UsageError(f"k must be from 1 to the depth, {config.depth}: {config.k} is not.")
    if config.depth > 1000:
        raise UsageError(f"Depth may be at most 1,000: {config.depth} is more.")


def _run_row(
    workspace: Workspace,
    name: str,
    config: RunConfig,
    index: IndexInfo,
    asked: QuestionSet,
    questions: Sequence[Question],
) -> Run:
    """Return the run to go on with, or a new one."""
    provenance = _provenance(workspace, config, index, asked, questions)
    fingerprint = digest(*(f"{key}={value}" for key, value in sorted(provenance["identity"].items())))
    for there in workspace.store.runs():
        if there.name != name:
            continue
        if there.fingerprint != fingerprint or there.status == "done":
            raise UsageError(f"There is already a run called '{name}': choose another name, or delete it first.")
        workspace.store.finish_run(there.id, "running")
        return there
    return workspace.store.create_run(name, index.corpus_id, config, fingerprint, provenance)


def _provenance(
    workspace: Workspace,
    config: RunConfig,
    index: IndexInfo,
    asked: QuestionSet,
    questions: Sequence[Question],
) -> dict[str, Any]:
    """Names for people; and `identity`, which makes the fingerprint: equal where two runs must rank alike."""
    documents = [d for d in workspace.store.documents(index.corpus_id, replaced=True) if d.id in set(index.documents)]
    identity = {
        "corpus": corpus_hash(documents),
        "questions": questions_hash(questions),
        "index": index.config.hash(),
        "embedder": index.embedder_identity,
        **{key: str(value) for key, value in asdict(config).items() if key not in ("index", "questions")},
        "metrics": digest(*(f"{key}:{metric.version}" for key, metric in sorted(METRICS.items()))),
    }
    names = {"index": index.name, "questions": asked.name, "ragviz": __version__, "n": len(questions)}
    return {"identity": identity, "index_config": asdict(index.config), **names}


def _retrieve(
    workspace: Workspace,
    current: Run,
    index: IndexInfo,
    questions: Sequence[Question],
    search_all: Retriever,
    progress: Progress,
) -> None:
    store, depth = workspace.store, current.config.depth
    answered = store.answered(current.id)
    waiting = [(place, q) for place, q in enumerate(questions) if q.id not in answered]
    progress(len(answered), len(questions), "questions", "Retrieving")
    for start in range(0, len(waiting), BATCH):
        batch = waiting[start : start + BATCH]
        rankings = search_all([q.text for _, q in batch], depth)
        golds = gold_of(workspace, index, [q for _, q in batch])
        results = [
            (place, question, Retrieved(question.id, ranking, golden))
            for (place, question), ranking, golden in zip(batch, rankings, golds, strict=True)
        ]
        store.put_results(current.id, results)
        progress(len(answered) + start + len(batch), len(questions), "questions", "Retrieving")


def gold_of(workspace: Workspace, index: IndexInfo, questions: Sequence[Question]) -> list[tuple[tuple[str, ...], ...]]:
    """Gold chunks of each group of evidence of each question, in this index."""
    documents = {s.document_id for q in questions for group in q.evidence for s in group}
    cuts = workspace.store.cuts(index.build, sorted(documents))
    spans = {
        d: [
            (chunk_id, start, end)
            for chunk_id, (start, end, _) in zip(indexing.chunk_ids(d, c), c.tolist(), strict=True)
        ]
        for d, c in cuts.items()
    }
    return [gold.gold_chunks(q.evidence, lambda d: spans.get(d, [])) for q in questions]


def summary_of(workspace: Workspace, current: Run, k: int | None = None) -> evaluate.Summary:
    """Measure a run at `k` (default: its own)."""
    store, config = workspace.store, current.config
    results, questions = store.results(current.id), store.asked(current.id)
    return evaluate.summarise(results, questions, k or config.k, config.depth, seed=config.seed)


def export_run(workspace: Workspace, current: Run) -> dict[str, bytes]:
    """Write a run as the classic three CSV files, by file name."""
    store = workspace.store
    results, questions = store.results(current.id), store.asked(current.id)
    shown = {hit.chunk_id: hit for r in results for hit in r.ranking.hits()[: current.config.k]}
    hits = indexing.found(workspace, current.corpus_id, list(shown.values()))
    names = {d.id: d.name for d in store.documents(current.corpus_id, replaced=True)}
    chunks = {f.chunk.id: f.chunk for f in hits if f.chunk is not None}
    return interchange.classic_csvs(summary_of(workspace, current), questions, results, chunks, names)


def compare_runs(workspace: Workspace, runs: Sequence[Run], k: int | None = None) -> comparing.Comparison:
    """Compare runs, paired by question, with the first of them.

    Raises:
        UsageError: fewer than two runs, runs of different corpora, or none of their questions in common.

    """
    store = workspace.store
    sides = [_side(workspace, current) for current in runs]
    evidence = {q.id: q.evidence for current in runs for q in store.asked(current.id)}
    return comparing.compare(sides, k=k, evidence=evidence)


def _side(workspace: Workspace, current: Run) -> comparing.RunSide:
    choices = {key: value for key, value in asdict(current.config).items() if key not in ("index", "questions")}
    index = {"index": {"name": current.provenance["index"], **current.provenance["index_config"]}}
    parts = {key: current.provenance["identity"][key] for key in ("corpus", "questions", "metrics")}
    return comparing.RunSide(current.name, choices | index, parts, workspace.store.results(current.id))


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
            run(workspace, name, RunConfig(index, SAMPLE_QUESTIONS, retriever), progress=progress)
    names = {"indexes": list(SAMPLE_INDEXES), "runs": list(SAMPLE_RUNS)}
    return {"corpus": corpus.name, "questions": SAMPLE_QUESTIONS, **names}
