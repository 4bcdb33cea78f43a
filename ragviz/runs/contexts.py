"""Gold chunks of a run's questions, and the recordings that are answered and judged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from ragviz.core.configuration import IndexInfo, Run, RunConfig
from ragviz.core.document import Chunk
from ragviz.core.question import Question
from ragviz.core.ranking import Retrieved
from ragviz.core.recording import Context, Recording
from ragviz.core.verdict import EvaluatedAnswer, Matrix
from ragviz.index import chunking, indexing
from ragviz.judging import planning
from ragviz.metrics import rank_metrics
from ragviz.metrics.rank_metrics import Floats, Ints, Rankings
from ragviz.retrieval import gold
from ragviz.store.schema import Cuts
from ragviz.targets import fitting
from ragviz.targets.target import Target
from ragviz.workspace import Workspace


def gold_of(
    workspace: Workspace, index: IndexInfo, questions: Sequence[Question], cuts: Mapping[str, Cuts] | None = None
) -> list[tuple[tuple[tuple[str, ...], ...], dict[str, float]]]:
    """Return each question's gold chunks in this index, by group of evidence, and their grades other than 1.

    `cuts` are those of the index, by document id, which the store has for every index that has a row.
    """
    documents = {s.document_id for q in questions for s in q.spans}
    cuts = workspace.store.indexes.cuts(index.build, sorted(documents)) if cuts is None else cuts
    spans = {
        d: [
            (chunk_id, start, end)
            for chunk_id, (start, end, _) in zip(indexing.chunk_ids(d, c), c.tolist(), strict=True)
        ]
        for d, c in cuts.items()
        if d in documents
    }

    def cuts_of(document_id: str) -> Sequence[gold.Cut]:
        return spans.get(document_id, [])

    return [(gold.gold_chunks(q.evidence, cuts_of), gold.grades(q.evidence, cuts_of)) for q in questions]


def sizes_of(workspace: Workspace, index: IndexInfo, cuts: Mapping[str, Cuts] | None = None) -> dict[str, int]:
    """Return the tokens of every chunk of an index as it is now, by chunk id; `cuts` as for `gold_of`."""
    return {
        chunk_id: tokens
        for document_id, rows in (
            workspace.store.indexes.cuts(index.build, index.documents) if cuts is None else cuts
        ).items()
        for chunk_id, tokens in zip(indexing.chunk_ids(document_id, rows), rows[:, 2].tolist(), strict=True)
    }


def tokens_read(rankings: Rankings, sizes: Mapping[str, int], ranks: Ints) -> tuple[Floats | None, Ints | None]:
    """Return the tokens of the first k chunks on average, (depth,), and those down to `ranks`, (n,), 0 for a rank of 0.

    An answerer with a smaller budget does not read all of them. None without a question, and where sizes are not known.
    """
    down = rank_metrics.tokens(rankings, sizes)
    if down is None or not len(down):
        return None, None
    return down.mean(axis=0), np.where(ranks > 0, down[np.arange(len(down)), ranks - 1], 0)


def tokens_given(
    rankings: Rankings, results: Sequence[Retrieved], sizes: Mapping[str, int], current: Run
) -> Floats | None:
    """Return the tokens that a run's answerer is given at every k, on average, (depth,), at most its budget.

    Of gold chunks they are the same at every k, without a context 0, in a run without answers those of the first k
    chunks. None as `tokens_read` has it.
    """
    config, knows = current.config, current.knows
    if not knows.answers or knows.first_k:
        down = rank_metrics.tokens(rankings, sizes)
        if down is None or not len(down):
            return None
        return np.asarray((np.minimum(down, config.context_tokens) if knows.answers else down).mean(axis=0))
    if not knows.gold_read:
        return np.zeros(config.depth)
    gold_ids = [{i for group in result.gold for i in group} for result in results if result.gold]
    if not gold_ids or any(i not in sizes for ids in gold_ids for i in ids):
        return None
    given = [min(sum(sizes[i] for i in ids), config.context_tokens) for ids in gold_ids]
    return np.full(config.depth, sum(given) / len(given))


def to_answer(
    workspace: Workspace,
    corpus_id: str,
    config: RunConfig,
    target: Target,
    retrieved: Sequence[tuple[Question, Retrieved]],
) -> list[planning.Item]:
    """Return each question with a recording of what the target hands over, to be answered.

    It holds what fits the budget of tokens; of a run without answers, the first k chunks.
    """
    assert target.hands_over is not None
    handed_over = [(question, target.hands_over(result, config.k)) for question, result in retrieved]
    texts = _contexts(workspace, config.index, corpus_id, sorted({i for _, ids in handed_over for i in ids}))
    items = []
    for question, ids in handed_over:
        read, cut = tuple(texts[i] for i in ids if i in texts), tuple[str, ...]()
        if config.knows.answers:
            read, cut = fitting.fitted(read, config.context_tokens)
        items.append(planning.Item(question, Recording(question.id, read, cut=cut, origin=config.answerer)))
    return items


def to_judge(workspace: Workspace, current: Run, evaluated: Sequence[EvaluatedAnswer]) -> list[planning.Item]:
    """Return what was recorded elsewhere with its texts and the verdicts that came with it, to be judged."""
    ids = sorted({i for each in evaluated for i in each.recording.read})
    texts = _contexts(workspace, current.config.index, current.corpus_id, ids)
    items = []
    for each in evaluated:
        read = tuple(
            replace(context, text=context.text or texts[context.chunk_id].text, tokens=texts[context.chunk_id].tokens)
            for context in each.recording.contexts
            if context.chunk_id in texts
        )
        recording = replace(each.recording, contexts=read)
        matrix = each.matrix if "claims" in each.given or not each.calls else Matrix(recording.read)
        items.append(planning.Item(each.question, recording, replace(each, recording=recording, matrix=matrix)))
    return items


def _contexts(workspace: Workspace, index_id: str, corpus_id: str, ids: Sequence[str]) -> dict[str, Context]:
    """Return chunks by id, with their tokens where the index still has them; not those of deleted documents."""
    store = workspace.store
    places: dict[str, list[tuple[int, int]]] = {}
    for document_id, start, end in filter(None, map(Chunk.parse_id, ids)):
        places.setdefault(document_id, []).append((start, end))
    build = next((info.build for info in store.indexes.all(corpus_id) if info.id == index_id), "")
    cuts = store.indexes.cuts(build, list(places))
    tokens = {(d, start, end): size for d, rows in cuts.items() for start, end, size in rows.tolist()}
    return {
        (chunk := chunking.cut_out(document, start, end, tokens.get((document.id, start, end), 0))).id: Context.of(
            chunk
        )
        for document in store.documents.texts(corpus_id, list(places))
        for start, end in places[document.id]
    }
