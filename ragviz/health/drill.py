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
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any, cast

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from ragviz.analysis import evaluate, requirements
from ragviz.analysis.rules import MINIMUM_EFFECT, verdict_of
from ragviz.core.configuration import RetrieverName, RunConfig
from ragviz.core.digests import digest
from ragviz.core.errors import ModelError, UsageError
from ragviz.core.index_info import IndexInfo
from ragviz.core.progress import Progress, silent
from ragviz.core.question import Question
from ragviz.core.question_set import QuestionSet
from ragviz.core.recording import Context, Recording
from ragviz.core.stopping import current, follow
from ragviz.health import faults, places
from ragviz.health.altered_index import UNCHANGED, AlteredIndex, Change, Rows, read
from ragviz.health.faults import FAULTS, Chosen, Ground
from ragviz.health.wordings import wordings
from ragviz.metrics.registry import label
from ragviz.metrics.text import token_f1
from ragviz.models.spending import Spending
from ragviz.retrieval import search
from ragviz.retrieval.retrievers import chosen, needs
from ragviz.runs import contexts
from ragviz.stats.clusters import Clusters
from ragviz.stats.differences import Difference, paired_differences
from ragviz.store.codecs import questions_hash
from ragviz.targets import fitting
from ragviz.targets.targets import TARGETS
from ragviz.workspace import Workspace

Floats = NDArray[np.float64]

FACT = "drill"
"""Name under which the last drill of a question set is kept with it."""
VERSION = "2"
"""Version of what is kept, and of the rules by which it is computed."""
OTHERS = 4
"""Wordings of a question beside its own."""
REPETITIONS = 20
"""Plantings of each fault in each strength."""
UNALTERED = 400
"""Comparisons of an index that was not altered with itself: the rate of false alarms is known to 1 or 2 points."""
AIMS = 4
"""Attempts at planting a fault until it costs what it should."""
BUDGET = 3000
"""Tokens of a context, as a run has it."""
ANSWERERS = ("none", "extractive", "model")
ANSWER_METRIC = "token_f1"


@dataclass(frozen=True, slots=True)
class Choices:
    """What is drilled, and how: `no_worse_than` is the loss that the gate allows, a share of the metric's range."""

    retriever: RetrieverName
    k: int = 3
    seed: int = 0
    repetitions: int = REPETITIONS
    no_worse_than: float = MINIMUM_EFFECT
    answerer: str = "extractive"

    def __post_init__(self) -> None:
        """Refuse what cannot be drilled."""
        if self.k < 1 or self.repetitions < 1:
            raise UsageError(f"k is {self.k} and repetitions {self.repetitions}: give numbers from 1 on.")
        if self.answerer not in ANSWERERS:
            raise UsageError(f"There is no answerer '{self.answerer}'; there are {', '.join(ANSWERERS)}.")

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
    answerer: str = "extractive",
    budget: float | None = None,
    progress: Progress = silent,
) -> dict[str, Any]:
    """Drill a question set on an index, keep the result as the set's fact `FACT`, and return it.

    `budget` is in dollars, for what a model's answers may cost.

    Raises:
        UsageError: the set has no question with evidence, is of another corpus than the index, or a choice is invalid.
        SearchError: the index is damaged.
        ModelError: the model's endpoint is down.

    """
    if info.corpus_id != question_set.corpus_id:
        raise UsageError(f"Index '{info.name}' and question set '{question_set.name}' are of different corpora.")
    info = search.ready(workspace, info)
    choices = Choices(chosen(info, retriever), k, seed, repetitions, no_worse_than, answerer)
    requirements.margin_of(choices.metric, no_worse_than)
    asked = [question for question in workspace.store.questions.all(question_set.id) if question.asked]
    questions = [question for question in asked if question.evidence]
    if not questions:
        raise UsageError(
            f"Question set '{question_set.name}' has no question with evidence that is asked: nothing can be missed."
        )
    spending = workspace.spending(question_set.id, budget)
    try:
        trial = _Trial(workspace, info, questions, choices, spending, progress)
        cells = _cells(workspace, trial, progress)
        progress(1, 1, "parts", "What is asked about")
        fact = {
            "version": VERSION,
            "index": info.name,
            "set": question_set.name,
            "set_version": question_set.version,
            "date": time.time(),
            **asdict(choices),
            "metric": choices.metric,
            "questions": len(questions),
            "unanswerable": sum(question.kind == "unanswerable" for question in asked),
            "documents": trial.clusters.documents,
            "clusters": trial.clusters.count,
            "chunks": len(trial.chunks.ids),
            "baseline": float(trial.base[:, 0].mean()),
            "false_alarms": trial.false_alarms(),
            "faults": cells,
            **_where(workspace, trial),
            "types": _counts([question.type for question in asked]),
            "styles": _counts([question.style for question in asked]),
        }
    finally:
        spending.settle()
    workspace.store.sets.put_fact(question_set.id, FACT, fact)
    return fact


