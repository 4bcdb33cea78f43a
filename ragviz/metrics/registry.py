"""The registry of metrics: of rankings, of characters, of answers; page, command line and library read it."""

from __future__ import annotations

from ragviz.core.errors import NotFoundError, UsageError
from ragviz.metrics.answers import ANSWER_METRICS, AnswerMetric
from ragviz.metrics.characters import CHARACTERS, CharacterTable
from ragviz.metrics.rank_metrics import RANKING, Floats, Metric, Place, RankTable

METRICS: dict[str, Metric[RankTable] | Metric[CharacterTable]] = {**RANKING, **CHARACTERS}

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

    `characters` are measured at `k`.

    Raises:
        UsageError: `k` is not between 1 and the table's depth.

    """
    if not 1 <= k <= table.depth:
        raise UsageError(f"k = {k} cannot be read off rankings to depth {table.depth}; give 1 to {table.depth}.")
    values = {name: metric.function(table) for name, metric in RANKING.items()}
    values = {label(name, k): array[:, k - 1] if METRICS[name].at_k else array for name, array in values.items()}
    if characters is not None:
        values |= {label(name, k): metric.function(characters) for name, metric in CHARACTERS.items()}
    return values


OWN = "own"
"""What stands for k in the label of a metric that is measured at each run's own k: "recall@own"."""


def label(name: str, k: int | str) -> str:
    """Name of a metric as results are keyed: "recall@3", but "mrr", which has no k.

    >>> label("recall", 3), label("recall", OWN), label("mrr", 3)
    ('recall@3', 'recall@own', 'mrr')
    """
    return f"{name}@{k}" if METRICS[name].at_k else name


def labelled(written: str, k: int | str) -> str:
    """Return the label of a metric that is written with its k or without: "recall" at k = 3 is "recall@3".

    "recall@own" is recall at each run's own k.

    Raises:
        NotFoundError: there is no such metric.
        UsageError: it has no k, or no such k.

    """
    name, at, number = written.strip().partition("@")
    if name not in REGISTRY:
        raise NotFoundError(f"There is no metric '{name}'; there are {', '.join(REGISTRY)}.")
    plain = label(name, k) if name in METRICS else name
    if at and ("@" not in plain or (number != OWN and (not number.isdecimal() or int(number) < 1))):
        raise UsageError(f"'{written}' is no metric: write {plain}.")
    return label(name, number.lstrip("0")) if at else plain


def k_of(label: str, k: int) -> int:
    """Return the k of a label; `k` for a metric that has none, or is of each run's own."""
    number = label.partition("@")[2]
    return int(number) if number.isdigit() else k


def range_of(label: str) -> tuple[float, float]:
    """Return the least and the greatest value of a metric; 0 and 1 of one that another program made."""
    metric = REGISTRY.get(label.partition("@")[0])
    return metric.range if metric else (0.0, 1.0)


def title_of(label: str) -> str:
    """Return the label of a metric of rankings, or the name of one of answers, as people read it.

    >>> title_of("recall@3"), title_of("recall@own"), title_of("mrr"), title_of("questeval_recall")
    ('Recall@3', 'Recall@own k', 'MRR', 'RAGQuestEval recall')
    """
    name, _, k = label.partition("@")
    k = "own k" if k == OWN else k
    return REGISTRY[name].title.replace("@k", f"@{k}") if name in REGISTRY else label


def scale_of(label: str) -> str:
    """Return the scale of a metric as it stands behind its name.

    >>> scale_of("recall@3"), scale_of("ragas: faithfulness")
    (' (0 to 1)', '')
    """
    return " (0 to 1)" if label.partition("@")[0] in REGISTRY else ""


def k_read(label: str, own: int, k: int) -> int:
    """Return the k at which a run is measured: its `own` under "recall@own", else the common `k`."""
    return own if label.endswith(f"@{OWN}") else k
