"""An index and a run: the choices behind them, each declared once, and their stored rows."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

from ragviz.core.digests import digest
from ragviz.core.fields import choice, fields_of
from ragviz.core.question import Side
from ragviz.core.recording import AnswererName, ContextKind, Knows

Backend = Literal["local", "elasticsearch"]
RetrieverName = str
"""A key of `retrieval.retrievers.RETRIEVERS`, or "imported" where another program ranked, which cannot be repeated."""
RerankerName = str
"""A key of `retrieval.rerankers.RERANKERS`, with a colon and a name behind some of them; or "none"."""

NO_EMBEDDER = "none"
"""What a user writes for an index without an embedder; `IndexConfig.embedder` is then ""."""


REMOTE = "openai:"
"""Prefix of the names of an endpoint's embedders."""


@dataclass(frozen=True, slots=True)
class IndexConfig:
    """The configuration of an index of a corpus.

    `embedder` is "" for an index without vectors, which BM25 alone can search. `options` are the backend's own (type,
    similarity, m, ef_construction …).
    """

    chunker: str = choice("tokens", "Chunker", "How documents are cut.", choices="index.chunking:CHUNKERS")
    chunk_size: int = choice(
        200,
        "Chunk size (tokens)",
        "In the embedder's tokens; without one, in the packaged model's.",
        low=1,
        high=100_000,
        step=10,
        examples=(50, 100, 200, 400, 800),
    )
    overlap: int = choice(
        0,
        "Overlap (tokens)",
        "Tokens that a chunk shares with the one before.",
        low=0,
        step=10,
        examples=(0, 20, 50),
        named=lambda tokens: f"overlap {tokens}",
    )
    prefix: str = choice(
        "none",
        "Prefix",
        "Put before each chunk when it is embedded and indexed.",
        choices="index.prefixes:PREFIXES",
        named=lambda name: "" if name == "none" else f"{name} prefix",
    )
    embedder: str = choice(
        "all-MiniLM-L6-v2",
        "Embedder",
        "A sentence-transformers model, a folder, openai:MODEL at the configured endpoint, or none: nothing is "
        "embedded, and BM25 alone can search.",
        high=1000,
        titles={"": "no embedder"},
        unset="RAGVIZ_EMBEDDER",
    )
    query_prompt: str = choice(
        "",
        "Query prompt",
        "Put before each query, with a blank between, when an endpoint's model embeds it: “query:” for E5.",
        high=1000,
        swept=False,
        used=lambda config: config["embedder"].startswith(REMOTE),
    )
    passage_prompt: str = choice(
        "",
        "Passage prompt",
        "Put before each chunk likewise: “passage:” for E5. Models on this machine name their own prompts.",
        high=1000,
        swept=False,
        used=lambda config: config["embedder"].startswith(REMOTE),
    )
    backend: Backend = choice(
        "local",
        "Backend",
        "Where chunks are stored and searched.",
        choices={
            "local": "Files on this machine, searched exactly.",
            "elasticsearch": "The server of ELASTICSEARCH_URL, searched by the kind of index chosen.",
        },
        colon=True,
        unset="elasticsearch when configured",
        examples=("local", "elasticsearch:hnsw", "elasticsearch:int8_hnsw", "elasticsearch:flat"),
        named=lambda name: str(name).replace(":", " "),
    )
    options: Mapping[str, Any] = choice({}, "Options of the backend", swept=False)

    @property
    def prompts(self) -> dict[Literal["query", "passage"], str]:
        """The prompts of an endpoint's embedder."""
        return {"query": self.query_prompt, "passage": self.passage_prompt}

    def hash(self) -> str:
        """Return 16 hex characters, equal for configurations that find the same: replicas change nothing."""
        return hash_of(replace(self, options={name: self.options[name] for name in self.options if name != "replicas"}))


def _of_model(config: Mapping[str, Any]) -> bool:
    return bool(config["answerer"] == "model")


