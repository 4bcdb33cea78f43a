"""Drills: known faults are planted into a copy of an index in memory, and what a question set notices is counted.

A planted fault is noticed where the comparison of the altered index with the unaltered one calls it worse, and where
`ragviz check --baseline` does not pass. Both are counted twice: with the questions in their own words on both sides, so
that nothing but the fault differs, and with noise, where each side asks every question in another wording, drawn anew
each time (see `wordings`), as systems differ in more than one fault. A false alarm is what is noticed, with noise, of
an index that was not altered; without noise it ranks the same, and there is none.

Nothing of the index, its documents and its runs is changed; what is finished of a drill is kept, and not done twice.
"""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from ragviz.analysis import evaluate, requirements
from ragviz.analysis.rules import MINIMUM_EFFECT, verdict_of
from ragviz.core.configuration import RetrieverName
from ragviz.core.digests import digest
from ragviz.core.errors import UsageError
from ragviz.core.index_info import IndexInfo
from ragviz.core.progress import Progress, silent
from ragviz.core.question import Question
from ragviz.core.question_set import QuestionSet
from ragviz.health import faults
from ragviz.health.altered_index import AlteredIndex, Change, Rows, read
from ragviz.health.faults import FAULTS, POINTS, Chosen, Ground
from ragviz.health.wordings import wordings
from ragviz.metrics.registry import label
from ragviz.models.spending import Spending
from ragviz.retrieval import search
from ragviz.retrieval.retrievers import chosen, needs
from ragviz.runs import contexts
from ragviz.stats.clusters import Clusters
from ragviz.stats.differences import Difference, paired_differences
from ragviz.store.codecs import questions_hash
from ragviz.workspace import Workspace

Floats = NDArray[np.float64]

FACT = "drill"
"""Name under which the last drill of a question set is kept with it."""
VERSION = "3"
"""Version of what is kept, and of the rules by which it is computed."""
OTHERS = 4
"""Wordings of a question beside its own."""
REPETITIONS = 20
"""Plantings of each fault in each size."""
UNALTERED = 400
"""Comparisons of an index that was not altered with itself: the rate of false alarms is known to 1 or 2 points."""
AIMS = 4
"""Attempts at planting a fault until it costs what it should."""


@dataclass(frozen=True, slots=True)
class Choices:
    """What is drilled, and how: `no_worse_than` is the loss that the gate allows, a share of the metric's range."""

    retriever: RetrieverName
    k: int = 3
    seed: int = 0
    repetitions: int = REPETITIONS
    no_worse_than: float = MINIMUM_EFFECT

    def __post_init__(self) -> None:
        """Refuse what cannot be drilled."""
        if self.k < 1 or self.repetitions < 1:
            raise UsageError(f"k is {self.k} and repetitions {self.repetitions}: give numbers from 1 on.")

    @property
    def metric(self) -> str:
        """The metric of rankings that decides: recall at k."""
        return label("recall", self.k)


def drill(
    workspace: Workspace,
    question_set: QuestionSet,
    info: IndexInfo,
    *,
    retriever: RetrieverName | None = None,
    k: int = 3,
    seed: int = 0,
    repetitions: int = REPETITIONS,
    no_worse_than: float = MINIMUM_EFFECT,
    progress: Progress = silent,
) -> dict[str, Any]:
    """Drill a question set on an index, keep the result as the set's fact `FACT`, and return it.

    Raises:
        UsageError: the set has no question with evidence, is of another corpus than the index, or a choice is invalid.
        SearchError: the index is damaged.

    """
    if info.corpus_id != question_set.corpus_id:
        raise UsageError(f"Index '{info.name}' and question set '{question_set.name}' are of different corpora.")
    info = search.ready(workspace, info)
    choices = Choices(chosen(info, retriever), k, seed, repetitions, no_worse_than)
    requirements.margin_of(choices.metric, no_worse_than)
    questions = [q for q in workspace.store.questions.all(question_set.id) if q.asked and q.evidence]
    if not questions:
        raise UsageError(
            f"Question set '{question_set.name}' has no question with evidence that is asked: nothing can be missed."
        )
    spending = workspace.spending(question_set.id)
    try:
        trial = _Trial(workspace, info, questions, choices, spending, progress)
        fact = {
            "version": VERSION,
            "index": info.name,
            "set": question_set.name,
            "set_version": question_set.version,
            "date": time.time(),
            **asdict(choices),
            "metric": choices.metric,
            "questions": len(questions),
            "documents": trial.clusters.documents,
            "clusters": trial.clusters.count,
            "chunks": len(trial.chunks.ids),
            "baseline": float(trial.base[:, 0].mean()),
            "false_alarms": trial.false_alarms(),
            "faults": _cells(workspace, trial, progress),
        }
    finally:
        spending.settle()
    workspace.store.sets.put_fact(question_set.id, FACT, fact)
    return fact


