"""What a run measured, read from the store: rankings, scores, means."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any

from ragviz.analysis import evaluate, pooled
from ragviz.analysis.evaluate import document_clusters
from ragviz.core.configuration import Run
from ragviz.core.errors import UsageError
from ragviz.core.question import Question
from ragviz.core.question_set import QuestionSet
from ragviz.core.ranking import Retrieved
from ragviz.core.score import Score
from ragviz.judging import pool
from ragviz.metrics.answers import ANSWER_METRICS
from ragviz.text.counts import counted
from ragviz.workspace import Workspace


def summary_of(
    workspace: Workspace,
    current: Run,
    k: int | None = None,
    *,
    curves: bool = True,
    retrieved: Sequence[tuple[Question, Retrieved]] | None = None,
) -> evaluate.Summary:
    """Measure a run at `k` (default: its own), and with `curves` at every k up to its depth.

    Its questions and results are read unless `retrieved` holds them.

    Raises:
        UsageError: `k` is not from 1 to the run's depth.

    """
    config = current.config
    if k is not None and not 1 <= k <= config.depth:
        raise UsageError(f"k must be from 1 to the depth of run '{current.name}', {config.depth}: {k} is not.")
    if unranked_words(current):
        nothing = evaluate.summarise([], [], k or config.k, config.depth, seed=config.seed)
        return replace(nothing, metrics={})
    pairs = pairs_of(workspace, current) if retrieved is None else retrieved
    questions, results = [question for question, _ in pairs], [result for _, result in pairs]
    return evaluate.summarise(results, questions, k or config.k, config.depth, seed=config.seed, curves=curves)


def scores_of(
    workspace: Workspace, current: Run, *, metrics: Collection[str] | None = None, question_id: str | None = None
) -> dict[str, dict[str, Score]]:
    """Return the scores of a run's answers (by some metrics, of one question) by metric and question id."""
    stored = workspace.store.judgements.scores(current.id, metrics=metrics, question_id=question_id)
    return {name: stored[name] for name in ANSWER_METRICS if name in stored}


def unranked_words(current: Run) -> str:
    """Say why a run's rankings cannot be measured; "" when they can."""
    if current.knows.ranking:
        return ""
    places = current.provenance.get("contexts", {})  # "" is of contexts that no document was there to hold
    if any(count for how, count in places.items() if how not in ("", "not", "share")):
        found = f"ragviz questions find-evidence '{current.provenance['questions']}'"
        return f"Ranks of the evidence are not known: where the answers stand in the documents is not. Find it: {found}"
    return (
        "Ranks of the evidence, recall and MRR are not known of this run: they take its documents, and where in them "
        "the answers stand."
    )


def results_of(workspace: Workspace, current: Run, question_ids: Sequence[str] | None = None) -> list[Retrieved]:
    """Return the rankings of a run, or of some of its questions; gold chunks of an imported run are not known."""
    results = workspace.store.rankings.all(current.id, question_ids)
    return [replace(result, gold=(), grades={}) for result in results] if unranked_words(current) else results


def pairs_of(workspace: Workspace, current: Run) -> list[tuple[Question, Retrieved]]:
    """Return the questions of a run, each with what was retrieved for it: of a run that goes on, those that have it."""
    results = {result.question_id: result for result in results_of(workspace, current)}
    asked = workspace.store.rankings.questions(current.id)
    return [(each, results[each.id]) for each in asked if each.id in results]


def asked_words(current: Run) -> str:
    """Return how many questions a run asks, and of which side of the split: "validation: 50 of 100 questions"."""
    count, split, of = current.provenance["n"], current.provenance.get("split"), current.provenance.get("of")
    if not split and not of:
        return f"{count:,} question{'' if count == 1 else 's'}"
    side, whole = (f"{split['side']}: ", split["of"]) if split else ("", 0)
    return f"{side}{count:,} of {of or whole:,} questions{', drawn by document' if of else ''}"


def version_of(current: Run) -> int | None:
    """Return the version of its question set that a run asked; None where it was made before there were versions."""
    number = current.provenance.get("questions_version")
    return number if isinstance(number, int) else None


