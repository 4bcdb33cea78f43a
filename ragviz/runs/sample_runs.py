"""The sample: its corpus, questions, indexes and runs, made without asking a model."""

from __future__ import annotations

from ragviz import sample
from ragviz.core.configuration import IndexConfig, RetrieverName, RunConfig
from ragviz.core.document import Corpus
from ragviz.core.progress import Progress, silent
from ragviz.documents import corpora
from ragviz.index import indexing
from ragviz.questions import exchange, sets
from ragviz.runs import hand_made, replays, running, searched_again
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
ANSWERED_INDEX = "sample-tokens-200"


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
        answered_index, question_set = store.indexes.get(ANSWERED_INDEX), store.sets.get(SAMPLE_QUESTIONS)
        hand_made.make(workspace, ANSWERED, answered_index, question_set, progress)
    for name in sample.RUNS:
        run = store.runs.get(name)
        hand_made.judge_chunks(workspace, run)
        replays.replay(workspace, run, progress=progress)
        if not searched_again.refusal(workspace, run, "components"):
            searched_again.search_again(workspace, run, "components", progress=progress)
    return list(sample.RUNS)
