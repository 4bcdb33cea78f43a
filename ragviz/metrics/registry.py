"""The registry of metrics: of rankings, of characters, of answers; page, command line and library read it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Generic, Literal, TypeVar

from ragviz.errors import UsageError
from ragviz.metrics import ranking
from ragviz.metrics.answers import ANSWER_METRICS, AnswerMetric
from ragviz.metrics.characters import (
    CharacterTable,
    character_iou,
    character_precision,
    character_recall,
    chroma_iou,
    chroma_precision,
)
from ragviz.metrics.places import Place
from ragviz.metrics.ranking import Floats, RankTable

Table = TypeVar("Table", RankTable, CharacterTable)


@dataclass(frozen=True, slots=True)
class Metric(Generic[Table]):
    """One metric: how it is computed, and what a person must know to read it.

    `function` gives a number per question: an array (n, depth) with a column per k when `at_k`, else (n,). `needs`
    names the table it reads: "ranking" is `measure`'s, "evidence" `measure_characters`'. `version` changes with the
    formula. `shown` maps each place where it is shown by default to its position there.
    """

    title: str
    explanation: str
    function: Callable[[Table], Floats]
    needs: Literal["ranking", "evidence"] = "ranking"
    at_k: bool = True
    range: tuple[float, float] = (0.0, 1.0)
    higher_is_better: bool = True
    version: str = "1"
    shown: Mapping[Place, int] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """Title without its "@k"."""
        return self.title.removesuffix("@k")


RANKING: dict[str, Metric[RankTable]] = {
    "recall": Metric(
        "Recall@k",
        "Share of a question's evidence groups of which a gold chunk is among the first k: with one source chunk, "
        "whether it is there at all. 0 to 1. Low: the evidence ranks below k, or was cut so that no chunk matches.",
        ranking.recall,
        shown={"tile": 1, "curve": 1, "row": 1},
    ),
    "chunk_recall": Metric(
        "Chunk recall@k",
        "Share of a question's gold chunks that are among the first k. 0 to 1. Low: evidence spread over more chunks "
        "than k, or gold chunks that rank below k.",
        ranking.chunk_recall,
    ),
    "precision": Metric(
        "Precision@k",
        "Share of the first k chunks that are gold. 0 to 1, and with one gold chunk never above 1/k. Low: k is larger "
        "than the evidence needs, or other chunks rank above the gold ones.",
        ranking.precision,
        shown={"curve": 2},
    ),
    "f1": Metric(
        "F1@k",
        "Harmonic mean of a question's precision@k and recall@k. 0 to 1, and with one gold chunk never above "
        "2/(k + 1). Low: one of the two is.",
        ranking.f1,
        shown={"curve": 3},
    ),
    "hit": Metric(
        "Hit@k",
        "Whether any gold chunk is among the first k. 0 or 1; its mean is the share of questions. Low: the first gold "
        "chunk ranks below k.",
        ranking.hit,
    ),
    "all_groups": Metric(
        "All groups@k",
        "Whether every evidence group of the question is found among the first k. 0 or 1; its mean is the share of "
        "questions. Low: questions that need several passages get some of them only.",
        ranking.all_groups,
    ),
    "ndcg": Metric(
        "nDCG@k",
        "Gold chunks among the first k, each worth its grade (1 where none was judged) and less the lower it ranks, ÷ "
        "the best order there could be. 0 to 1. Low: gold chunks are missing, or rank behind others.",
        ranking.ndcg,
        version="2",
    ),
    "mrr": Metric(
        "MRR",
        "1 ÷ rank of the first gold chunk, 0 for a miss, averaged. 0 to 1; 0.5 is rank 2 for all. Low: the first gold "
        "chunk is far down or missing.",
        ranking.reciprocal_rank,
        at_k=False,
        shown={"tile": 2, "row": 2},
    ),
    "map": Metric(
        "MAP",
        "Precision at the rank of each gold chunk, averaged over the gold chunks, then over questions. 0 to 1; with "
        "one gold chunk the same as MRR. Low: some gold chunks are far down or missing.",
        ranking.average_precision,
        at_k=False,
    ),
}

_CHARACTERS: dict[str, Metric[CharacterTable]] = {
    "character_recall": Metric(
        "Character recall@k",
        "Share of the evidence's characters that the first k chunks hold. 0 to 1. Low: the evidence ranks below k, or "
        "chunk borders cut it.",
        character_recall,
        needs="evidence",
    ),
    "character_precision": Metric(
        "Character precision@k",
        "Share of the first k chunks' characters that are evidence. 0 to 1, and small for short quotes in long "
        "chunks. Low: chunks are longer, or more, than the evidence needs.",
        character_precision,
        needs="evidence",
    ),
    "character_iou": Metric(
        "Character IoU@k",
        "Characters that are both evidence and in the first k chunks ÷ characters that are either. 0 to 1. Low: "
        "evidence is missing, or much else was retrieved.",
        character_iou,
        needs="evidence",
    ),
    "chroma_precision": Metric(
        "Character precision@k, Chroma's",
        "As character precision, but every retrieved chunk counts with its whole length, so that what overlaps counts "
        "each time: the same where no chunks overlap. 0 to 1. Low: as there, or chunks repeat each other.",
        chroma_precision,
        needs="evidence",
    ),
    "chroma_iou": Metric(
        "Character IoU@k, Chroma's",
        "As character IoU, but every retrieved chunk counts with its whole length: found ÷ (lengths of the chunks + "
        "evidence not found). 0 to 1. Low: as there, or chunks repeat each other.",
        chroma_iou,
        needs="evidence",
    ),
}

METRICS: dict[str, Metric[RankTable] | Metric[CharacterTable]] = {**RANKING, **_CHARACTERS}

REGISTRY: dict[str, Metric[RankTable] | Metric[CharacterTable] | AnswerMetric] = {**METRICS, **ANSWER_METRICS}
"""Every metric there is: of rankings, of characters, of answers."""


def shown_in(place: Place) -> tuple[str, ...]:
    """Return the metrics that are shown in a place by default, in their order: those of rankings, then of answers.

    >>> shown_in("curve"), shown_in("row")[:3]
    (('recall', 'precision', 'f1'), ('recall', 'mrr', 'completeness'))
    """
    kinds = [[name for name in metrics if place in REGISTRY[name].shown] for metrics in (METRICS, ANSWER_METRICS)]
    return tuple(name for names in kinds for name in sorted(names, key=lambda name: REGISTRY[name].shown[place]))


def scores(table: RankTable, k: int, *, characters: CharacterTable | None = None) -> dict[str, Floats]:
    """Compute every metric that the tables allow, a number per question, (n,): "recall@3" …, "mrr", "map".

    `characters` need be measured to `k` only.

    Raises:
        UsageError: `k` is not between 1 and the table's depth.

    """
    if not 1 <= k <= table.depth:
        raise UsageError(f"k = {k} cannot be read off rankings to depth {table.depth}; give 1 to {table.depth}.")
    values = {name: metric.function(table) for name, metric in RANKING.items()}
    if characters is not None:
        values |= {name: metric.function(characters) for name, metric in _CHARACTERS.items()}
    return {label(name, k): array[:, k - 1] if METRICS[name].at_k else array for name, array in values.items()}


def label(name: str, k: int) -> str:
    """Name of a metric as results are keyed: "recall@3", but "mrr", which has no k.

    >>> label("recall", 3), label("mrr", 3)
    ('recall@3', 'mrr')
    """
    return f"{name}@{k}" if METRICS[name].at_k else name
