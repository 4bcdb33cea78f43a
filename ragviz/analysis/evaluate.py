"""What a run measured: scores of every question, and their means with intervals, from the rankings it stored."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, cast, get_args

import numpy as np
from numpy.typing import NDArray

from ragviz.analysis.sides import STATUSES, Column
from ragviz.core.call import Estimate
from ragviz.core.question import Question, QuestionKind
from ragviz.core.ranking import Retrieved
from ragviz.core.score import Score
from ragviz.metrics import rank_metrics
from ragviz.metrics.characters import measure_characters
from ragviz.metrics.rank_metrics import RANKING, RankTable
from ragviz.metrics.registry import label, scores, shown_in, title_of
from ragviz.questions.question_types import STYLE_TITLES, STYLES, TYPE_TITLES, TYPES
from ragviz.stats import intervals
from ragviz.stats.clusters import FEW, Clusters, clusters_of
from ragviz.text import language
from ragviz.text.counts import counted

Floats = NDArray[np.float64]
Band = tuple[Floats, Floats, Floats]
"""Mean, low and high for k = 1 … depth, each of shape (depth,)."""

CURVES: dict[str, Callable[[RankTable], Floats]] = {name: RANKING[name].function for name in shown_in("curve")}


@dataclass(frozen=True, slots=True)
class Summary:
    """A run in numbers. Only questions with evidence are ranked.

    `unanswerable` counts those that the documents do not answer, `reference_only` those with a reference answer whose
    evidence is not known. `scores` maps a metric ("recall@3", "mrr") to one number per question, (n,), in the order of
    `question_ids`; `ranks` are those by which the evidence is found (`rank_metrics.ranks`), (n,), 0 when it is not;
    `clusters` joins those about the same documents. `curves` is empty when `n` is 0, and where they were not asked for.
    """

    question_ids: tuple[str, ...]
    clusters: Clusters
    unanswerable: int
    reference_only: int
    k: int
    depth: int
    ranks: NDArray[np.int64]
    scores: dict[str, Floats]
    metrics: dict[str, Estimate]
    curves: dict[str, Band]

    @property
    def n(self) -> int:
        """How many questions were ranked."""
        return len(self.question_ids)

    @property
    def misses(self) -> int:
        """How many ranked questions lack a chunk of some passage that they need among the first `depth`."""
        return int((self.ranks == 0).sum())


def document_clusters(questions: Sequence[Question]) -> Clusters:
    """Return questions in the clusters of the documents that they rest on, as `clusters_of`."""
    return clusters_of([bound_to(question) for question in questions])


def bound_to(question: Question) -> list[str]:
    """Return the ids of the documents that a question rests on: of each group whose alternatives all lie in one.

    A group with alternatives in several documents stands whatever becomes of one of them.

    >>> from ragviz.core.document import Span
    >>> question = Question("q", "?", "", ((Span("a", 0, 1), Span("b", 0, 1)), (Span("c", 0, 1), Span("c", 5, 9))), "")
    >>> bound_to(question)
    ['c']
    """
    groups = [{span.document_id for span in group} for group in question.evidence]
    return sorted({next(iter(documents)) for documents in groups if len(documents) == 1})


def summarise(
    results: Sequence[Retrieved],
    questions: Sequence[Question],
    k: int,
    depth: int,
    *,
    seed: int = 0,
    curves: bool = True,
) -> Summary:
    """Measure rankings against their gold chunks: every metric at `k`, and `curves` for every k up to `depth`."""
    rankings = rank_metrics.read(results, depth)
    table = rank_metrics.measure(rankings)
    evidence = {question.id: question.evidence for question in questions}
    kinds = {question.id: question.kind for question in questions}
    reference_only = sum(kinds.get(question_id) == "reference" for question_id in rankings.unranked)
    per_question = scores(table, k, characters=measure_characters(rankings, evidence, k))
    by_id = {question.id: question for question in questions}
    clusters = document_clusters([by_id[question_id] for question_id in table.question_ids])
    drawn: dict[str, Band] = {}
    if curves and table.question_ids:
        bands = intervals.bands(np.hstack([of(table) for of in CURVES.values()]), clusters, seed=seed)
        parts = zip(*(np.split(cast(Floats, band), len(CURVES)) for band in bands), strict=True)
        drawn = dict(zip(CURVES, parts, strict=True))
    return Summary(
        question_ids=table.question_ids,
        clusters=clusters,
        unanswerable=len(rankings.unranked) - reference_only,
        reference_only=reference_only,
        k=k,
        depth=depth,
        ranks=rank_metrics.ranks(table),
        scores=per_question,
        metrics=intervals.estimates(per_question, clusters, seed=seed),
        curves=drawn,
    )


def doubt_words(summary: Summary) -> str:
    """Say which documents the intervals speak of, with the design effect on recall; "" without ranked questions."""
    if not summary.n:
        return ""
    effect = summary.metrics[label("recall", summary.k)].design_effect
    about = f" (design effect of recall@{summary.k}: {effect:.1f})" if effect is not None else ""
    return f"{cluster_words(summary.clusters)}{'' if summary.clusters.independent else about}."


def to_json(summary: Summary) -> dict[str, Any]:
    """Return the summary as the command line prints it; missing numbers are null, missing curves empty."""
    curves = {name: summary.curves[name][0].tolist() if name in summary.curves else [] for name in CURVES}
    metrics = {name: asdict(estimate) for name, estimate in summary.metrics.items()}
    misses, *counts = np.bincount(summary.ranks, minlength=summary.depth + 1).tolist()
    return {
        "n": summary.n,
        "unanswerable": summary.unanswerable,
        "reference_only": summary.reference_only,
        "metrics": metrics,
        "ranks": {str(rank): n for rank, n in enumerate(counts, start=1)} | {"miss": misses},
        "curves": {"k": list(range(1, summary.depth + 1)), **curves},
    }


@dataclass(frozen=True, slots=True)
class Scored:
    """A metric of answers over a run: its mean over the questions that have a value, and how many have none and why.

    `statuses` counts the questions by `ScoreStatus`, statuses without any left out.
    """

    estimate: Estimate
    statuses: Mapping[str, int]

    @property
    def total(self) -> int:
        """All questions, with a value and without."""
        return sum(self.statuses.values())

    @property
    def without(self) -> str:
        """How many questions have no value, and why; "" when all have one.

        >>> none = Estimate(None, None, None, 0)
        >>> Scored(none, {"ok": 4, "judge_error": 3, "not_applicable": 2}).without
        '2 not applicable, of the others 3 judge errors'
        """
        counts = [(status, n) for status, n in self.statuses.items() if status != "ok" and n]
        plural = {status: "s" if status == "judge_error" and n > 1 else "" for status, n in counts}
        said = [f"{n:,} {STATUS_WORDS[status]}{plural[status]}" for status, n in counts if status != "not_applicable"]
        apart = self.statuses.get("not_applicable", 0)
        others = f"{'of the others ' if apart else ''}{', '.join(said)}" if said else ""
        return ", ".join(filter(None, [f"{apart:,} {STATUS_WORDS['not_applicable']}" if apart else "", others]))


STATUS_WORDS = {
    "ok": "scored", "not_applicable": "not applicable", "no_answer": "without answer", "judge_error": "judge error",
    "skipped": "skipped",
}  # fmt: skip
"""Status of a score → what a person reads."""


def summarise_scores(
    scores: Mapping[str, Mapping[str, Score]], questions: Sequence[Question], *, seed: int = 0
) -> dict[str, Scored]:
    """Estimate every metric (name → question id → score); a score without a value is counted, never averaged."""
    clusters = document_clusters(questions)
    rows = {question.id: row for row, question in enumerate(questions)}
    summary = {}
    for name, by_question in scores.items():
        values = {i: score.value for i, score in by_question.items() if score.value is not None and i in rows}
        statuses: dict[str, int] = Counter(score.status for score in by_question.values())
        shared = clusters.take([rows[question_id] for question_id in values])
        summary[name] = Scored(intervals.estimate(list(values.values()), shared, seed=seed), statuses)
    return summary


def scored_to_json(scored: Mapping[str, Scored]) -> dict[str, Any]:
    """Return metrics of answers as the command line prints them, beside the ranking ones."""
    return {name: asdict(metric.estimate) | {"statuses": dict(metric.statuses)} for name, metric in scored.items()}


KINDS: tuple[QuestionKind, ...] = get_args(QuestionKind)
"""Kinds of questions, by how many passages each needs: one, several, not known, none."""
KIND_TITLES: Mapping[str, str] = {
    "single": "one passage",
    "multi": "several passages",
    "reference": "reference only",
    "unanswerable": "unanswerable",
}
"""Kind of a question → its name on the pages and in reports."""


Part = Literal["all", "kind", "type", "style", "document"]
PARTS: tuple[Part, ...] = get_args(Part)
PART_TITLES: Mapping[str, Mapping[str, str]] = {
    "kind": KIND_TITLES, "type": TYPE_TITLES, "style": STYLE_TITLES, "language": language.NAMES,
}  # fmt: skip
"""What questions are divided by → the titles of its parts by name; others are called by their names."""


@dataclass(frozen=True, slots=True)
class Slice:
    """Questions of one kind, type, style or document, and every mean over them.

    `by` is "all", "kind" (`name` is one of `KINDS`), "type", "style" or "document" (its name). `questions` counts all,
    `misses` those ranked whose evidence is not found to `depth`. `metrics` holds the ranking ones, then those of
    answers; questions without evidence are "not_applicable" in the former.
    """

    by: Part
    name: str
    questions: int
    misses: int
    metrics: Mapping[str, Scored]

    @property
    def title(self) -> str:
        """What it is called, without what it is a part by."""
        return PART_TITLES.get(self.by, {}).get(self.name, self.name)


@dataclass(frozen=True, slots=True, eq=False)
class Breakdown:
    """The parts of a run's questions, and what is measured of each question: a part's means are computed when asked.

    `parts` are (part, name, rows of its questions). `values` (questions, metrics) are NaN for none, `statuses` are
    places in `sides.STATUSES`, -1 for none; `missed` (questions,) are those ranked and not found to the depth.
    """

    parts: tuple[tuple[Part, str, Sequence[int]], ...]
    metrics: tuple[str, ...]
    values: Floats
    statuses: NDArray[np.int8]
    missed: NDArray[np.bool_]
    clusters: Clusters
    seed: int

    def slices(self, first: int = 0, end: int | None = None) -> list[Slice]:
        """Return every mean over the parts from `first` to before `end` (default: all), each with its n and interval.

        To estimate 10,000 parts takes seconds.
        """
        found = []
        for by, name, rows in self.parts[first:end]:
            means = _estimates(self.values[rows], self.clusters.take(rows), self.seed)
            statuses = [[STATUSES[at] for at in column if at >= 0] for column in self.statuses[rows].T.tolist()]
            metrics = {
                metric: Scored(estimate, Counter(own))
                for metric, own, estimate in zip(self.metrics, statuses, means, strict=True)
            }
            found.append(Slice(by, name, len(rows), int(self.missed[rows].sum()), metrics))
        return found


def breakdown(
    summary: Summary,
    answers: Mapping[str, Column],
    questions: Sequence[Question],
    documents: Mapping[str, Sequence[str]],
    *,
    seed: int = 0,
    names: Collection[str] | None = None,
    by: Collection[Part] = PARTS,
) -> Breakdown:
    """Divide all questions by kind, type, style and document; with `names` only these metrics, with `by` these parts.

    `answers` are their scores by metric; `documents` names those that hold the evidence of each
    question: a question with evidence in two counts in both, one without evidence in none. One without a type is in no
    part by type, so with the style. Kinds, types and styles come in the order in which they are declared, documents by
    the mean of recall, the worst first, then by name.
    """
    values, statuses = _values(summary, answers, questions)
    labels = (*summary.scores, *answers)
    kept = [column for column, name in enumerate(labels) if names is None or name in names]
    rows = {question.id: row for row, question in enumerate(questions)}
    missed = np.zeros(len(questions), dtype=np.bool_)
    missed[[rows[question_id] for question_id in summary.question_ids]] = summary.ranks == 0
    parts: list[tuple[Part, str, Sequence[int]]] = [("all", "", range(len(questions)))] if "all" in by else []
    declared: dict[Part, Iterable[str]] = {"kind": KINDS, "type": TYPES, "style": STYLES}
    for part in [each for each in declared if each in by]:
        groups = rows_by_name([(getattr(question, part),) for question in questions])
        parts += [(part, name, groups[name]) for name in declared[part] if name in groups]
    if "document" in by:
        parts += [("document", *each) for each in _by_document(summary, questions, documents)]
    return Breakdown(
        tuple(parts),
        tuple(labels[column] for column in kept),
        values[:, kept],
        statuses[:, kept],
        missed,
        document_clusters(questions),
        seed,
    )


def rows_by_name(names: Iterable[Iterable[str]]) -> dict[str, list[int]]:
    """Return the rows that have each name; a row may have several names, or none.

    >>> rows_by_name([["a", "b"], [], ["b"]])
    {'a': [0], 'b': [0, 2]}
    """
    rows: dict[str, list[int]] = {}
    for row, of_row in enumerate(names):
        for name in dict.fromkeys(of_row):
            rows.setdefault(name, []).append(row)
    return rows


def _by_document(
    summary: Summary, questions: Sequence[Question], documents: Mapping[str, Sequence[str]]
) -> list[tuple[str, list[int]]]:
    rows = rows_by_name([documents.get(question.id, ()) for question in questions])
    found = summary.scores.get(label("recall", summary.k), ())
    recall = dict(zip(summary.question_ids, map(float, found), strict=False))

    def worst_first(name: str) -> tuple[float, str]:
        own = [recall[i] for row in rows[name] if (i := questions[row].id) in recall]
        return round(sum(own) / len(own), 12) if own else 0.0, name

    return [(name, rows[name]) for name in sorted(rows, key=worst_first)]


def _values(
    summary: Summary, answers: Mapping[str, Column], questions: Sequence[Question]
) -> tuple[Floats, NDArray[np.int8]]:
    """Return every metric's values, NaN for none, and statuses as `Breakdown` has them: (questions, metrics) each."""
    rows = {question.id: row for row, question in enumerate(questions)}
    shape = len(questions), len(summary.scores) + len(answers)
    values, statuses = np.full(shape, np.nan), np.full(shape, -1, dtype=np.int8)
    statuses[:, : len(summary.scores)] = STATUSES.index("not_applicable")
    ranked = [rows[question_id] for question_id in summary.question_ids]
    for place, numbers in enumerate(summary.scores.values()):
        values[ranked, place], statuses[ranked, place] = numbers, STATUSES.index("ok")
    for place, column in enumerate(answers.values(), start=len(summary.scores)):
        own = [(rows[i], at) for at, i in enumerate(column.question_ids) if i in rows]
        at_rows, taken = [row for row, _ in own], [at for _, at in own]
        values[at_rows, place], statuses[at_rows, place] = column.values[taken], column.statuses[taken]
    return values, statuses


