"""A question and the contexts of its recording → an answer, by a model or without one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial

from pydantic import BaseModel

from ragviz.core.configuration import RunConfig
from ragviz.core.digests import digest, json_line
from ragviz.core.errors import ModelError, UsageError
from ragviz.core.question import Question
from ragviz.core.recording import AnswerStatus, Context, Recording
from ragviz.models.requests import Completion, Request
from ragviz.targets import citations, extraction
from ragviz.targets.target import Answers, Ask
from ragviz.text import language
from ragviz.text.denial import abstains

MOST_TOKENS = 1024
"""Tokens of a model's reply: twice an answer of 500 tokens, which is ten times a short one."""
VERSIONS = {"extractive": extraction.VERSION, "model": "1"}
"""Version of each answerer: of the extractive rule, and of the model's prompt."""
REFUSALS = {"en": "The passages do not tell.", "zh": "所给的段落没有说明。"}
"""What an answerer says when its contexts do not answer the question, by language."""
ADDED = {"en": "Further instructions of the person who asks you:", "zh": "提问者的补充要求："}
"""Said before the instructions that a run adds to the prompt."""


class AnswerReply(BaseModel):
    """The answer to the question, and whether the passages give one."""

    answerable: bool
    answer: str


@dataclass(frozen=True, slots=True)
class Prompt:
    """A prompt and what it has the model say in refusal, by language; the question may stand within its fence."""

    system: Mapping[str, str]
    refusals: Mapping[str, str]
    question_in_fence: bool = False


def question_language(question: Question) -> str:
    """Return the language of the question's own words; where they show none, that which it is marked with."""
    detected = language.detect(question.text)
    return question.language if detected == "und" else detected


def refusal_language(question: Question) -> str:
    """Return the language in which a question is refused: "zh" or "en"."""
    return "zh" if question_language(question) == "zh" else "en"


def answer_request(prompt: Prompt, config: RunConfig, question: Question, recording: Recording) -> Request[AnswerReply]:
    """Build the request to the model; the instructions of the run, "" for none, end the system message."""
    lang, contexts = refusal_language(question), recording.contexts
    question_line = json_line(question.query)
    # The fence is made of the texts' own digest, so that no text can hold it.
    fence = f"passages-{digest(question_line, *(context.text for context in contexts))}"
    system = prompt.system[lang].format(fence=fence, refusal=prompt.refusals[lang])
    system += f"\n{ADDED[lang]}\n{config.instructions}" if config.instructions else ""
    lines = [line for n, context in enumerate(contexts, start=1) for line in (f"[{n}]", json_line(context.text))]
    user = [f"<{fence}>", *lines, f"</{fence}>", question_line]
    if prompt.question_in_fence:
        user = [f"<{fence}>", *lines, question_line, f"</{fence}>"]
    messages = [{"role": "system", "content": system}, {"role": "user", "content": "\n".join(user)}]
    return Request(messages, AnswerReply, temperature=config.temperature, seed=config.seed, max_tokens=MOST_TOKENS)


def read_answer(
    prompt: Prompt, question: Question, recording: Recording, completion: Completion[AnswerReply] | ModelError
) -> Recording:
    """Return a recording with the answer that a model gave to `answer_request`, its citations checked.

    A failed call is a failed answer, and so is an empty answer to a question that the model calls answerable. A refusal
    without words gets those of the prompt; one in words (`abstains`) is one, whatever the model calls the question.

    Raises:
        ModelError: the whole endpoint fails, not only this call.

    """
    version = VERSIONS["model"]
    if isinstance(completion, ModelError):
        if completion.outage:
            raise completion
        return replace(recording, status="failed", reason=str(completion), origin="model", version=version)
    reply = completion.parsed
    assert reply is not None
    text = reply.answer.strip()
    if not reply.answerable:
        text = text or prompt.refusals[refusal_language(question)]
    refused = not reply.answerable or abstains(text)
    status: AnswerStatus = "refused" if refused else "answered" if text else "failed"
    reason = "" if text else "the model calls the question answerable and gave an empty answer"
    right, wrong = citations.checked(citations.cited(text), len(recording.contexts))
    said = replace(recording, answer=text, status=status, reason=reason, citations=right, wrong_citations=wrong)
    return replace(
        said,
        usage=completion.call("answer", version),
        seconds=completion.seconds,
        origin=completion.model,
        version=version,
    )


def placeholder(question: Question, contexts: tuple[Context, ...]) -> AnswerReply:
    """Make up a reply about as long as a model's, for a dry run: the reference, else the beginning of a context."""
    text = question.answer or (contexts[0].text[:200] if contexts else REFUSALS["en"])
    return AnswerReply(answerable=True, answer=f"{text} [1]")


def _by_model(
    prompt: Prompt, config: RunConfig, question: Question, recording: Recording, ask: Ask | None
) -> Recording:
    if ask is None:
        raise UsageError(
            "The answerer 'model' needs a model: set OPENAI_API_KEY or OPENAI_BASE_URL, or use 'extractive'."
        )
    completion: Completion[AnswerReply] | ModelError
    try:
        completion = ask(answer_request(prompt, config, question, recording))
    except ModelError as error:
        completion = error
    return read_answer(prompt, question, recording, completion)


def _extractive(prompt: Prompt, _: RunConfig, question: Question, recording: Recording, __: Ask | None) -> Recording:
    answered = extraction.extractive(question, recording, question_language(question))
    refusal = prompt.refusals[refusal_language(question)]
    return answered if answered.status == "answered" else replace(answered, answer=refusal)


ANSWERERS = {"extractive": _extractive, "model": _by_model}
"""Answerer by name: (prompt, choices, question, recording, ask); only "model" asks, and reads the choices."""


def answers_of(prompt: Prompt, config: RunConfig) -> Answers | None:
    """Return what answers by a run's choices: it raises ModelError where the model endpoint is down or refuses the key.

    None for a run without answers.

    Raises:
        UsageError: there is no such answerer.

    """
    if not config.knows.answers:
        return None
    if config.answerer not in ANSWERERS:
        raise UsageError(f"There is no answerer '{config.answerer}'; there are {', '.join(ANSWERERS)}.")
    return partial(ANSWERERS[config.answerer], prompt, config)
