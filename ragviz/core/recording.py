"""What a system under test did for one question: the contexts that it read and the answer that it gave."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Self

from ragviz.core.call import Call
from ragviz.core.document import Chunk

AnswererName = Literal["none", "extractive", "model"]
Found = Literal["verbatim", "normal", "nearly", "not"]
ContextKind = Literal["retrieved", "none", "oracle"]
AnswerStatus = Literal["answered", "refused", "failed", "none"]
Need = Literal["gold", "ranking", "contexts", "answer", "reference"]
"""What a metric reads."""


@dataclass(frozen=True, slots=True)
class Context:
    """A text that was read, with what is known of it: "", 0 and None stand for what is not.

    `text` is only the beginning of its chunk where not all of it fitted. It is not stored with a run: `chunk_id` says
    where it stands in which document. `tokens` are the embedder's, `score` is the retriever's (higher is better).

    What another system read was `found` there, which is "" of what was read here: verbatim, in normal form, or nearly,
    where a `share` of its words stands there and its text is stored; "not" is a passage that only its run has.
    """

    text: str = ""
    chunk_id: str = ""
    tokens: int = 0
    score: float | None = None
    found: Found | Literal[""] = ""
    share: float = 1.0

    @classmethod
    def of(cls, chunk: Chunk) -> Self:
        """Return a whole chunk as a context."""
        return cls(chunk.text, chunk.id, chunk.tokens)


@dataclass(frozen=True, slots=True)
class Recording:
    """What was read and answered for one question, by whatever target: nothing behind it asks by which.

    `contexts` are in the order in which they were read; `cut` are the ids of chunks that a budget left out, including
    one of which only a part fitted (it is in `contexts` too). `citations` are the 1-based places of contexts that the
    answer cites, `wrong_citations` the other numbers it cites. A "refused" answer says that the contexts do not answer
    the question; the `reason` of a "failed" one is why there is no answer; "none": the target gives no answers.
    `usage` is the model call behind the answer and `seconds` how long it took, None where that is not known. `origin`
    is shown: the answerer, the program that wrote a file; `version` is that of its prompt or rule.
    """

    question_id: str
    contexts: tuple[Context, ...] = ()
    answer: str = ""
    status: AnswerStatus = "none"
    reason: str = ""
    citations: tuple[int, ...] = ()
    usage: Call | None = None
    seconds: float | None = None
    origin: str = "none"
    cut: tuple[str, ...] = ()
    wrong_citations: tuple[int, ...] = ()
    version: str = "1"

    @property
    def read(self) -> tuple[str, ...]:
        """Ids of the chunks that were read, in their order."""
        return tuple(context.chunk_id for context in self.contexts)

    @property
    def texts(self) -> dict[str, str]:
        """The texts that were read, by chunk id."""
        return {context.chunk_id: context.text for context in self.contexts}

    @property
    def has_answer(self) -> bool:
        """Whether the target was to answer: also where it refused, or failed."""
        return self.status != "none"


@dataclass(frozen=True, slots=True)
class Knows:
    """What the recordings of a run can tell; what they cannot is not shown, neither as 0 nor as 1.

    `ranking`: rankings to the run's depth and the gold chunks in them, so that every k can be read off. `contexts`: the
    texts that were read; without them answers are the target's own knowledge. `answers`: an answer to each question.
    `reference`: what would have been right.
    `first_k`: the contexts are the first k of the ranking, which the answers then depend on; `gold_read`: they are the
    gold chunks. `again`: the target can be asked again. `opaque`: it is another system, into which one cannot look: it
    has no index, retriever and k here.
    """

    ranking: bool = True
    contexts: bool = True
    answers: bool = False
    reference: bool = True
    first_k: bool = True
    gold_read: bool = False
    again: bool = True
    opaque: bool = False

    @property
    def closed_book(self) -> bool:
        """Whether answers were given without any context."""
        return self.again and not self.contexts

    @property
    def tells(self) -> frozenset[Need]:
        """What metrics can read: a metric that needs more has no place in a run."""
        known: dict[Need, bool] = {"gold": self.ranking, "ranking": self.ranking, "contexts": self.contexts}
        known |= {"answer": self.answers, "reference": self.reference}
        return frozenset(need for need, is_known in known.items() if is_known)


RETRIEVED = Knows()
"""What a run tells that retrieves."""
