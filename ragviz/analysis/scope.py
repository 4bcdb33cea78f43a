"""Which documents an interval speaks of, in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ragviz.metrics.registry import title_of
from ragviz.stats.clusters import FEW, Clusters
from ragviz.text.counts import counted


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