def stored(workspace: Workspace, question_set: QuestionSet) -> dict[str, Any] | None:
    """Return the last drill of a question set; None without one, or when another version of ragviz made it."""
    fact = workspace.store.sets.fact(question_set.id, FACT)
    return fact if isinstance(fact, dict) and fact.get("version") == VERSION else None


class _Trial:
    """Questions asked in each of their wordings on the unaltered index, and again on altered ones."""

    def __init__(
        self,
        workspace: Workspace,
        info: IndexInfo,
        questions: Sequence[Question],
        choices: Choices,
        spending: Spending,
        progress: Progress,
    ) -> None:
        progress(0, None, "", "Reading the chunks")
        self.info, self.choices, self.questions = info, choices, list(questions)
        self.chunks = read(workspace, info)
        self.clusters = evaluate.document_clusters(self.questions)
        queries = [
            replace(question, text=text).query
            for question in self.questions
            for text in wordings(question.text, OTHERS, f"{choices.seed} {question.id}")
        ]
        row_of = self.chunks.row_of
        golds = contexts.gold_of(workspace, info, self.questions)
        self.gold = [[[row_of[i] for i in group if i in row_of] for group in groups] for groups, _ in golds]
        embedder = None
        if "embedder" in needs(choices.retriever):
            embedder = workspace.embedder(info.config.embedder, spending, progress)
        self.index = AlteredIndex(
            info, self.chunks, choices.retriever, queries, choices.k, embedder=embedder, progress=progress
        )
        progress(0, len(self.questions), "questions", "Asking the unaltered index")
        ranked = self.index.ranked()
        rankings = [ranked[start : start + self.many] for start in range(0, len(ranked), self.many)]
        self.base = np.array(
            [[recall(self.gold[q], rows) for rows in of_question] for q, of_question in enumerate(rankings)]
        )
        found = [
            [g for g, group in enumerate(groups) if set(group) & set(of_question[0].tolist())]
            for groups, of_question in zip(self.gold, rankings, strict=True)
        ]
        self.ground = Ground.of(self.chunks, self.gold, found)

    @property
    def many(self) -> int:
        """Wordings of each question, its own first."""
        return 1 + OTHERS

    def pair(self, draw: Generator) -> tuple[Rows, Rows]:
        """Draw two different wordings of every question, one for each side."""
        first = draw.integers(0, self.many, len(self.questions))
        second = (first + draw.integers(1, self.many, len(self.questions))) % self.many
        return first, second

    def false_alarms(self) -> dict[str, Any]:
        """Compare the unaltered index with itself, both sides in other wordings, and count what is noticed."""
        draw, every = np.random.default_rng([self.choices.seed, 1]), np.arange(len(self.questions))
        pairs = [self.pair(draw) for _ in range(UNALTERED)]
        columns = [self.base[every, second] - self.base[every, first] for first, second in pairs]
        return {"repetitions": UNALTERED, **self.noticed(columns)}

    def noticed(self, differences: Sequence[Floats]) -> dict[str, Any]:
        """Return how many comparisons, differences (n,) each, are called worse, and how many the gate stops."""
        columns, choices = np.column_stack(differences), self.choices
        worse, stopped = decided(columns, self.clusters, choices.metric, choices.no_worse_than)
        return {"n": len(self.questions), "worse": int(sum(worse)), "stopped": int(sum(stopped))}

    def planted(self, name: str, size: float, draw: Generator) -> tuple[float, Floats, Floats]:
        """Plant a fault once, and ask every question again.

        Return the points of recall that it costs by counting, and the changes of recall, (n,) each: in the questions'
        own words, and between two wordings.
        """
        every = np.arange(len(self.questions))
        place, change = self._aimed(name, size, draw)
        first, second = self.pair(draw)
        rankings = self.index.ranked(change, [*(every * self.many).tolist(), *(every * self.many + second).tolist()])
        values = [recall(self.gold[n % len(every)], rows) for n, rows in enumerate(rankings)]
        own, noisy = np.split(np.array(values), 2)
        return place.points, own - self.base[:, 0], noisy - self.base[every, first]

    def _aimed(self, name: str, size: float, draw: Generator) -> tuple[Chosen, Change]:
        """Choose where a fault is planted, and plant it; one that aims is planted in more places until it costs enough.

        Half a question is near enough.
        """
        fault, aim = FAULTS[name], size
        seed, own = int(draw.integers(2**31)), (np.arange(len(self.questions)) * self.many).tolist()
        for _ in range(AIMS if fault.aims else 1):
            place = faults.choose(self.ground, aim, np.random.default_rng(seed))
            change = fault.plant(self.ground, place, draw)
            if not fault.aims:
                break
            after = [
                recall(groups, rows) for groups, rows in zip(self.gold, self.index.ranked(change, own), strict=True)
            ]
            wanted = faults.whole(size, len(own)) / len(own)
            missing = wanted - float(self.base[:, 0].mean() - np.mean(after))
            if missing * len(own) < 0.5:
                break
            aim += missing
        return place, change


