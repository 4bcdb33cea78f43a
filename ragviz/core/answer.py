"""What was answered to a question."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ragviz.core.call import Call

AnswererName = Literal["none", "extractive", "model"]
ContextKind = Literal["retrieved", "none", "oracle"]
AnswerStatus = Literal["answered", "refused", "failed"]


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