def _counts(names: Sequence[str]) -> dict[str, int]:
    return {name: names.count(name) for name in dict.fromkeys(names)}


# The index asked in every wording


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
        self.wordings = [
            [replace(question, text=text) for text in wordings(question.text, OTHERS, f"{choices.seed} {question.id}")]
            for question in self.questions
        ]
        self._rows = self.chunks.row_of
        golds = contexts.gold_of(workspace, info, self.questions)
        self.gold = [[[self._rows[i] for i in group if i in self._rows] for group in groups] for groups, _ in golds]
        embedder = None
        if "embedder" in needs(choices.retriever):
            embedder = workspace.embedder(info.config.embedder, spending, progress)
        queries = [worded.query for of_question in self.wordings for worded in of_question]
        self.index = AlteredIndex(
            info, self.chunks, choices.retriever, queries, choices.k, embedder=embedder, progress=progress
        )
        self.answerer = _Answerer.of(workspace, choices, spending)
        progress(0, len(self.questions), "questions", "Asking the unaltered index")
        rankings = self.index.ranked()
        self.rankings = [rankings[start : start + self.many] for start in range(0, len(rankings), self.many)]
        self.base = np.array(
            [[recall(self.gold[q], rows) for rows in of_question] for q, of_question in enumerate(self.rankings)]
        )
        self.ground = Ground.of(self.chunks, self.gold, self._found(), self._bearing())

    @property
    def many(self) -> int:
        """Wordings of each question, its own first."""
        return 1 + OTHERS

    def _found(self) -> list[list[int]]:
        """Return the groups of each question that are found in its own words."""
        return [
            [g for g, group in enumerate(groups) if set(group) & set(of_question[0].tolist())]
            for groups, of_question in zip(self.gold, self.rankings, strict=True)
        ]

    def _bearing(self) -> frozenset[int]:
        """Return the gold chunks of the questions whose evidence holds a number."""
        return frozenset(
            row
            for question, groups in zip(self.questions, self.gold, strict=True)
            for spans, group in zip(question.evidence, groups, strict=True)
            if any(any(map(str.isdigit, span.text)) for span in spans)
            for row in group
            if any(map(str.isdigit, self.chunks.texts[row]))
        )

    @cached_property
    def answers(self) -> Floats:
        """Token F1 of the answers on the unaltered index, (n,); NaN without a reference answer."""
        return np.array(self._each([(q, rows[0], UNCHANGED, 1.0) for q, rows in enumerate(self.rankings)]))

    def answer(self, q: int, rows: Rows, change: Change, left: float = 1.0) -> float:
        """Answer a question from chunks, of whose tokens a share is `left`; NaN without a reference answer."""
        if not self.questions[q].answer.strip():
            return float("nan")
        passages = []
        for row in rows.tolist():
            origin = change.origin(self.chunks, row)
            tokens = int(self.chunks.tokens[origin]) if row not in change.texts else 0  # 0: not known, estimated
            text = change.text(self.chunks, row)
            passages.append(Context(text, f"{row}", tokens))
        budget = BUDGET
        if left < 1:
            whole = sum(each.tokens or fitting.estimate(each.text) for each in passages)
            budget = int(left * min(whole, BUDGET))
        question, (read, cut) = self.questions[q], fitting.fitted(passages, budget)
        return self.answerer(question, Recording(question.id, read, cut=cut))

    def _each(self, asked: Sequence[tuple[int, Rows, Change, float]]) -> list[float]:
        """Answer questions, as `answer` does; a model those that it takes at once."""
        if self.answerer.together == 1:
            return [self.answer(*each) for each in asked]
        with ThreadPoolExecutor(self.answerer.together, "drill", initializer=follow, initargs=(current(),)) as pool:
            return list(pool.map(lambda each: self.answer(*each), asked))

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
        return {"repetitions": UNALTERED, **self.noticed(np.column_stack(columns), self.choices.metric)}

    def noticed(self, differences: Floats, metric: str) -> dict[str, Any]:
        """Return how many columns of differences (n, m) are called worse, and how many the gate stops.

        Rows with NaN, of questions without a score, are left out.
        """
        kept = ~np.isnan(differences).any(axis=1)
        clusters = self.clusters if kept.all() else self.clusters.take(np.flatnonzero(kept).tolist())
        worse, stopped = decided(differences[kept], clusters, metric, self.choices.no_worse_than)
        return {"n": int(kept.sum()), "worse": int(sum(worse)), "stopped": int(sum(stopped))}

    def planted(self, name: str, strength: float, draw: Generator) -> _Planted:
        """Plant a fault once, and ask every question again: in its own words, and in another wording."""
        fault, every = FAULTS[name], np.arange(len(self.questions))
        if fault.cuts:
            nothing = np.zeros(len(every))
            own = [each[0] for each in self.rankings]
            return _Planted(0.0, nothing, nothing, self._answered(own, UNCHANGED, strength))
        place, change = self._aimed(name, strength, draw)
        first, second = self.pair(draw)
        rankings = self.index.ranked(change, [*(every * self.many).tolist(), *(every * self.many + second).tolist()])
        values = [recall(self.gold[n % len(every)], rows) for n, rows in enumerate(rankings)]
        own_values, other_values = np.split(np.array(values), 2)
        return _Planted(
            place.points,
            own_values - self.base[:, 0],
            other_values - self.base[every, first],
            self._answered(rankings[: len(every)], change),
        )

    def _aimed(self, name: str, strength: float, draw: Generator) -> tuple[Chosen, Change]:
        """Choose where a fault is planted, and plant it; one that aims is planted in more places until it costs enough.

        Half a question is near enough.
        """
        fault, (within, _) = FAULTS[name], faults.plantable(name, self.ground)
        seed, own = int(draw.integers(2**31)), (np.arange(len(self.questions)) * self.many).tolist()
        aim = strength
        for _ in range(AIMS if fault.aims else 1):
            place = faults.choose(self.ground, aim, np.random.default_rng(seed), within)
            change = fault.plant(self.ground, place, draw)
            if not fault.aims:
                break
            after = [
                recall(groups, rows) for groups, rows in zip(self.gold, self.index.ranked(change, own), strict=True)
            ]
            wanted = faults.whole(strength, len(own)) / len(own)
            missing = wanted - float(self.base[:, 0].mean() - np.mean(after))
            if missing * len(own) < 0.5:
                break
            aim += missing
        return place, change

    def _answered(self, rankings: Sequence[Rows], change: Change, left: float = 1.0) -> Floats | None:
        """Return the change of the answers' token F1, (n,); what reads the same is not asked again.

        NaN without a reference answer; None without an answerer.
        """
        if not self.answerer.answers:
            return None
        values, asked = self.answers.copy(), []
        for q, rows in enumerate(rankings):
            same = left == 1 and np.array_equal(rows, self.rankings[q][0])
            if not same or any(row in change.texts for row in rows.tolist()):
                asked.append((q, rows, change, left))
        values[[q for q, *_ in asked]] = self._each(asked)
        return values - self.answers


