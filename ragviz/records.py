"""The frozen dataclasses that cross folders. Offsets are characters of `Document.text`, end exclusive.

Longer than 500 lines: readers look for records in one place, and most of them refer to others.
"""

from __future__ import annotations

import hashlib
import json
import re
import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, Protocol

Backend = Literal["local", "elasticsearch"]
RetrieverName = str
"""A key of `retrieval.retrievers.RETRIEVERS`, or "imported" where another program ranked."""
"""How chunks are ranked; "imported" is another program's ranking, which cannot be run again."""
RerankerName = str
"""A key of `retrieval.rerankers.RERANKERS`, with a colon and a name behind some of them; or "none"."""
GeneratorName = Literal["extractive", "model"]
"""Programs whose judged runs can be imported."""
QuestionStatus = Literal["proposed", "accepted", "rejected", "quarantined"]
"""A quarantined question is kept out of runs until it is released; its reason names the check that it failed."""
ASKED: tuple[QuestionStatus, ...] = ("proposed", "accepted")
"""Statuses of the questions that a run asks."""
QuestionKind = Literal["single", "multi", "reference", "unanswerable"]
QuestionType = Literal[
    "", "fact", "number", "definition", "list", "table", "comparison", "bridge", "exception", "version", "follow-up",
    "unanswerable",
]  # fmt: skip
"""What a question asks for; "" when nobody said. "number": a number or date; "table": a cell of a table; "bridge":
facts of several passages joined by an entity; "exception": a negation or exception; "version": which version holds."""
QuestionStyle = Literal["", "colleague", "keywords", "long", "misspelt", "other-language", "other-words"]
"""How a question is put; "" when nobody said. "long": with circumstances; "other-language": not the document's;
"other-words": not those of the passage."""
Side = Literal["validation", "test"]
"""A side of a split: what is chosen is chosen on "validation", what is reported of the choice is measured on "test"."""
SIDES: tuple[Side, ...] = ("validation", "test")
SplitKind = Literal["stratified", "grouped", "imported"]
ScoreStatus = Literal["ok", "not_applicable", "no_answer", "judge_error", "skipped"]
AnswererName = Literal["none", "extractive", "model"]
ContextKind = Literal["retrieved", "none", "oracle"]
AnswerStatus = Literal["answered", "refused", "failed"]
Verdict = Literal["supported", "together", "contradicted", "absent"]
"""A text's verdict on a claim; "together": it supports the claim only with the others of its row that say so."""

SEPARATORS = re.compile("[\x7f-\x9f\u2028\u2029]")
"""Characters that may count as line ends and are not escaped in JSON, with the other control characters."""


def json_line(value: Any) -> str:
    r"""Encode JSON for a prompt: on one line, by every definition of line ends.

    >>> print(json_line(["é\u2028", "\x85\n"]))
    ["é\u2028", "\u0085\n"]
    """
    return SEPARATORS.sub(lambda match: f"\\u{ord(match[0]):04x}", json.dumps(value, ensure_ascii=False))


def digest(*parts: str | bytes, length: int = 16) -> str:
    """Return the hex digest of `parts`, with their lengths, so that ("ab", "c") and ("a", "bc") differ.

    >>> digest("ab", "c") == digest("a", "bc")
    False
    """
    state = hashlib.sha256()
    for part in parts:
        data = part.encode("utf-8", "surrogatepass") if isinstance(part, str) else part
        state.update(len(data).to_bytes(8, "big"))
        state.update(data)
    return state.hexdigest()[:length]


class Cache(Protocol):
    """Caches vectors and replies, paid once: bytes by content key. Passed to embedders and model clients."""

    def get_many(self, keys: Sequence[str]) -> dict[str, bytes]:
        """Return the cached values; absent keys are left out."""
        ...

    def put_many(self, items: Mapping[str, bytes]) -> None:
        """Store `items`; existing keys are overwritten."""
        ...


class Pool(Protocol):
    """Keeps verdicts on chunks for all runs, by subject (what was asked), judge and chunk, each a digest."""

    def verdicts(self, subjects: Sequence[str], judge: str = "") -> Iterable[tuple[str, str, str, str]]:
        """Return (subject, judge, chunk, body) of every verdict on these subjects, by one judge or by all."""
        ...

    def add(self, judge: str, verdicts: Mapping[tuple[str, str], str]) -> None:
        """Keep verdicts of a judge: body by (subject, chunk)."""
        ...