@dataclass(frozen=True, slots=True)
class RunConfig:
    """The configuration of a run, without secrets. `index` and `questions` are ids in the store.

    `model` answers and `judge` judges, "" for none; `metrics` are those of the answers, ranking ones are always
    computed. `context_tokens` bounds the chunks in the prompt, in tokens of the index's embedder. `context` is
    "retrieved", "none" (closed book) or "oracle" (the gold chunks: an upper bound). `reranker` puts the first
    `rerank_depth` chunks of each ranking in a new order. `split` is the side of the question set's split that is asked,
    "" for all questions; `limit` of them at most, 0 for all. `instructions` are added to the prompt of the model that
    answers.
    """

    index: str = choice("", "Index", group="", in_fingerprint=False, swept=False)
    questions: str = choice("", "Question set", group="", in_fingerprint=False, swept=False)
    retriever: RetrieverName = choice(
        "knn",
        "Retriever",
        "How chunks are ranked.",
        "retrieve",
        choices="retrieval.retrievers:RETRIEVERS",
        unset="knn; bm25 without an embedder; bm25 or hybrid where the embedder was not trained on the text",
    )
    rrf_constant: int = choice(
        60,
        "RRF constant",
        "Of reciprocal rank fusion in hybrid retrieval: Σ 1 ÷ (constant + rank).",
        "retrieve",
        low=0,
        high=1_000_000,  # far below it, both rankings count the same at every rank
        examples=(10, 60, 100),
        named=lambda constant: f"RRF {constant}",
        used=lambda config: bool(config["retriever"] == "hybrid"),
    )
    reranker: RerankerName = choice(
        "none",
        "Reranker",
        "What puts the first chunks of each ranking in a new order; a model's name follows a colon: "
        "cross-encoder:NAME-OR-FOLDER.",
        "retrieve",
        choices="retrieval.rerankers:RERANKERS",
        colon=True,
        high=500,
        examples=("none", "maxsim"),
        named=lambda name: "" if name == "none" else str(name),
    )
    rerank_depth: int = choice(
        50,
        "Chunks to rerank",
        "The first chunks of each ranking that the reranker reads; those behind keep their order.",
        "retrieve",
        low=1,
        high=1000,
        unset="50; model: 20",
        examples=(10, 20, 50),
        named=lambda depth: f"reranks {depth}",
        used=lambda config: bool(config["reranker"] != "none"),
    )
    depth: int = choice(
        50,
        "Depth",
        "Chunks that are stored of each ranking: evidence below it counts as missed.",
        "retrieve",
        low=1,
        high=1000,
        examples=(50, 100),
        named=lambda depth: f"depth {depth}",
    )
    k: int = choice(
        3,
        "k",
        "Chunks that are read of each ranking. Another k can be chosen later without a new run.",
        "retrieve",
        low=1,
        high=1000,
        examples=(1, 3, 5, 10),
        named=lambda k: f"k {k}",
    )
    seed: int = choice(0, "Seed", "Seed of the intervals' resampling.", "retrieve", low=0, high=2**31 - 1, swept=False)
    answerer: AnswererName | Literal["imported"] = choice(
        "none",
        "Answerer",
        "What answers from the context.",
        "answer",
        choices={
            "none": "No answers: only where the evidence ranks is measured.",
            "extractive": "The sentences of the context that share most words with the question. No model, nothing "
            "to pay.",
            "model": "A model answers from the context, with citations, and abstains when the context does not answer.",
        },
        named=lambda name: "no answers" if name == "none" else f"{name} answers",
    )
    model: str = choice("", "Model that answers", "", "answer", high=200, unset="RAGVIZ_MODEL", used=_of_model)
    temperature: float = choice(
        0.0,
        "Temperature",
        "Of the model that answers.",
        "answer",
        low=0,
        high=2,
        step=0.1,
        examples=(0.0, 0.7),
        named=lambda number: f"temperature {number:g}",
        used=_of_model,
    )
    instructions: str = choice(
        "",
        "Instructions to the model",
        "Added to the prompt of the model that answers.",
        "answer",
        high=4000,
        many_lines=True,
        used=_of_model,
    )
    context: ContextKind = choice(
        "retrieved",
        "Context",
        "What is answered from.",
        "answer",
        choices={
            "retrieved": "The first k chunks, as far as they fit the budget.",
            "none": "Closed book: no context, what the model knows by itself, the lower bound.",
            "oracle": "The evidence chunks as context: the upper bound, as if retrieval never failed.",
        },
        titles={"retrieved": "retrieved chunks", "none": "closed book", "oracle": "evidence chunks"},
        used=lambda config: config["answerer"] != "none",
    )
    context_tokens: int = choice(
        3000,
        "Context budget (tokens)",
        "Most tokens of chunks that are given to the answerer; what is cut off is recorded.",
        "answer",
        low=1,
        high=1_000_000,
        step=500,
        examples=(1000, 3000, 8000),
        named=lambda tokens: f"budget {tokens}",
        used=lambda config: config["answerer"] != "none" and config["context"] != "none",
    )
    metrics: tuple[str, ...] = choice(
        (), "Metrics of answers", "all, none, or names with commas.", "judge", swept=False
    )
    judge: str = choice(
        "", "Judge", "Model that judges.", "judge", high=200, unset="RAGVIZ_JUDGE, else RAGVIZ_MODEL", swept=False
    )
    split: Side | Literal[""] = choice(
        "",
        "Questions asked",
        "Ask one side of the set's split only.",
        "ask",
        choices={
            "": "All questions, whichever side of the split they are on.",
            "validation": "To choose between configurations.",
            "test": "To report the configuration that was chosen on validation. One that is chosen on test is not "
            "tested.",
        },
        titles={"": "all questions"},
        swept=False,
    )

    limit: int = choice(
        0,
        "Questions at most",
        "Ask so many questions only, drawn with the seed, documents by turns. 0: all.",
        "ask",
        low=0,
        high=1_000_000,
        swept=False,
    )

    system: str = choice(
        "",
        "Running system",
        "Answers in place of what is built here: a name of `ragviz targets list`, or module:function.",
        "",
        high=200,
    )

    def __post_init__(self) -> None:
        """Accept metrics as a list, as in JSON, and instructions with white space around them."""
        object.__setattr__(self, "metrics", tuple(self.metrics))
        object.__setattr__(self, "instructions", self.instructions.strip())

    @property
    def knows(self) -> Knows:
        """What a run that is made with these choices can tell."""
        if self.system:
            return Knows(ranking=False, answers=True, first_k=False, again=False, opaque=True)
        own, gold = self.context == "retrieved", self.context == "oracle"
        return Knows(
            contexts=own or gold,
            answers=self.answerer != "none",
            first_k=own,
            gold_read=gold,
            opaque=self.retriever == "imported",
        )

    @property
    def asks_model(self) -> bool:
        """Whether a model answers."""
        return self.answerer == "model"

    @property
    def by_rule(self) -> bool:
        """Whether answers are made without a model, which one could do better."""
        return self.answerer == "extractive"

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


