"""The gold chunks, handed over as if retrieval never failed: the upper bound of the pipeline."""

from __future__ import annotations

from dataclasses import replace

from ragviz.core.ranking import Retrieved
from ragviz.targets import retrieved_chunks


def _gold(retrieved: Retrieved, _: int) -> tuple[str, ...]:
    """Return one gold chunk of each group of the evidence."""
    return tuple(dict.fromkeys(chunk_id for group in retrieved.gold for chunk_id in group[:1]))


TARGET = replace(retrieved_chunks.TARGET, basis="the evidence chunks", hands_over=_gold)
