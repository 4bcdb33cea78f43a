"""The choices behind an index and a run."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from ragviz.core.answer import AnswererName, ContextKind
from ragviz.core.digests import digest
from ragviz.core.split import Side

Backend = Literal["local", "elasticsearch"]
RetrieverName = str
"""A key of `retrieval.retrievers.RETRIEVERS`, or "imported" where another program ranked."""
"""How chunks are ranked; "imported" is another program's ranking, which cannot be run again."""
RerankerName = str
"""A key of `retrieval.rerankers.RERANKERS`, with a colon and a name behind some of them; or "none"."""


NO_EMBEDDER = "none"
"""What a user writes for an index without an embedder; `IndexConfig.embedder` is then ""."""


HAND_MADE = "hand-made"
"""What stands in place of a model's name where answers and verdicts were written by hand."""


@dataclass(frozen=True, slots=True)
class IndexConfig:
    """The configuration of an index of a corpus.

    `embedder` is "" for an index without vectors, which BM25 alone can search.

    `options` are the backend's own (type, m, ef_construction …), `chunker_options` the chunker's, by parameter.
    `chunking_rules` is the version of `index.chunking` that cut an index, set when it is built; 1 before versions.
    `prefix`, a key of `index.prefixes.PREFIXES`, is put before each chunk when it is embedded and indexed for BM25.
    """

    chunker: str = "tokens"
    chunk_size: int = 200
    overlap: int = 0
    embedder: str = "all-MiniLM-L6-v2"
    backend: Backend = "local"
    similarity: Literal["cosine", "dot_product", "l2_norm"] = "cosine"
    options: Mapping[str, Any] = field(default_factory=dict)
    chunker_options: Mapping[str, float] = field(default_factory=dict)
    chunking_rules: int = 1
    prefix: str = "none"

    def hash(self) -> str:
        """Return 16 hex characters, equal for equal configurations."""
        return hash_of(self)


@dataclass(frozen=True, slots=True)
class RunConfig:
    """The configuration of a run, without secrets. `index` and `questions` are ids in the store.

    `model` answers and `judge` judges, "" for none; `metrics` are those of the answers, ranking ones are always
    computed. `context_tokens` bounds the chunks in the prompt, in tokens of the index's embedder. `context` is
    "retrieved", "none" (closed book) or "oracle" (the gold chunks: an upper bound). `reranker` puts the first
    `rerank_depth` chunks of each ranking in a new order. `split` is the side of the question set's split that is asked,
    "" for all questions. `instructions` are added to the prompt of the model that answers.
    """

    index: str
    questions: str
    retriever: RetrieverName = "knn"
    k: int = 3
    depth: int = 50
    seed: int = 0
    rrf_constant: int = 60
    answerer: AnswererName = "none"
    model: str = ""
    temperature: float = 0.0
    context_tokens: int = 3000
    metrics: tuple[str, ...] = ()
    judge: str = ""
    context: ContextKind = "retrieved"
    reranker: RerankerName = "none"
    rerank_depth: int = 50
    split: Side | Literal[""] = ""
    instructions: str = ""

    def __post_init__(self) -> None:
        """Accept metrics as a list, as in JSON, and instructions with white space around them."""
        object.__setattr__(self, "metrics", tuple(self.metrics))
        object.__setattr__(self, "instructions", self.instructions.strip())

    @property
    def ranked_by(self) -> str:
        """Retriever and reranker, as a person reads them.

        >>> RunConfig("i", "q").ranked_by, RunConfig("i", "q", reranker="maxsim").ranked_by
        ('knn', 'knn + maxsim')
        """
        return self.retriever if self.reranker == "none" else f"{self.retriever} + {self.reranker}"

    def hash(self) -> str:
        """Return 16 hex characters, equal for equal configurations."""
        return hash_of(self)


def hash_of(config: IndexConfig | RunConfig) -> str:
    """Return the digest of a configuration's canonical JSON."""
    return digest(json.dumps(choices_of(config), sort_keys=True, ensure_ascii=False))


def choices_of(config: IndexConfig | RunConfig) -> dict[str, Any]:
    """Return every choice by name, without those added later that have their default: older ones keep their hash.

    >>> [len(choices_of(IndexConfig(chunker_options=options))) for options in ({}, {"window": 2})]
    [7, 8]
    """
    return {name: value for name, value in asdict(config).items() if name not in _ADDED or value != _ADDED[name]}


_ADDED: dict[str, Any] = {
    "chunker_options": {},
    "chunking_rules": 1,
    "prefix": "none",
    "reranker": "none",
    "rerank_depth": 50,
    "split": "",
    "instructions": "",
}
"""Fields that configurations stored by earlier versions lack, and the value they stand for."""
