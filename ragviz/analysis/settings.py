"""The choices of a configuration as a person reads them: their names, and which of them a run uses."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

TITLES: Mapping[str, str] = {
    "index": "Index",
    "index.name": "Index",
    "index.chunker": "Chunker",
    "index.chunk_size": "Chunk size (tokens)",
    "index.overlap": "Overlap (tokens)",
    "index.embedder": "Embedder",
    "index.backend": "Backend",
    "index.similarity": "Similarity",
    "index.options": "Options of the backend",
    "index.chunker_options": "Options of the chunker",
    "index.prefix": "Put before each chunk",
    "index.chunking_rules": "Version of the chunker",
    "questions": "Question set",
    "split": "Side of the split",
    "retriever": "Retriever",
    "rrf_constant": "RRF constant",
    "reranker": "Reranker",
    "rerank_depth": "Chunks reranked",
    "k": "k (chunks kept)",
    "depth": "Depth (chunks retrieved)",
    "answerer": "Answerer",
    "model": "Answering model",
    "temperature": "Temperature",
    "instructions": "Instructions to the model",
    "context": "Context",
    "context_tokens": "Context budget (tokens)",
    "judge": "Judge",
    "metrics": "Metrics of answers",
    "seed": "Seed",
}
"""Choice of a run ("k"), or of its index ("index.chunk_size") → its name."""

_USED: Mapping[str, Callable[[Mapping[str, Any]], bool]] = {
    "rrf_constant": lambda config: config.get("retriever") == "hybrid",
    "rerank_depth": lambda config: config.get("reranker", "none") != "none",
    "model": lambda config: config.get("answerer") == "model",
    "temperature": lambda config: config.get("answerer") == "model",
    "instructions": lambda config: config.get("answerer") == "model",
    "context": lambda config: config.get("answerer", "none") != "none",
    "context_tokens": lambda config: config.get("answerer", "none") != "none",
}
"""Choice → whether a run with this configuration uses it; all others are always used."""


def title(key: str) -> str:
    """Return the name of a choice by its dotted key; options of a backend or chunker have their own names.

    >>> title("index.chunk_size"), title("index.options.ef_construction"), title("of a later version")
    ('Chunk size (tokens)', 'Backend: ef construction', 'of a later version')
    """
    if key in TITLES:
        return TITLES[key]
    for group, name in (("index.options.", "Backend"), ("index.chunker_options.", "Chunker")):
        if key.startswith(group):
            return f"{name}: {key.removeprefix(group).replace('_', ' ')}"
    return key


def used(key: str, config: Mapping[str, Any]) -> bool:
    """Whether a run with this configuration uses a choice: the RRF constant counts in hybrid retrieval only."""
    return key not in _USED or _USED[key](config)


def value_words(key: str, value: object) -> str:
    """Return the value of a choice as a table shows it; a dash where a run has no such choice.

    >>> value_words("metrics", ["faithfulness", "token_f1"]), value_words("split", ""), value_words("model", None)
    ('faithfulness, token_f1', 'all questions', '–')
    """
    if key == "split" and value == "":
        return "all questions"
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value)) or "–"
    return "–" if value is None or value == "" else str(value)