def recall(groups: Sequence[Sequence[int]], rows: Rows) -> float:
    """Return the share of a question's groups of evidence of which a gold chunk is among `rows`.

    >>> recall([[4], [5, 6], []], np.array([6, 1]))
    0.3333333333333333
    """
    ranked = set(rows.tolist())
    return sum(any(row in ranked for row in group) for group in groups) / len(groups)


def decided(
    differences: Floats, clusters: Clusters, metric: str, no_worse_than: float = MINIMUM_EFFECT
) -> tuple[list[bool], list[bool]]:
    """Return for each column of differences, (n, m), whether it is called worse, and whether the gate stops it.

    As `compare` decides about one metric of two runs, and `acceptance.check` about a run and its baseline.
    """
    margin = requirements.margin_of(metric, no_worse_than)

    def is_worse(difference: Difference) -> bool:
        p_equivalent = difference.equivalent(margin) if margin else None
        return verdict_of(metric, difference, difference.p_value or 0.0, p_equivalent) == "worse"

    found = paired_differences(differences, clusters)
    stopped = [not requirements.no_worse(metric, each, "", no_worse_than).passed for each in found]
    return [is_worse(each) for each in found], stopped


def _cells(workspace: Workspace, trial: _Trial, progress: Progress) -> list[dict[str, Any]]:
    """Return what is noticed of every fault in every size; what is kept is not done again."""
    kept, choices = workspace.store.cache(FACT), trial.choices
    state = (trial.info.id, trial.info.build, trial.info.embedder_identity, questions_hash(trial.questions))
    of = digest(VERSION, *state, json.dumps(asdict(choices), sort_keys=True), length=32)
    todo = [(name, size) for name in FAULTS for size in POINTS]
    keys = [digest(of, name, str(size), length=32) for name, size in todo]
    held, cells = kept.get_many(keys), list[dict[str, Any]]()
    for place, ((name, size), key) in enumerate(zip(todo, keys, strict=True)):
        steps = (place * choices.repetitions, len(todo) * choices.repetitions)
        body = held.get(key) or json.dumps(_cell(trial, name, size, progress, steps)).encode()
        kept.put_many({key: body})
        cells.append(json.loads(body))
    return cells


def _cell(trial: _Trial, name: str, size: float, progress: Progress, steps: tuple[int, int]) -> dict[str, Any]:
    """Plant a fault in one size as often as was chosen, and count what is noticed.

    "points" is the mean loss by counting, "change" the mean change of recall in the questions' own words.
    """
    counts = {"n": 0, "worse": 0, "stopped": 0}
    body = {"fault": name, "strength": size, "reason": faults.reason_against(name, trial.ground)}
    body |= {"points": 0.0, "change": 0.0, "repetitions": 0, **counts, "noisy": counts}
    if body["reason"]:
        return body
    planted = []
    for number in range(trial.choices.repetitions):
        progress(steps[0] + number, steps[1], "plantings", FAULTS[name].title.capitalize())
        draw = np.random.default_rng([trial.choices.seed, *name.encode(), round(1000 * size), number])
        planted.append(trial.planted(name, size, draw))
    points, own, noisy = zip(*planted, strict=True)
    if not any(points):
        n = len(trial.questions)
        few = f"{100 * size:g} points of {n:,} question{'s' * (n != 1)} are less than half a question"
        shared = "too few questions are found, or their evidence is that of others too"
        return body | {"reason": shared if faults.whole(size, n) else few}
    body |= {"points": float(np.mean(points)), "change": float(np.mean([each.mean() for each in own]))}
    return body | {"repetitions": len(planted), **trial.noticed(own), "noisy": trial.noticed(noisy)}
