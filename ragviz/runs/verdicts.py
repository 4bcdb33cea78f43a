"""Pooled verdicts on the chunks of a run's questions, whichever run they were given for."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from typing import Any

from ragviz.analysis import pooled
from ragviz.analysis.evaluate import document_clusters
from ragviz.core.question import Question
from ragviz.core.ranking import Retrieved
from ragviz.core.run_info import Run
from ragviz.judging import pool
from ragviz.runs import measurements
from ragviz.workspace import Workspace


def pooled_of(
    workspace: Workspace,
    current: Run,
    k: int | None = None,
    *,
    retrieved: Sequence[tuple[Question, Retrieved]] | None = None,
) -> pooled.Pooled | None:
    """Return what pooled verdicts tell of a run at `k` (default: its own); None where there are none, or no ranking.

    The run's questions and results are read unless `retrieved` holds them.
    """
    if measurements.unranked_words(current):
        return None
    retrieved = measurements.pairs_of(workspace, current) if retrieved is None else retrieved
    judge, verdicts = of_questions(workspace, current, [question for question, _ in retrieved])
    if not verdicts:
        return None
    clusters = document_clusters([question for question, _ in retrieved])
    results, seed = [result for _, result in retrieved], current.config.seed
    return pooled.measure(results, verdicts, k or current.config.k, judge, clusters=clusters, seed=seed)


def of_questions(
    workspace: Workspace, current: Run, questions: Sequence[Question]
) -> tuple[str, dict[str, pooled.Verdicts]]:
    """Return the judge whose verdicts count for a run, and these on every question with a reference, by its id.

    That is the run's own judge, by the edition and prompt with most verdicts; for a run without one, that which gave
    most. There are none where nobody judged.
    """
    answered = [question for question in questions if question.answer.strip()]
    ids: dict[str, list[str]] = {}
    for question in answered:
        ids.setdefault(pool.subject(question.query, question.answer), []).append(question.id)
    sets = {pool.sets_of(q.query, q.answer): pool.subject(q.query, q.answer) for q in answered}
    rows = [(*row[:3], json.loads(row[3])) for row in workspace.store.pool.verdicts([*ids, *sets])]
    names = {judge: body["by"] for _, judge, _, body in rows if "by" in body}
    counts = Counter(judge for _, judge, _, body in rows if body.get("id"))
    own = {judge: count for judge, count in counts.items() if names[judge] == current.config.judge}
    considered = own if current.config.judge else counts
    if not considered:
        return "", {}
    chosen = max(considered, key=lambda judge: (considered[judge], judge))
    bodies: dict[str, list[dict[str, Any]]] = {}
    for subject, judge, _, body in rows:
        if judge == chosen:
            bodies.setdefault(sets.get(subject, subject), []).append(body)
    verdicts = {q.id: pooled.Verdicts(-1) for q in answered}
    return names[chosen], verdicts | {i: _verdicts(own) for subject, own in bodies.items() for i in ids[subject]}


def supporting(workspace: Workspace, current: Run, questions: Sequence[Question]) -> dict[str, dict[str, bool]]:
    """Return whether chunks support the whole reference, by question id and chunk id; those that nobody judged lack."""
    _, judged = of_questions(workspace, current, questions)
    return {i: {chunk: chunk in each.supporting for chunk in each.chunks} for i, each in judged.items()}


def _verdicts(bodies: Sequence[dict[str, Any]]) -> pooled.Verdicts:
    """Return the verdicts on one question's chunks, on the claims that most of them are about."""
    claims, _ = Counter(body["claims"] for body in bodies if "useful" in body).most_common(1)[0]
    same = [body for body in bodies if body["claims"] == claims]
    chunks, count = dict[str, pooled.Judged](), 0
    for body in same:
        if "useful" in body:
            row = pool.read_row(body)
            count = len(row)
            supports = frozenset(n for n, each in enumerate(row) if each.verdict == "supported")
            if body["id"]:
                chunks[body["id"]] = pooled.Judged(body["useful"], supports)
    return pooled.Verdicts(count, chunks, tuple(_set(body) for body in same if "numbers" in body))


def _set(body: dict[str, Any]) -> pooled.AskedSet:
    told, ids = pool.read_set(body), body["ids"]
    found = {n: frozenset(ids.get(key, key) for key in needed) for n, needed in told.found.items()}
    return pooled.AskedSet(frozenset(ids.get(key, key) for key in told.chunks), told.numbers, found)
