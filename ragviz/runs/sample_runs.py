"""The sample: its corpus, questions, indexes and runs, made without asking a model."""

from __future__ import annotations

from collections.abc import Mapping

from ragviz import sample
from ragviz.core.configuration import IndexConfig, RetrieverName, Run, RunConfig
from ragviz.core.digests import digest
from ragviz.core.document import Corpus
from ragviz.core.question import Question
from ragviz.core.stopping import Progress, silent
from ragviz.documents import corpora
from ragviz.index import indexing
from ragviz.judging import pool
from ragviz.metrics.answers import ANSWER_METRICS
from ragviz.questions import exchange, sets
from ragviz.retrieval import search
from ragviz.runs import replays, running, searched_again
from ragviz.targets import hand_made
from ragviz.workspace import Workspace

SAMPLE_QUESTIONS = "sample-questions"
SAMPLE_INDEXES = {
    "sample-tokens-200": IndexConfig(),
    "sample-recursive-120": IndexConfig(chunker="recursive", chunk_size=120),
}
*RETRIEVED, ANSWERED = sample.RUNS
SAMPLE_RUNS: dict[str, tuple[str, RetrieverName]] = dict(
    zip(RETRIEVED, (("sample-tokens-200", "knn"), ("sample-recursive-120", "hybrid")), strict=True)
)
NOT_WRITTEN = frozenset(("answer_relevancy", "completeness_direct", "conciseness_direct", "embedding_faithfulness"))
"""Metrics that the answered run lacks: three need what nobody wrote (questions made of the answer, ratings from 0 to
1), and the last needs all sentences of the contexts embedded, which takes longer than the rest of the sample."""
ANSWERED_CONFIG = RunConfig(
    "sample-tokens-200",
    SAMPLE_QUESTIONS,
    "hybrid",
    k=5,
    answerer="model",
    model=hand_made.NAME,
    context_tokens=800,  # less than five chunks of 200 tokens, so that some evidence is truncated from the context
    metrics=tuple(name for name in ANSWER_METRICS if name not in NOT_WRITTEN),
    judge=hand_made.NAME,
)
JUDGED = 10
"""Chunks of a ranking on which verdicts are kept for all runs."""


def load_corpus(workspace: Workspace, *, progress: Progress = silent) -> Corpus:
    """Return the sample's corpus, with its questions split into validation and test and its two indexes.

    What is there already is kept, a split that a person made included. The split is stratified: the questions join
    the documents to one cluster, so that whole documents cannot be set apart.
    """
    store = workspace.store
    corpus = store.corpora.ensure(sample.NAME)
    documents = sample.documents()
    for number, (name, data) in enumerate(documents):
        progress(number, len(documents), "files", f"Reading {name}")
        corpora.add_file(workspace, corpus, name, data)
    if SAMPLE_QUESTIONS not in {question_set.name for question_set in store.sets.all(corpus.id)}:
        exchange.import_data(workspace, corpus, sample.questions(), "questions.jsonl", SAMPLE_QUESTIONS)
    question_set = store.sets.get(SAMPLE_QUESTIONS)
    if question_set.split is None:
        sets.split(workspace, question_set, "stratified")
    for name, config in SAMPLE_INDEXES.items():
        indexing.build_index(workspace, corpus, name, config, progress=progress)
    return corpus


def make_runs(workspace: Workspace, corpus: Corpus, *, progress: Progress = silent) -> list[str]:
    """Make the sample's three runs that are not done, and return their names.

    Two retrieve only; the third holds answers and verdicts that were written by hand. What would rescue their lost
    questions is replayed by searching what is there, and so are both rankings that a run fuses; what has to be
    embedded first is left to a person.
    """
    store = workspace.store
    done = {current.name for current in store.runs.all(corpus.id) if current.status == "done"}
    for name, (index, retriever) in SAMPLE_RUNS.items():
        if name not in done:
            running.run(workspace, name, RunConfig(index, SAMPLE_QUESTIONS, retriever), progress=progress)
    if ANSWERED not in done:
        running.run(workspace, ANSWERED, ANSWERED_CONFIG, target_name=hand_made.NAME, progress=progress)
    for name in sample.RUNS:
        run = store.runs.get(name)
        judge_chunks(workspace, run)
        replays.replay(workspace, run, progress=progress)
        if not searched_again.refusal(workspace, run):
            searched_again.search_again(workspace, run, progress=progress)
    return list(sample.RUNS)


def judge_chunks(workspace: Workspace, current: Run) -> None:
    """Keep what was written of the first chunks of a run's rankings, as a judge's verdicts on them are kept."""
    store = workspace.store
    pairs = zip(store.rankings.questions(current.id), store.rankings.all(current.id), strict=True)
    asked = [(q, result.ranking.hits()[:JUDGED]) for q, result in pairs if hand_made.is_written(q) and q.answer]
    hits = {hit.chunk_id: hit for _, first in asked for hit in first}
    found = search.with_chunks(workspace, current.corpus_id, [*hits.values()])
    texts = {each.chunk.id: each.chunk.text for each in found if each.chunk}
    new: dict[tuple[str, str], str] = {}
    for question, first in asked:
        new |= _judged(question, {hit.chunk_id: texts[hit.chunk_id] for hit in first if hit.chunk_id in texts})
    store.pool.add(digest("context", hand_made.NAME, length=32), new)


def _judged(question: Question, passages: Mapping[str, str]) -> dict[tuple[str, str], str]:
    writing, texts = hand_made.written()[question.text], list(passages.values())
    words, claims = (question.text, question.answer), [claim.claim for claim in writing.reference]
    known = pool.known(pool.Memory(), ("", hand_made.NAME), words, ((), claims), passages, frozenset(passages))
    useful = {place: hand_made.is_useful(writing, text) for place, text in enumerate(texts)}
    new: dict[tuple[str, str], str] = {}
    for k in range(1, len(texts) + 1):  # each set of the first k, for what follows from several chunks together
        rows = {number: hand_made.on_claim(claim, texts[:k]) for number, claim in enumerate(writing.reference)}
        new |= known.learn(pool.Asked(tuple(range(len(claims))), tuple(range(k))), rows, useful, ())
    return new
