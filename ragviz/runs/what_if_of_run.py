"""What a stored run would have measured with other choices: what is read for it, and the numbers in words and JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ragviz.analysis import evaluate, risk_coverage
from ragviz.analysis import what_if as reading_off
from ragviz.analysis.evaluate import cluster_words
from ragviz.analysis.risk_coverage import Cases, Point
from ragviz.analysis.what_if import Choices, Effect, Reading
from ragviz.core.configuration import Run
from ragviz.core.errors import UsageError
from ragviz.core.question import Question
from ragviz.core.ranking import Ranking, Retrieved
from ragviz.metrics import rank_metrics
from ragviz.metrics.rank_metrics import Rankings
from ragviz.retrieval.retrievers import fuse
from ragviz.runs import contexts, measurements, searched_again
from ragviz.runs.judgements import Judgement
from ragviz.stats.clusters import Clusters, independent_clusters
from ragviz.workspace import Workspace

Pairs = Sequence[tuple[Question, Retrieved]]


# Other choices


@dataclass(frozen=True, slots=True, eq=False)
class StoredRankings:
    """What is read of a run once, for any choices: its questions with what was retrieved, those with evidence in `own`.

    `sizes` are the tokens of the chunks, None where the index of the run is not as the run searched it; `fused` are
    both rankings of each question with evidence that a hybrid run fuses, None where they are not known.
    """

    run: Run
    pairs: Pairs
    rankings: Rankings
    own: Reading
    clusters: Clusters
    sizes: Mapping[str, int] | None
    fused: tuple[Sequence[Ranking], Sequence[Ranking]] | None


def stored_of(workspace: Workspace, current: Run, pairs: Pairs | None = None) -> StoredRankings:
    """Read a run and what is known of its component rankings; nothing is searched. `pairs` are read unless given.

    Raises:
        UsageError: the rankings of the run cannot be measured.

    """
    if unranked := measurements.unranked_words(current):
        raise UsageError(f"Nothing can be read off the rankings of run '{current.name}'. {unranked}")
    pairs = measurements.pairs_of(workspace, current) if pairs is None else pairs
    rankings = rank_metrics.read([result for _, result in pairs], current.config.depth)
    ranked = {result.question_id for result in rankings.results}
    questions = [question for question, _ in pairs if question.id in ranked]
    index = searched_again.index_of(workspace, current)
    sizes = contexts.sizes_of(workspace, index) if index is not None else None
    own = reading_off.reading(rankings, sizes)
    fused = searched_again.components(workspace, current, questions)
    return StoredRankings(current, pairs, rankings, own, evaluate.document_clusters(questions), sizes, fused)


def own_choices(current: Run) -> Choices:
    """Return the choices that a run was made with; a budget only where it was answered."""
    config = current.config
    return Choices(config.k, None, config.context_tokens if current.knows.answers and current.knows.first_k else None)


def reading_at(stored: StoredRankings, constant: int | None) -> Reading:
    """Return the rankings at a constant of the fusion, the run's own for None.

    Raises:
        UsageError: both rankings that are fused are not known.

    """
    if constant is None or constant == stored.run.config.rrf_constant:
        return stored.own
    if stored.fused is None:
        raise UsageError(
            f"Both rankings that run '{stored.run.name}' fuses are not stored to depth "
            f"{searched_again.reach(stored.run)}: search for them first."
        )
    depth = stored.run.config.depth
    results = [
        replace(result, ranking=fuse(pair, depth, constant))
        for result, *pair in zip(stored.rankings.results, *stored.fused, strict=True)
    ]
    return reading_off.reading(rank_metrics.read(results, depth), stored.sizes)


def effects(stored: StoredRankings, choices: Choices, constant: int | None = None) -> dict[str, Effect]:
    """Compare the run's own choices with others.

    Where the tokens of the chunks are not known, a budget of the run is left out of its own numbers.
    """
    own = own_choices(stored.run)
    if stored.own.tokens is None:
        own = Choices(own.k)
    before = reading_off.measure(stored.own, own)
    after = reading_off.measure(reading_at(stored, constant), choices)
    return reading_off.effects(before, after, stored.clusters, seed=stored.run.config.seed)


def score_words(current: Run) -> tuple[bool, str]:
    """Say whether one threshold means the same for all questions, and why."""
    config, cut = current.config, current.provenance["index_config"]
    kind = config.reranker.partition(":")[0]
    if current.knows.opaque and not current.provenance.get("scored"):
        return False, "The system tells no scores of its contexts, only their order."
    if current.knows.opaque:
        return True, "Scores are the system's own: whether they mean the same for every question is not known here."
    if kind == "maxsim":
        return True, "Scores are mean cosines of words (MaxSim), behind the chunks that were reranked places only."
    if kind == "cross-encoder":
        return True, f"Scores are those of {config.reranker}, behind the chunks that it read places only."
    if kind == "model":
        return False, "Scores are places in a list that a model ordered: a threshold would only be another k."
    if config.retriever == "hybrid":
        return False, "Scores of reciprocal rank fusion are made of ranks: a threshold would only be another k."
    if config.retriever == "bm25":
        words = "BM25 scores grow with the words of a question: one threshold is strict for some, lax for others."
        return True, words
    similarity = str(cut["options"].get("similarity", "cosine")).replace("_", " ") if cut else "similarity"
    return True, f"Scores are those of the {similarity} of question and chunk: they mean the same for every question."


# Risk and coverage


@dataclass(frozen=True, slots=True, eq=False)
class Risk:
    """The questions of a run as the risk–coverage curve counts them.

    `left_out` counts questions of which it is not known whether their answer is right. `scope` says which documents
    intervals speak of: where those with evidence are too few to speak of others, questions are resampled, each by
    itself. Without answers (`judged` is false), an answer counts as wrong where the evidence is not all among the first
    `k`.
    """

    cases: Cases
    k: int
    judged: bool
    left_out: int
    unanswerable: int
    scope: str


def risk_of(stored: StoredRankings, judgement: Judgement, k: int) -> Risk:
    """Return which questions are answered, and which wrongly.

    Of a run with answers: those answered, wrong where the ruling on the answer says so; what was refused stays so. Of
    one without: all are answered, wrong where the evidence is not all among the first `k`. An unanswerable question
    that is answered is wrong. Questions of which neither is known are left out.
    """
    answers, pairs = stored.run.knows.answers, stored.pairs
    ranks = rank_metrics.ranks(stored.own.table)
    found = dict(zip(stored.own.table.question_ids, ((ranks > 0) & (ranks <= k)).tolist(), strict=True))
    kept: list[tuple[Question, Retrieved, bool, bool]] = []
    for question, result in pairs:
        if answers:
            ruling, status = judgement.rulings.get(question.id), judgement.statuses.get(question.id)
            answered = status == "answered"
            if status is None or (
                answered and question.kind != "unanswerable" and (ruling is None or ruling.right is None)
            ):
                continue
            wrong = answered and (question.kind == "unanswerable" or not (ruling and ruling.right))
            kept.append((question, result, answered, wrong))
        elif question.kind == "unanswerable" or question.id in found:
            kept.append((question, result, True, not found.get(question.id, False)))
    questions = [question for question, *_ in kept]
    # Unanswerable questions are about no document: whether intervals can speak of others is decided by the rest.
    about = evaluate.document_clusters([question for question in questions if question.evidence])
    cases = Cases(
        risk_coverage.confidence_of([result.ranking for _, result, _, _ in kept]),
        np.array([answered for _, _, answered, _ in kept], dtype=bool),
        np.array([wrong for *_, wrong in kept], dtype=bool),
        evaluate.document_clusters(questions) if about.generalise else independent_clusters(len(questions)),
    )
    unanswerable = sum(question.kind == "unanswerable" for question in questions)
    return Risk(cases, k, answers, len(pairs) - len(kept), unanswerable, f"{cluster_words(about)}.")


def curve_of(current: Run, risk: Risk) -> risk_coverage.Curve:
    """Return risk and coverage at every threshold.

    Raises:
        UsageError: there is nothing to draw it from: no answer of which it is known whether it is right, or no scores.

    """
    if current.knows.opaque and not current.provenance.get("scored"):
        raise UsageError(score_words(current)[1])
    return risk_coverage.curve(risk.cases, seed=current.config.seed)


def chosen_from(stored: StoredRankings, k: int | None, threshold: float | None, budget: int | None) -> Choices:
    """Return choices of which None is the run's own; a budget that the run had, and that cannot be tried, is left out.

    Raises:
        UsageError: these rankings cannot tell of them, or their scores have no common meaning.

    """
    comparable, words = score_words(stored.run)
    if threshold is not None and not comparable:
        raise UsageError(f"A threshold cannot be tried on run '{stored.run.name}'. {words}")
    own = own_choices(stored.run)
    budget = own.budget if budget is None else budget
    if stored.own.tokens is None and budget == own.budget:
        budget = None
    choices = Choices(own.k if k is None else k, threshold, budget)
    reading_off.check(stored.own, choices)
    return choices


# In words


def choices_words(stored: StoredRankings, choices: Choices, constant: int | None) -> str:
    """Say what is compared, in a sentence."""
    own, config = own_choices(stored.run), stored.run.config

    def said(of: Choices, fused: int | None) -> str:
        parts = [f"k = {of.k}"]
        parts += [f"RRF constant {fused}"] if config.retriever == "hybrid" and fused is not None else []
        parts += [f"score at least {of.threshold:g}"] if of.threshold is not None else []
        parts += [f"{of.budget:,} tokens at most"] if of.budget is not None else []
        return ", ".join(parts)

    new = config.rrf_constant if constant is None else constant
    n = len(stored.rankings.results)
    return (
        f"{said(choices, new)} against the run's own {said(own, config.rrf_constant)}; {n:,} questions with evidence."
    )


def cells(name: str, effect: Effect) -> tuple[str, str, str]:
    """Return a metric as the run has it, as it would be, and the difference with its interval."""
    digits = 0 if name == "tokens" else 3
    own, other = ("–" if each.mean is None else f"{each.mean:,.{digits}f}" for each in (effect.own, effect.other))
    return own, other, difference_words(effect, digits)


def difference_words(effect: Effect, digits: int) -> str:
    """Return a difference with its interval, "" when nothing was measured.

    >>> from ragviz.core.call import Estimate
    >>> one = Estimate(0.05, -0.01, 0.11, 80)
    >>> difference_words(Effect(one, one, one), 2)
    '+0.05 [-0.01, +0.11]'
    """
    moved = effect.difference
    if moved.mean is None:
        return ""
    return f"{moved.mean:+,.{digits}f} [{moved.low:+,.{digits}f}, {moved.high:+,.{digits}f}]"


def curve_words(risk: Risk, curve: risk_coverage.Curve) -> str:
    """Say what answering everything risks, and how well the scores tell which answers are wrong."""
    told = f"{curve.answered:,} of {curve.n:,} questions are answered, {curve.whole:.1%} of these wrong"
    if not risk.judged:
        told = (
            f"This run has no answers: of {curve.n:,} questions {curve.whole:.1%} count as wrong, as their evidence is "
            f"not all among the first {risk.k}"
        )
    left_out = f" {risk.left_out:,} of which it is not known are left out." if risk.left_out else ""
    return (
        f"{told}, {risk.unanswerable:,} unanswerable ones among the questions. AURC {curve.aurc:.3f}: "
        f"{curve.whole:.3f} if the scores told nothing, {curve.best:.3f} at best.{left_out}"
    )


def chosen_words(most: float, picked: Point | None, curve: risk_coverage.Curve) -> str:
    """Say which threshold keeps the risk at `most` or below, and what it does; with the warning that belongs to it."""
    if picked is None:
        place = int(curve.risk.argmin())
        return (
            f"No threshold keeps the risk at {most:.1%} or below: the least is {curve.risk[place]:.1%}, with "
            f"{curve.coverage[place]:.0%} answered."
        )
    risk = picked.risk
    return (
        f"Risk of at most {most:.1%}: answer when the score is at least {picked.threshold:.4g}. {picked.answered:,} of "
        f"{picked.n:,} answered ({picked.coverage:.0%}), {picked.wrong:,} wrong: risk {risk.mean:.1%} "
        f"[{risk.low:.1%}, {risk.high:.1%}]. It was chosen on these same questions: expect a greater risk on others."
    )
