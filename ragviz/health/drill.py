"""Drills: evidence is left out of the rankings of an index, and what a question set notices of that is counted.

A planted loss is noticed where the comparison with the whole index calls it worse. Each side asks every question in
another wording, drawn anew each time (see `wordings`), as systems differ in more than one fault. A false alarm is what
is noticed where nothing was left out.

Nothing of the index, its documents and its runs is changed.
"""

from __future__ import annotations

import math
import random
import re
import time
from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from ragviz.analysis import evaluate, requirements
from ragviz.analysis.rules import MINIMUM_EFFECT, verdict_of
from ragviz.core.configuration import IndexInfo, RetrieverName
from ragviz.core.errors import UsageError
from ragviz.core.question import Question
from ragviz.core.question_set import QuestionSet
from ragviz.core.ranking import Ranking
from ragviz.core.stopping import Progress, silent
from ragviz.metrics.registry import label
from ragviz.retrieval import search
from ragviz.retrieval.retrievers import chosen
from ragviz.runs import contexts
from ragviz.stats.clusters import Clusters
from ragviz.stats.differences import paired_differences
from ragviz.workspace import Workspace

_WORDS = re.compile(r"\S+")
FEWEST = 4
"""Words from which on one is left out; a text of fewer, or without blanks, is changed by its characters."""


def wordings(text: str, count: int, key: str) -> list[str]:
    """Return the text itself and `count` others, drawn by `key`, which may repeat; a text of one character has none.

    >>> wordings("How many days of leave are there?", 2, "q2")
    ['How many days of leave are there?', 'How many of leave are there?', 'How mayn days of leave are there?']
    """
    draw = random.Random(key)  # noqa: S311 - nothing secret
    return [text, *(_other(text, draw) for _ in range(count))]


def _other(text: str, draw: random.Random) -> str:
    words = list(_WORDS.finditer(text))
    if len(words) >= FEWEST and draw.random() < 0.5:
        left_out = draw.choice(words[:-1])  # the last one holds the question mark
        return text[: left_out.start()] + text[left_out.end() :].lstrip()
    pairs = ((at, text[at], text[at + 1]) for at in range(len(text) - 1))
    places = [  # different letters, not the first ones of a word
        at
        for at, one, two in pairs
        if one.isalpha() and two.isalpha() and one != two and at > 0 and (text[at - 1].isalpha() or not one.isascii())
    ]
    if not places:
        return text
    at = draw.choice(places)
    return text[:at] + text[at + 1] + text[at] + text[at + 2 :]


Floats = NDArray[np.float64]
Groups = Sequence[Sequence[str]]
"""The gold chunks of a question, by group of its evidence; a group without any is never found."""

FACT = "drill"
"""Name under which the last drill of a question set is kept with it."""
VERSION = "6"
"""Version of what is kept, and of the rules by which it is computed."""
LOSSES = (0.02, 0.03, 0.05, 0.07, 0.10)
"""Sizes of planted losses, as shares of recall."""
OTHERS = 4
"""Wordings of a question beside its own."""
REPETITIONS = 20
"""Plantings of each size."""
UNALTERED = 400
"""Comparisons of the whole index with itself: the rate of false alarms is known to 1 or 2 points."""
ROOM = 100
"""Chunks that may be left out of one ranking."""
BATCH = 500
"""Queries that are ranked together."""


def drill(
    workspace: Workspace,
    question_set: QuestionSet,
    info: IndexInfo,
    *,
    retriever: RetrieverName | None = None,
    k: int = 3,
    repetitions: int = REPETITIONS,
    progress: Progress = silent,
) -> dict[str, Any]:
    """Drill a question set on an index, keep the result as the set's fact `FACT`, and return it.

    Raises:
        UsageError: the set has no question with evidence, is of another corpus than the index, or a choice is invalid.
        SearchError: the index is damaged.

    """
    if k < 1 or repetitions < 1:
        raise UsageError(f"k is {k} and repetitions {repetitions}: give numbers from 1 on.")
    if info.corpus_id != question_set.corpus_id:
        raise UsageError(f"Index '{info.name}' and question set '{question_set.name}' are of different corpora.")
    info, metric = search.ready(workspace, info), label("recall", k)
    retriever = chosen(info, retriever)
    questions = [q for q in workspace.store.questions.all(question_set.id) if q.asked and q.evidence]
    if not questions:
        raise UsageError(
            f"Question set '{question_set.name}' has no question with evidence that is asked: nothing can be missed."
        )
    queries = [
        replace(question, text=text).query
        for question in questions
        for text in wordings(question.text, OTHERS, question.id)
    ]
    rankings, spending = list[Ranking](), workspace.spending(question_set.id)
    try:
        rank = search.retriever(workspace, info, retriever, spending=spending, progress=progress)
        for start in range(0, len(queries), BATCH):
            progress(start, len(queries), "questions", f"Ranking by {retriever}")
            rankings += rank(queries[start : start + BATCH], k + ROOM)
    finally:
        spending.settle()
    golds = [groups for groups, _ in contexts.gold_of(workspace, info, questions)]
    trial = _Trial(questions, golds, [ranking.ids for ranking in rankings], k)
    rows = []
    for number, loss in enumerate(LOSSES):
        progress(number, len(LOSSES), "sizes", "Leaving evidence out")
        rows.append(trial.planted(loss, repetitions, np.random.default_rng(round(1000 * loss))))
    fact = {
        "version": VERSION,
        "index": info.name,
        "set": question_set.name,
        "set_version": question_set.version,
        "date": time.time(),
        "retriever": retriever,
        "k": k,
        "metric": metric,
        "questions": len(questions),
        "documents": trial.clusters.documents,
        "chunks": info.chunks,
        "baseline": float(trial.base[:, 0].mean()),
        "false_alarms": trial.false_alarms(np.random.default_rng(1)),
        "losses": rows,
    }
    workspace.store.sets.put_fact(question_set.id, FACT, fact)
    return fact