def choices_of(config: IndexConfig | RunConfig) -> dict[str, Any]:
    """Return the choices that are not the default, by name: a choice that is added changes no other configuration.

    >>> choices_of(IndexConfig(chunk_size=100)), choices_of(RunConfig("i", "q"))
    ({'chunk_size': 100}, {'index': 'i', 'questions': 'q'})
    """
    fields = fields_of(type(config))
    return {name: value for name, value in asdict(config).items() if value != fields[name].default}


def identity_of(config: IndexConfig | RunConfig) -> dict[str, str]:
    """Return what enters a fingerprint: the choices that are not the default and can change a result, as texts."""
    fields = fields_of(type(config))
    return {name: str(value) for name, value in choices_of(config).items() if fields[name].in_fingerprint}


def hash_of(config: IndexConfig | RunConfig) -> str:
    """Return the digest of a configuration's canonical JSON."""
    return digest(json.dumps(choices_of(config), sort_keys=True, ensure_ascii=False))


IndexStatus = Literal["building", "ready", "failed"]


@dataclass(frozen=True, slots=True)
class IndexInfo:
    """An index as stored. `build` names the cuts that are searched now, "" before the first build.

    `documents` are the ids it was built from, including those without chunks. `dims` is 0 and
    `embedder_identity` "" when it has no vectors, and before the first build.
    """

    id: str
    corpus_id: str
    name: str
    config: IndexConfig
    status: IndexStatus
    build: str
    documents: tuple[str, ...]
    chunks: int
    tokens: int
    dims: int
    embedder_identity: str
    created: float
    built: float | None


RunStatus = Literal["running", "done", "failed"]


@dataclass(frozen=True, slots=True)
class Run:
    """A run. `provenance` holds names, hashes and versions of what it used, as they were when it started.

    `person` made it, "" where that is not known. `note` and `tags` are a person's; they can be changed at any time, and
    no number depends on them.
    """

    id: str
    corpus_id: str
    name: str
    config: RunConfig
    fingerprint: str
    provenance: Mapping[str, Any]
    status: RunStatus
    created: float
    finished: float | None
    note: str = ""
    tags: tuple[str, ...] = ()
    person: str = ""

    @property
    def knows(self) -> Knows:
        """What its recordings can tell: what follows from its choices, and what was noted of those made elsewhere."""
        return replace(self.config.knows, **self.provenance.get("knows", {}))

    @property
    def answered_by(self) -> str:
        """Who answered its questions; "" where nobody did."""
        if not self.knows.answers:
            return ""
        return "another system" if self.knows.opaque else self.config.model or self.config.answerer

    @property
    def ranked_by(self) -> str:
        """Its retriever and reranker; "" where they are not known."""
        return "" if self.knows.opaque else self.config.ranked_by

    @property
    def choices(self) -> dict[str, Any]:
        """Its choices by name, its index under "index"; of another system's run only those of judging."""
        apart = ("index", "questions", "system")
        choices = {key: value for key, value in asdict(self.config).items() if key not in apart}
        if self.knows.opaque:
            return {key: choices[key] for key in ("metrics", "judge")}
        if self.answered_by and not self.knows.again:
            choices["answerer"] = self.answered_by  # by hand: no model was asked
        return choices | {"index": {"name": self.provenance["index"], **(self.provenance["index_config"] or {})}}

    @property
    def set_name(self) -> str:
        """Its question set with the side of its split that it asks: "asked (test)".

        "asked (validation, chosen on it)" says that its configuration was chosen on these questions.
        """
        name, side = self.provenance["questions"], self.config.split
        marks = [*filter(None, [side]), *(["chosen on it"] if self.provenance.get("chosen_by") else [])]
        return f"{name} ({', '.join(marks)})" if marks else str(name)

    @property
    def index_name(self) -> str:
        """The name of its index; "" where it has none."""
        return "" if self.knows.opaque else str(self.provenance["index"])
