"""The gold chunks, handed over as if retrieval never failed: the upper bound of the pipeline."""

from __future__ import annotations

from dataclasses import replace

from ragviz.targets import retrieved_chunks

TARGET = replace(
    retrieved_chunks.TARGET,
    basis="the evidence chunks",
    hands_over=lambda retrieved, k: tuple(dict.fromkeys(chunk for group in retrieved.gold for chunk in group[:1])),
)
"""One gold chunk of each group of the evidence is handed over."""