def stored(workspace: Workspace, question_set: QuestionSet) -> dict[str, Any] | None:
    """Return the last drill of a question set; None without one, or when another version of ragviz made it."""
    fact = workspace.store.sets.fact(question_set.id, FACT)
    return fact if isinstance(fact, dict) and fact.get("version") == VERSION else None


class _Trial:
    """Questions with their gold chunks, and rankings of each of their wordings; `base` is their recall, (n, wordings).

    `found` are the groups of evidence that a question's own words find.
    """

    def __init__(
        self, questions: Sequence[Question], golds: Sequence[Groups], rankings: Sequence[Sequence[str]], k: int
    ) -> None:
        self.golds, self.rankings, self.k = golds, rankings, k
        self.clusters = evaluate.document_clusters(questions)
        self.base = np.array(
            [[self.recall(number, wording) for wording in range(1 + OTHERS)] for number in range(len(golds))]
        )
        self.found = [
            [group for group in groups if not self.first(number, 0).isdisjoint(group)]
            for number, groups in enumerate(golds)
        ]
        self.questions_of: dict[str, list[int]] = defaultdict(list)
        for number, groups in enumerate(golds):
            for chunk_id in {chunk_id for group in groups for chunk_id in group}:
                self.questions_of[chunk_id].append(number)

    def first(self, number: int, wording: int, removed: Collection[str] = ()) -> set[str]:
        """Return the first `k` chunks of a question in one of its wordings, when these chunks are not there.

        Exact for the nearest chunks. Of BM25, how rare words are is that of the whole index.
        """
        ids = self.rankings[number * (1 + OTHERS) + wording]
        return set(islice((chunk_id for chunk_id in ids if chunk_id not in removed), self.k))

    def recall(self, number: int, wording: int, removed: Collection[str] = ()) -> float:
        """Return the recall of a question in one of its wordings, without some chunks."""
        first = self.first(number, wording, removed)
        return sum(not first.isdisjoint(group) for group in self.golds[number]) / len(self.golds[number])

    def pair(self, draw: Generator) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Draw two different wordings of every question, one for each side."""
        first = draw.integers(0, 1 + OTHERS, len(self.golds))
        return first, (first + draw.integers(1, 1 + OTHERS, len(self.golds))) % (1 + OTHERS)

    def false_alarms(self, draw: Generator) -> dict[str, Any]:
        """Compare the whole index with itself, both sides in other wordings, and count what is noticed."""
        every = np.arange(len(self.golds))
        pairs = [self.pair(draw) for _ in range(UNALTERED)]
        return self.noticed([self.base[every, second] - self.base[every, first] for first, second in pairs])

    def planted(self, loss: float, repetitions: int, draw: Generator) -> dict[str, Any]:
        """Leave evidence out so often, in other places each time, and count what is noticed.

        "planted" is the mean loss of recall by counting; "reason" says why nothing can be left out, "" where it can.
        """
        body = {"loss": loss, "planted": 0.0, "repetitions": 0, "worse": 0, "reason": ""}
        n = len(self.golds)
        if not any(self.found):
            return body | {"reason": "no question finds its evidence"}
        if not (target := math.floor(loss * n + 0.5)):
            few = f"{100 * loss:g} points of {n:,} question{'s' * (n != 1)} are less than half a question"
            return body | {"reason": few}
        differences, losses = list[Floats](), list[float]()
        for _ in range(repetitions):
            removed, lost = self.chosen(target, draw)
            first, second = self.pair(draw)
            after = [self.recall(number, wording, removed) for number, wording in enumerate(second.tolist())]
            differences.append(np.array(after) - self.base[np.arange(n), first])
            losses.append(lost / n)
        if not any(losses):
            return body | {"reason": "too few questions are found, or their evidence is that of others too"}
        return body | {"planted": float(np.mean(losses)), **self.noticed(differences)}

    def chosen(self, target: int, draw: Generator) -> tuple[set[str], float]:
        """Draw gold chunks whose loss costs the recall of `target` questions, or as near below as can be, and the cost.

        All gold chunks of a question are chosen together, and every question that a chunk is gold for is counted.
        """
        removed, lost, total = set[str](), dict[int, float](), 0.0
        for number in draw.permutation(len(self.golds)).tolist():
            mine = {chunk_id for group in self.golds[number] for chunk_id in group} - removed
            if not self.found[number] or not mine:
                continue
            removed |= mine
            touched = {other for chunk_id in mine for other in self.questions_of[chunk_id]}
            after = {
                other: sum(removed.issuperset(group) for group in self.found[other]) / len(self.golds[other])
                for other in touched
            }
            more = sum(value - lost.get(other, 0.0) for other, value in after.items())
            if total + more > target + 1e-9:
                removed -= mine
                continue
            lost |= after
            total += more
            if total >= target - 1e-9:
                break
        return removed, total

    def noticed(self, differences: Sequence[Floats]) -> dict[str, Any]:
        """Return how many comparisons, differences (n,) each, are called worse."""
        worse = called_worse(np.column_stack(differences), self.clusters, label("recall", self.k))
        return {"repetitions": len(differences), "worse": sum(worse)}


def called_worse(differences: Floats, clusters: Clusters, metric: str) -> list[bool]:
    """Return whether each column of differences, (n, m), is called worse, as `compare` decides about one metric."""
    margin = requirements.margin_of(metric, MINIMUM_EFFECT)
    return [
        verdict_of(metric, each, each.p_value or 0.0, each.equivalent(margin) if margin else None) == "worse"
        for each in paired_differences(differences, clusters)
    ]