def version_words(current: Run) -> str:
    """Return the name of a run's question set, with the version that the run asked: "asked, version 2"."""
    name, version = current.provenance["questions"], version_of(current)
    return f"{name}, version {version}" if version else str(name)


def runs_by_version(workspace: Workspace, question_set: QuestionSet) -> dict[int, list[str]]:
    """Return the names of the runs that asked each version of a set, the newest first."""
    runs: dict[int, list[str]] = {}
    for run in workspace.store.runs.all(question_set.corpus_id):
        if run.config.questions == question_set.id and (number := version_of(run)) is not None:
            runs.setdefault(number, []).append(run.name)
    return runs


def names_words(names: Sequence[str]) -> str:
    """Return names of runs, which may have commas of their own: “one”, “one, again”."""
    return ", ".join(f"“{name}”" for name in names)


def chosen_words(current: Run) -> str:
    """Say that a run's configuration was chosen on the questions that it is measured on; "" where it was not.

    An experiment notes that of the run of the cell that it chose.
    """
    if not (experiment := current.provenance.get("chosen_by")):
        return ""
    return (
        f"Experiment '{experiment}' chose this configuration on the questions of this run: its numbers are better than "
        "they will be on others."
    )


def agreement_words(run: Run) -> str:
    """Say how far a system disagrees with itself, "" for a run without repeats."""
    told = run.provenance.get("agreement") or {}
    if not told.get("n"):
        return ""
    contexts_too = "" if told["jaccard"] is None else f", and {told['jaccard']:.2f} of their contexts (Jaccard)"
    return (
        f"Asked {told['runs']} times, it gives {told['differ']:.0%} of {told['n']} questions different answers; two "
        f"answers to the same question share {told['token_f1']:.2f} of their words (token F1){contexts_too}."
    )


def read_words(current: Run) -> str:
    """Say why another system gave no answers, and where the contexts that it read stand in the documents.

    "Its 10 contexts in the documents: 7 verbatim, 1 in normal form, 1 nearly (83 % of its words), 1 not."
    """
    failed = current.provenance.get("unanswered", {})
    reasons = "; ".join(f"{count:,}: {reason.rstrip('.')}" for reason, count in failed.items())
    lost = f"{counted(sum(failed.values()), 'question')} got no answer ({reasons}). " if failed else ""
    found = current.provenance.get("contexts", {})
    if not (total := sum(found.get(how, 0) for how in FOUND)):
        return lost.strip()
    parts = [f"{found[how]:,} {word}" for how, word in FOUND.items() if found.get(how)]
    told = ", ".join(parts).replace("nearly", f"nearly ({found.get('share', 1.0):.0%} of their words)")
    return f"{lost}Its {counted(total, 'context')} in the documents: {told}."


FOUND = {"verbatim": "verbatim", "normal": "in normal form", "nearly": "nearly", "not": "not found"}
"""How a context of another system was found in the documents, and the words for it."""


def reranking_words(current: Run) -> str:
    """Say what a run's reranker read, and its seconds for each question; "" for a run without one."""
    config, took = current.config, current.provenance.get("reranking")
    if config.reranker == "none":
        return ""
    seconds = ""
    if took and took["questions"]:
        seconds = f", {took['seconds'] / took['questions']:.2g} s a question with what is computed once for all"
    return f"the first {config.rerank_depth} chunks reranked{seconds}"


def pooled_of(workspace: Workspace, current: Run, k: int | None = None) -> pooled.Pooled | None:
    """Return what pooled verdicts tell of a run at `k` (default: its own); None where there are none, or no ranking."""
    if unranked_words(current):
        return None
    retrieved = pairs_of(workspace, current)
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
    chunks, count = dict[str, frozenset[int]](), 0
    for body in same:
        if "useful" in body:
            row = pool.read_row(body)
            count = len(row)
            if body["id"]:
                chunks[body["id"]] = frozenset(n for n, each in enumerate(row) if each.verdict == "supported")
    return pooled.Verdicts(count, chunks, together=any("numbers" in body for body in same))