@dataclass(frozen=True, slots=True, eq=False)
class _Planted:
    """A fault as it was planted: the points of recall it costs by counting, and what was measured, (n,) each.

    `own` is the change of recall in the questions' own words, `noisy` that between two wordings, `answers` that of the
    answers, in the questions' own words; None without an answerer.
    """

    points: float
    own: Floats
    noisy: Floats
    answers: Floats | None


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
    if not differences.size:
        return [], []
    found = paired_differences(differences, clusters)
    return (
        [_is_worse(each, metric, no_worse_than) for each in found],
        [not requirements.no_worse(metric, each, "", no_worse_than).passed for each in found],
    )


def _is_worse(difference: Difference, metric: str, share: float) -> bool:
    margin = requirements.margin_of(metric, share)
    p_equivalent = difference.equivalent(margin) if margin else None
    return verdict_of(metric, difference, difference.p_value or 0.0, p_equivalent) == "worse"


@dataclass(frozen=True, slots=True)
class _Answerer:
    """Answers questions, and scores the answers against their references."""

    name: str
    ask: Callable[[Any], Any] | None = None
    together: int = 1

    @staticmethod
    def of(workspace: Workspace, choices: Choices, spending: Spending) -> _Answerer:
        if choices.answerer != "model":
            return _Answerer(choices.answerer)
        client = workspace.model
        client.open()
        return _Answerer("model", lambda request: client.ask(replace(request, spending=spending)), client.concurrency)

    @property
    def answers(self) -> bool:
        return self.name != "none"

    def __call__(self, question: Question, recording: Recording) -> float:
        answers = TARGETS["retrieved"].answers(RunConfig("", "", answerer=cast(Any, self.name)))
        assert answers is not None
        answer = answers(question, recording, self.ask)
        if answer.status == "failed":
            raise ModelError(f"The answer to question '{question.id}' failed ({answer.reason}): drill again to go on.")
        text = answer.answer if answer.status == "answered" else ""
        return token_f1(text, question.answer, question.language)