class Progress(Protocol):
    """Receives the progress of a long task; may raise `Cancelled` to stop it."""

    def __call__(self, done: int, total: int | None, unit: str, message: str = "") -> None:
        """Report `done` of `total` (None: unknown) in `unit` ("chunks"); `message` names the current step."""
        ...


def silent(done: int, total: int | None, unit: str, message: str = "") -> None:
    """Ignore progress."""


@dataclass(frozen=True, slots=True)
class Page:
    """One page (or slide, or sheet) of a document: `document.text[start:end]`."""

    number: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Document:
    """A parsed file. `id` is made of name and text, so other bytes with the same text are the same document.

    `language` is "en", "zh", another ISO 639-1 code or "und"; `pages` is empty when the format has none.
    """

    id: str
    name: str
    text: str
    pages: tuple[Page, ...]
    language: str
    media_type: str
    content_hash: str
    size: int
    warnings: tuple[str, ...] = ()

    @staticmethod
    def make_id(name: str, text: str) -> str:
        """Return the id of this text under this name: 16 hex characters."""
        return digest(name, text)


_CHUNK_ID = re.compile(r"(.+)-([0-9]{8,18})-([0-9]{8,18})", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Chunk:
    """A cut of a document: `document.text[start:end] == chunk.text`, always.

    `tokens` counts the embedder's tokens without its special ones; of an index without an embedder, the packaged
    model's. `page` is the page of `start`, or None.
    """

    id: str
    document_id: str
    start: int
    end: int
    text: str
    tokens: int
    page: int | None = None

    @staticmethod
    def make_id(document_id: str, start: int, end: int) -> str:
        """Return 34 characters, the same for the same cut in every index, which sort in document order.

        >>> Chunk.make_id("0123456789abcdef", 5, 120)
        '0123456789abcdef-00000005-00000120'
        """
        return f"{document_id}-{start:08d}-{end:08d}"

    @staticmethod
    def parse_id(chunk_id: str) -> tuple[str, int, int] | None:
        """Return document id, start and end from a chunk's id; None for an id that `make_id` did not make.

        >>> Chunk.parse_id("0123456789abcdef-00000005-00000120"), Chunk.parse_id("passage 7")
        (('0123456789abcdef', 5, 120), None)
        """
        parts = _CHUNK_ID.fullmatch(chunk_id)
        return (parts[1], int(parts[2]), int(parts[3])) if parts else None


@dataclass(frozen=True, slots=True)
class Span:
    """A piece of evidence: a range of a document, and its text when it was chosen.

    By its `text` the span is found again when the document is replaced; it is `stale` when it was not. `grade` is its
    graded relevance, above 0: the gain of its chunks in nDCG.
    """

    document_id: str
    start: int
    end: int
    text: str = ""
    stale: bool = False
    grade: float = 1.0


Evidence = tuple[tuple[Span, ...], ...]
"""Groups of spans: every group is needed, any member of a group suffices."""


@dataclass(frozen=True, slots=True)
class Word:
    """A word of a parsed sentence: `text` is [start, end) of it; punctuation is a word too.

    `tag` is the part of speech (English: Penn Treebank; Chinese: jieba's). English words also have `lemma`, `entity`
    (spaCy's label, or "") and a place in the dependency tree: `head` is the index of the word they depend on, by `dep`;
    the root is its own head. Chinese words have neither: "" and -1.
    """

    start: int
    end: int
    text: str
    tag: str
    lemma: str = ""
    entity: str = ""
    dep: str = ""
    head: int = -1


LONGEST_ID = 64
"""Characters of an id at most."""


@dataclass(frozen=True, slots=True)
class Question:
    """A question with its answer and evidence.

    `generator` is "extractive", a model's name, "import" or "hand"; `reason` says why a rejected question was rejected;
    `source_chunks` are the ids of the chunks it was made from, empty for imported spans. `unanswerable` marks one that
    the documents do not answer, whatever its reference answer says; with evidence, it is not looked at.
    `split` is its side of its set's split, "" when it has none; it is no part of the question as a run asks it.

    `type` is what it asks for, `style` how it is put. `parts` are what each group of evidence says towards the answer,
    in the order of `evidence`, or empty. `history` are the earlier turns of a conversation, question and answer, the
    oldest first. `weight`, above 0, is how often it is asked in proportion to others. `verified_by` is the model that
    verified it, "rules" where rules did, "" where nothing did.
    """

    id: str
    text: str
    answer: str
    evidence: Evidence
    generator: str
    status: QuestionStatus = "proposed"
    reason: str = ""
    language: str = "en"
    source_chunks: tuple[str, ...] = ()
    unanswerable: bool = False
    split: Side | Literal[""] = ""
    type: QuestionType = ""
    style: QuestionStyle = ""
    parts: tuple[str, ...] = ()
    history: tuple[tuple[str, str], ...] = ()
    weight: float = 1.0
    verified_by: str = ""

    @property
    def asked(self) -> bool:
        """Whether a run asks it: it is neither rejected nor quarantined."""
        return self.status in ASKED

    @property
    def query(self) -> str:
        r"""The text that is searched for: its own, after the earlier questions of its conversation.

        >>> Question("q", "And in winter?", "", (), "hand", history=(("When is it open?", "From 9."),)).query
        'When is it open?\nAnd in winter?'
        """
        return "\n".join([*(asked for asked, _ in self.history), self.text])

    @property
    def kind(self) -> QuestionKind:
        """How many groups of evidence it needs, or why it has none.

        Without evidence, a question with an answer is "reference": its answer can be judged, its ranking cannot be
        measured, because where the answer stands is not known. One without an answer, or marked so, is "unanswerable".
        """
        if self.evidence:
            return "single" if len(self.evidence) == 1 else "multi"
        return "unanswerable" if self.unanswerable or not self.answer.strip() else "reference"


@dataclass(frozen=True, slots=True)
class Hit:
    """One ranked chunk: `rank` is 1-based, `score` is the retriever's own (higher is better)."""

    chunk_id: str
    rank: int
    score: float


@dataclass(frozen=True, slots=True)
class Ranking:
    """Chunk ids, best first, and their scores (same length; ties already broken by chunk id)."""

    ids: tuple[str, ...]
    scores: tuple[float, ...]

    def hits(self) -> list[Hit]:
        """Return the ranking as hits with 1-based ranks."""
        pairs = zip(self.ids, self.scores, strict=True)
        return [Hit(chunk_id, rank, score) for rank, (chunk_id, score) in enumerate(pairs, start=1)]


@dataclass(frozen=True, slots=True)
class Retrieved:
    """A run's result for one question: its ranking to depth, and the gold chunks of each group of its evidence.

    `gold` is empty for a question without evidence; a group is empty when its evidence is stale or its document is not
    in the index, and then it is never found. `grades` are those of gold chunks (by id) whose grade is not 1.
    """

    question_id: str
    ranking: Ranking
    gold: tuple[tuple[str, ...], ...]
    grades: Mapping[str, float] = field(default_factory=dict, hash=False)


@dataclass(frozen=True, slots=True)
class Score:
    """A number, or the reason there is none: `value` is None unless `status` is "ok"."""

    metric: str
    value: float | None
    status: ScoreStatus = "ok"
    reason: str = ""
    version: str = "1"


@dataclass(frozen=True, slots=True)
class Call:
    """One model call: `prompt` is the version of its prompt, `raw` its reply.

    `seconds` are in flight; `cost` is in dollars, None when the model has no price. A `cached` call cost nothing now.
    """

    step: str
    model: str
    prompt: str
    prompt_tokens: int
    completion_tokens: int
    seconds: float
    cost: float | None
    cached: bool
    raw: str


@dataclass(frozen=True, slots=True)
class Answer:
    """A run's answer to one question.

    `context` are the ids of the chunks in the prompt, in rank order; `cut` those among the first k that the budget left
    out, including one of which only a part fitted (it is in `context` too). `citations` are the ranks of hits that
    `text` cites and that were in its context, `wrong_citations` the other numbers it cites. A refused answer says that
    the passages do not answer the question; the `reason` of a `failed` one is why there is no answer.
    """

    question_id: str
    text: str
    status: AnswerStatus
    answerer: str
    context: tuple[str, ...] = ()
    cut: tuple[str, ...] = ()
    citations: tuple[int, ...] = ()
    wrong_citations: tuple[int, ...] = ()
    reason: str = ""
    version: str = "1"
    call: Call | None = None


@dataclass(frozen=True, slots=True)
class Claim:
    """One checkable statement; `sentence` is the 0-based sentence of its text that makes it, None when unknown.

    Sentences are those of `segmentation.sentences(text, language)`.
    """

    text: str
    sentence: int | None = None


@dataclass(frozen=True, slots=True)
class ClaimVerdict:
    """What one text says of one claim, and in which of its sentences (0-based, None when unknown)."""

    verdict: Verdict
    sentence: int | None = None


@dataclass(frozen=True, slots=True)
class Matrix:
    """Claim × chunk × reference of one answered question: all claim-based metrics are computed from it.

    `answer_by_chunk[i][j]` is the verdict of chunk j of the context on claim i of the answer, `reference_by_chunk` the
    same for the reference's claims; `answer_by_reference[i]` the verdict of the reference on claim i of the answer, and
    `reference_by_answer[i]` that of the answer on claim i of the reference. `useful[j]` is whether chunk j helps to
    answer the question. A part that was not judged is None. A claim that only several chunks together support has the
    verdict "together" in the column of each of them.
    """

    chunks: tuple[str, ...] = ()
    answer_claims: tuple[Claim, ...] | None = None
    reference_claims: tuple[Claim, ...] | None = None
    answer_by_chunk: tuple[tuple[ClaimVerdict, ...], ...] | None = None
    reference_by_chunk: tuple[tuple[ClaimVerdict, ...], ...] | None = None
    answer_by_reference: tuple[ClaimVerdict, ...] | None = None
    reference_by_answer: tuple[ClaimVerdict, ...] | None = None
    useful: tuple[bool, ...] | None = None


@dataclass(frozen=True, slots=True)
class BankItem:
    """One question of a RAGQuestEval bank: the key information it asks for, and the reference's answer.

    `answer` is None where the reference does not answer it (`<Unanswerable>`).
    """

    key: str
    question: str
    answer: str | None


@dataclass(frozen=True, slots=True)
class Bank:
    """The RAGQuestEval questions about one reference text; `maker` is "extractive", a model or "import"."""

    items: tuple[BankItem, ...]
    language: str
    maker: str
    version: str = "1"
    calls: tuple[Call, ...] = ()


Equivalence = Literal["equivalent", "partial", "different"]


@dataclass(frozen=True, slots=True)
class EvaluatedAnswer:
    """An answered question with all verdicts on it: every metric of answers is computed from it, without a model.

    What was not judged is None. `asked_back` are questions that the answer would answer, `noncommittal` whether it
    evades; `completeness` and `conciseness` are the judge's ratings, 0 to 1. `bank_answers` are the generated text's
    answers to the questions of `bank`, None for `<Unanswerable>`; the `extractive_` pair is made without a model.
    `similarity` is the cosine of answer and reference, `asked_back_similarity` those of the question to `asked_back`;
    `sentence_similarity` is, for each sentence of the answer, its best cosine with a sentence of the context.
    `shared_words` is the share of the answer's words (stems, numbers, ideographs) that occur in its context.
    `failures` says why a step has no result, by step.
    `verdicts` are results of steps that have no field of their own here, by step, of what JSON can hold.
    """

    question: Question
    answer: Answer
    matrix: Matrix = field(default_factory=Matrix)
    asked_back: tuple[str, ...] | None = None
    noncommittal: bool | None = None
    equivalence: Equivalence | None = None
    equivalence_reason: str = ""
    completeness: float | None = None
    conciseness: float | None = None
    bank: Bank | None = None
    bank_answers: tuple[str | None, ...] | None = None
    extractive_bank: Bank | None = None
    extractive_bank_answers: tuple[str | None, ...] | None = None
    similarity: float | None = None
    asked_back_similarity: tuple[float, ...] | None = None
    sentence_similarity: tuple[float, ...] | None = None
    failures: Mapping[str, str] = field(default_factory=dict)
    calls: tuple[Call, ...] = ()
    shared_words: float | None = None
    verdicts: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean over questions with its 95 % interval; all None when `n` (questions that have the score) is 0.

    `clusters` counts the groups of questions that share documents, which are the units of doubt. `design_effect` is the
    variance of the mean ÷ that of as many independent questions; None where unknown.
    """

    mean: float | None
    low: float | None
    high: float | None
    n: int
    clusters: int = 0
    design_effect: float | None = None

    @property
    def interval(self) -> tuple[float, float] | None:
        """Its interval, low and high end; None where one question, or only equal scores, tell nothing of a spread."""
        if self.low is None or self.high is None or self.n < 2 or self.low == self.high:
            return None
        return self.low, self.high

    def interval_words(self, digits: int = 2) -> str:
        """Write the interval, or why there is none.

        >>> Estimate(0.8, 0.741, 0.9, 10).interval_words(), Estimate(0.5, 0.5, 0.5, 1).interval_words()
        ('[0.74, 0.90]', 'no interval')
        """
        ends = self.interval
        return f"[{ends[0]:.{digits}f}, {ends[1]:.{digits}f}]" if ends else "no interval"


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


IndexStatus = Literal["building", "ready", "failed"]
RunStatus = Literal["running", "done", "failed"]
JobStatus = Literal["queued", "running", "done", "failed", "cancelled", "interrupted"]


@dataclass(frozen=True, slots=True)
class Corpus:
    """A named set of documents; `created` is seconds since 1970, as are all times here."""

    id: str
    name: str
    created: float


@dataclass(frozen=True, slots=True)
class DocumentInfo:
    """A row of the table of documents: a document without its text. `error` says why it could not be read.

    A "passage" belongs to an imported run, is in no list of documents, and is deleted with its run.
    """

    id: str
    corpus_id: str
    name: str
    status: Literal["ok", "error", "replaced", "passage"]
    pages: int
    characters: int
    language: str
    media_type: str
    content_hash: str
    size: int
    warnings: tuple[str, ...]
    error: str
    added: float


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


@dataclass(frozen=True, slots=True)
class Split:
    """How the questions of a set were divided into validation and test.

    `share` is that of validation; it and the seed are None where the sides were read from a file ("imported").
    """

    kind: SplitKind
    share: float | None = None
    seed: int | None = None


@dataclass(frozen=True, slots=True)
class QuestionSet:
    """A named list of questions about a corpus; `counts` is the number of questions by status.

    `split` is None until one is made. `sides` is the number of questions that a run asks by side of the split, "" for
    those on neither. `version` counts the edits of its questions; 0 before the first.
    """

    id: str
    corpus_id: str
    name: str
    created: float
    counts: Mapping[str, int]
    split: Split | None = None
    sides: Mapping[str, int] = field(default_factory=dict)
    version: int = 0

    @property
    def total(self) -> int:
        """The number of questions, whatever their status."""
        return sum(self.counts.values())

    @property
    def asked(self) -> int:
        """The number of questions that a run asks."""
        return sum(self.counts.get(status, 0) for status in ASKED)


@dataclass(frozen=True, slots=True)
class Edit:
    """Who edits a question set, and what is done: a version of the set is named by it.

    Edits with the same `key` that follow each other make one version, as those of one generation; "" makes one each.
    One that is `recorded` makes a version even where no question differs, as a verdict that changes no status.
    """

    author: str = ""
    action: str = "edited"
    key: str = ""
    recorded: bool = False


SYSTEM = "system:"
"""How the key of an edit begins that follows from a change of documents."""
EDITED, DELETED = Edit(), Edit(action="deleted")


@dataclass(frozen=True, slots=True)
class SetVersion:
    """A version of a question set: what made it of the one before, and how many `questions` that changed.

    `undoes` is the number of the version that it takes back, `restores` that of the one it goes back to; None when it
    does neither. One `by_system` followed from a change of documents: nobody takes it back. `key` is that of its edit.
    """

    number: int
    created: float
    author: str
    action: str
    questions: int
    undoes: int | None = None
    by_system: bool = False
    key: str = ""
    restores: int | None = None

    @property
    def who(self) -> str:
        """The author; "ragviz" where it followed from a change of documents and nobody is known to have made that."""
        return self.author or ("ragviz" if self.by_system else "")


@dataclass(frozen=True, slots=True)
class QuestionChange:
    """A question in two versions of its set; None where it is not in the set."""

    question_id: str
    before: Question | None
    after: Question | None


ReviewVerdict = Literal["accept", "reject", "unsure"]


@dataclass(frozen=True, slots=True)
class Review:
    """A question that is assigned to a reviewer, and the verdict; None until there is one.

    `version` is that of the question that was judged (`codecs.version_of`), "" without a verdict.
    """

    question_id: str
    reviewer: str
    assigned: float
    verdict: ReviewVerdict | None = None
    decided: float | None = None
    version: str = ""


@dataclass(frozen=True, slots=True)
class Comment:
    """A person's comment on a question."""

    id: str
    question_id: str
    author: str
    text: str
    created: float


@dataclass(frozen=True, slots=True)
class Run:
    """A run. `provenance` holds names, hashes and versions of what it used, as they were when it started.

    `note` and `tags` are a person's; they can be changed at any time, and no number depends on them.
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


Quantity = Literal["tokens", "dollars", "seconds", "refusals"]
"""What a guardrail bounds, on average over the questions: tokens read, dollars, seconds, the share that is refused."""
CellState = Literal["waiting", "running", "done", "failed"]


@dataclass(frozen=True, slots=True)
class Guardrail:
    """The most that a configuration may take on average for a question, as a number or as a multiple of the baseline's.

    >>> Guardrail("tokens", 1.5, relative=True).limit(600), Guardrail("seconds", 2.0).limit(None)
    (900.0, 2.0)
    """

    quantity: Quantity
    most: float
    relative: bool = False

    def limit(self, baseline: float | None) -> float | None:
        """Return the limit as a number; None for a multiple of what is not known."""
        if not self.relative:
            return self.most
        return None if baseline is None else self.most * baseline


@dataclass(frozen=True, slots=True)
class ExperimentRule:
    """What decides in an experiment, declared before its first result is seen.

    `primary` is the label of a metric ("recall@3", "faithfulness"), `minimum_effect` the smallest difference that
    matters as a share of its range, `baseline` the name of a cell.
    """

    primary: str
    minimum_effect: float
    baseline: str
    guardrails: tuple[Guardrail, ...] = ()


@dataclass(frozen=True, slots=True)
class Cell:
    """One configuration of an experiment: choices of an index and of a run, whose `index` is "" here.

    `name` says what tells it from the other cells. `reason` says why it failed. `index_id` and `run_id` are "" until
    there are any; they may be of an index and a run that were deleted since.
    """

    name: str
    index: IndexConfig
    run: RunConfig
    state: CellState = "waiting"
    reason: str = ""
    index_id: str = ""
    run_id: str = ""


@dataclass(frozen=True, slots=True)
class Confirmation:
    """The runs, by id, that asked the test side once: that of the baseline, and that of the cell that was chosen."""

    chosen: str
    baseline_run: str
    chosen_run: str
    created: float


@dataclass(frozen=True, slots=True)
class Experiment:
    """A named set of cells over one question set, with the rule that decides between them.

    `questions` is the id of the set, `split` the side of it that the cells ask, "" for all its questions. `left_out`
    are combinations of the grid that are impossible, and why, by name. `seen` is when the first result was stored, None
    before: the rule cannot be changed after it.
    """

    id: str
    corpus_id: str
    name: str
    questions: str
    split: Side | Literal[""]
    rule: ExperimentRule
    cells: tuple[Cell, ...]
    left_out: Mapping[str, str]
    created: float
    seen: float | None = None
    confirmation: Confirmation | None = None

    def cell(self, name: str) -> Cell | None:
        """Return the cell with this name."""
        return next((cell for cell in self.cells if cell.name == name), None)

    def run_name(self, cell: str, side: str = "") -> str:
        """Return the name of the run of a cell, or of its run on another side of the split."""
        return " · ".join(filter(None, (self.name, side, cell)))[:200]

    @property
    def baseline(self) -> Cell:
        """The cell with which the others are compared."""
        return next(cell for cell in self.cells if cell.name == self.rule.baseline)

    @property
    def finished(self) -> tuple[Cell, ...]:
        """The cells whose runs are done, the baseline first."""
        done = [cell for cell in self.cells if cell.state == "done"]
        return tuple(sorted(done, key=lambda cell: cell.name != self.rule.baseline))


@dataclass(frozen=True, slots=True)
class Job:
    """A long task in a child process. `done` of `total` in units of `unit`; `total` is None while unknown.

    `press` is the idempotency key of the button's press that started it, "" without one.
    """

    id: str
    kind: str
    title: str
    corpus_id: str
    arguments: Mapping[str, Any]
    status: JobStatus
    done: int
    total: int | None
    unit: str
    message: str
    created: float
    started: float | None
    heartbeat: float | None
    finished: float | None
    host: str
    pid: int | None
    pid_started: float | None
    cancel: bool
    result: Mapping[str, Any]
    error: str
    press: str = ""


def new_id() -> str:
    """Return 16 random hex characters."""
    return secrets.token_hex(8)