def _estimates(values: Floats, clusters: Clusters, seed: int) -> list[Estimate]:
    """Estimate every column of `values`, (n, metrics), over its finite rows, columns with the same rows at once."""
    finite = np.isfinite(values)
    groups: dict[bytes, list[int]] = {}
    for column in range(values.shape[1]):
        groups.setdefault(finite[:, column].tobytes(), []).append(column)
    by_column: dict[int, Estimate] = {}
    for columns in groups.values():
        rows = finite[:, columns[0]]
        own = clusters.take(np.flatnonzero(rows).tolist())
        by_column |= intervals.estimates({column: values[rows, column] for column in columns}, own, seed=seed)
    return [by_column[column] for column in range(values.shape[1])]


def breakdown_to_json(slices: Sequence[Slice]) -> dict[str, Any]:
    """Return means per kind, type, style and document as the command line prints them."""
    return {
        f"by_{by}": [
            {by: part.name, "questions": part.questions, "misses": part.misses, "metrics": scored_to_json(part.metrics)}
            for part in slices
            if part.by == by
        ]
        for by in PARTS
        if by != "all"
    }


def cluster_words(clusters: Clusters) -> str:
    """Say what questions are about, and which documents an interval speaks of.

    >>> from ragviz.stats.clusters import clusters_of
    >>> cluster_words(clusters_of([{"a"}, {"a"}, {"a", "b"}]))
    '3 questions on 2 documents: intervals are for further questions on these documents, not for others'
    >>> cluster_words(clusters_of([{name} for name in "abcdefga"]))
    '8 questions on 7 documents: intervals are for documents like these'
    """
    words = counted(clusters.n, "question")
    if clusters.documents:
        words += f" on {counted(clusters.documents, 'document')}"
    if clusters.independent:
        return f"{words}, each a cluster of its own: intervals are for questions like these"
    scope = "documents like these" if clusters.generalise else "further questions on these documents, not for others"
    return f"{words}: intervals are for {scope}"


def few_notes(of: Mapping[str, Clusters], primary: str) -> Iterator[str]:
    """Yield a note where the questions of a metric are on so few documents that they say nothing about others.

    `of` are the clusters by metric; the note is about the primary one, where it is one of those.
    """
    few = [metric for metric, clusters in of.items() if not clusters.generalise]
    if few:
        metric = primary if primary in few else few[0]
        clusters = of[metric]
        documents = clusters.count if clusters.documents is None else clusters.documents
        yield (
            f"The {counted(clusters.n, 'question')} with {title_of(metric)} rest on "
            f"{counted(documents, 'document')}: below {FEW}, or where one is in every question, nothing can be said "
            "about others. Intervals and tests are for further questions on these."
        )