# Faults and strengths


def _cells(workspace: Workspace, trial: _Trial, progress: Progress) -> list[dict[str, Any]]:
    """Return what is noticed of every fault in every strength; cells that are kept are not done again."""
    kept, choices = workspace.store.cache(FACT), trial.choices
    model = workspace.settings.model if choices.answerer == "model" else ""
    state = (trial.info.id, trial.info.build, trial.info.embedder_identity, questions_hash(trial.questions), model)
    of = digest(VERSION, *state, json.dumps(asdict(choices), sort_keys=True), length=32)
    cells: list[dict[str, Any]] = []
    todo = [(name, strength) for name, fault in FAULTS.items() for strength in fault.strengths]
    keys = [digest(of, name, str(strength), length=32) for name, strength in todo]
    held = kept.get_many(keys)
    for place, ((name, strength), key) in enumerate(zip(todo, keys, strict=True)):
        steps = (place * choices.repetitions, len(todo) * choices.repetitions)
        body = held.get(key) or json.dumps(_cell(trial, name, strength, progress, steps)).encode()
        kept.put_many({key: body})
        cells.append(json.loads(body))
    return cells


def _cell(trial: _Trial, name: str, strength: float, progress: Progress, steps: tuple[int, int]) -> dict[str, Any]:
    """Plant a fault in one strength as often as was chosen, and count what is noticed.

    "points" is the mean loss by counting, "change" the mean change of recall in the questions' own words. A context is
    cut in one way only, and no ranking changes: that is done once, for the answers.
    """
    fault = FAULTS[name]
    counts = {"n": 0, "worse": 0, "stopped": 0}
    empty = {"points": 0.0, "change": 0.0, "repetitions": 0, **counts, "noisy": dict(counts), "answers": None}
    body = {"fault": name, "strength": strength, "reason": "", **empty}
    _, reason = faults.plantable(name, trial.ground)
    if not reason and fault.cuts and not trial.answerer.answers:
        reason = "it is not drilled without answers"
    if reason:
        return body | {"reason": reason}
    planted = []
    for number in range(1 if fault.cuts else trial.choices.repetitions):
        progress(steps[0] + number, steps[1], "plantings", fault.title.capitalize())
        draw = np.random.default_rng([trial.choices.seed, *name.encode(), round(1000 * strength), number])
        planted.append(trial.planted(name, strength, draw))
    points = float(np.mean([each.points for each in planted]))
    if not fault.cuts and not points:
        return body | {"reason": _too_small(trial, name, strength)}
    body |= {"points": points, "change": float(np.mean([each.own.mean() for each in planted]))}
    body |= {"repetitions": len(planted)}
    body |= trial.noticed(np.column_stack([each.own for each in planted]), trial.choices.metric)
    body["noisy"] = trial.noticed(np.column_stack([each.noisy for each in planted]), trial.choices.metric)
    answers = [each.answers for each in planted if each.answers is not None]
    if answers:
        columns = np.column_stack(answers)
        change = 0.0 if np.isnan(columns).all() else float(np.nanmean(columns))
        body["answers"] = trial.noticed(columns, ANSWER_METRIC) | {"change": change}
    return body


def _too_small(trial: _Trial, name: str, strength: float) -> str:
    n = len(trial.questions)
    if not faults.whole(strength, n):
        return f"{100 * strength:g} points of {n:,} question{'s' * (n != 1)} are less than half a question"
    where = "with a number in their evidence " if name == "numbers" else ""
    return f"too few questions {where}are found, or their evidence is that of others too"


# Where


def _where(workspace: Workspace, trial: _Trial) -> dict[str, Any]:
    """Return the parts of the corpus and of the questions, and whether a loss of all evidence in one is noticed.

    Its loss is counted in the questions' own words, and nothing else differs: no smaller loss there is noticed better.
    """
    documents = workspace.store.documents.texts(trial.info.corpus_id, list(trial.info.documents))
    parts, sections = places.parts(documents, trial.chunks, trial.questions)
    parts = [part for part in parts if part.chunks]
    for by, names in (("type", [q.type for q in trial.questions]), ("style", [q.style for q in trial.questions])):
        for name in dict.fromkeys(filter(None, names)):
            mine = tuple(n for n, each in enumerate(names) if each == name)
            parts.append(places.Part(by, name, 0, mine))
    columns = np.column_stack([_lost(trial, part) for part in parts]) if parts else np.zeros((0, 0))
    worse, stopped = decided(columns, trial.clusters, trial.choices.metric, trial.choices.no_worse_than)
    rows = [
        {"by": part.by, "name": part.name, "chunks": part.chunks, "questions": len(part.questions), "share": part.share}
        | {"change": float(columns[:, number].mean()), "worse": bool(worse[number]), "stopped": bool(stopped[number])}
        for number, part in enumerate(parts)
    ]
    return {"where": rows, "sections": asdict(sections)}


def _lost(trial: _Trial, part: places.Part) -> Floats:
    """Return the change of recall when all chunks with evidence of a part's questions are lost, (n,)."""
    rows = {row for n in part.questions for group in trial.gold[n] for row in group}
    touched = {question for row in rows for question in trial.ground.questions_at[row]}
    change = np.zeros(len(trial.questions))
    for question in touched:
        change[question] = -trial.ground.loss(question, rows)
    return change


def stored(workspace: Workspace, question_set: QuestionSet) -> dict[str, Any] | None:
    """Return the last drill of a question set; None without one, or when another version of ragviz made it."""
    fact = workspace.store.sets.fact(question_set.id, FACT)
    return fact if isinstance(fact, dict) and fact.get("version") == VERSION else None
