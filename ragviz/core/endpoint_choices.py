"""A running system that is asked over HTTP: where, with what, and where in its replies the parts are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from ragviz.core.fields import choice

EXPRESSION = 1_000
"""Characters of a JMESPath expression at most."""
MARK = "X-Ragviz-Target"
"""Header of what is sent to a running system: no dashboard takes it for a person's, whatever else is sent with it."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """An endpoint, without secrets: `${TARGET_NAME}` in its address and headers is that variable of the environment.

    `body` is JSON, in which `{{question}}`, `{{history}}` and `{{id}}` are those of the question that is asked. The
    parts of a reply are found by JMESPath, "" for one that it does not have; of a stream, in each of its events: texts
    of the answer are joined, of the other parts the last that is found counts.
    """

    name: str
    url: str = choice(
        "",
        "Address (URL)",
        "Where it is asked, with http:// or https://. {{question}} may stand in it; ${TARGET_NAME} is that "
        "variable of the environment.",
        "target",
        high=2_000,
    )
    method: Literal["POST", "GET", "PUT"] = choice(
        "POST",
        "Method",
        "",
        "target",
        choices={"POST": "", "GET": "Sends no body: the question stands in the address.", "PUT": ""},
    )
    headers: Mapping[str, str] = choice(
        {},
        "Headers",
        "Sent with each question. ${TARGET_NAME} is read from the environment then, and never stored or shown.",
        "target",
        separator=":",
    )
    body: str = choice(
        '{"question": "{{question}}"}',
        "Body",
        'JSON. "{{question}}", "{{history}}" (earlier turns; alone in a list, as messages with role and content) and '
        '"{{id}}" are filled in.',
        "target",
        high=100_000,
        many_lines=True,
    )
    stream: Literal["none", "events", "lines"] = choice(
        "none",
        "Form of a reply",
        "How it is sent.",
        "target",
        choices={
            "none": "One JSON value.",
            "events": "Server-sent events with JSON.",
            "lines": "NDJSON: JSON by line.",
        },
    )
    answer: str = choice("answer", "Answer", "JMESPath of the answer's text.", "target", high=EXPRESSION)
    contexts: str = choice(
        "", "Contexts", "JMESPath of the texts it read, as sources[].text.", "target", high=EXPRESSION
    )
    ids: str = choice("", "Ids", "JMESPath of the contexts' ids, as sources[].id.", "target", high=EXPRESSION)
    scores: str = choice("", "Scores", "JMESPath of the contexts' scores.", "target", high=EXPRESSION)
    documents: str = choice("", "Documents", "JMESPath of the contexts' documents.", "target", high=EXPRESSION)
    prompt_tokens: str = choice("", "Prompt tokens", "JMESPath of their number.", "target", high=EXPRESSION)
    completion_tokens: str = choice("", "Completion tokens", "JMESPath of their number.", "target", high=EXPRESSION)
    abstains: str = choice(
        "",
        "Words of an abstention",
        "An answer that holds them abstains, beside those that plainly say that they do not know.",
        "target",
        high=1_000,
    )
    abstained: str = choice("", "Abstention", "JMESPath of what is true when it abstains.", "target", high=EXPRESSION)
    timeout: float = choice(
        60.0, "Time-out (s)", "For a whole reply.", "target", low=0.1, high=3_600, in_fingerprint=False
    )
    retries: int = choice(
        3,
        "Retries",
        "Of a question whose reply breaks off, is late, or says to come again.",
        "target",
        low=0,
        high=20,
        in_fingerprint=False,
    )
    concurrency: int = choice(
        4, "Concurrency", "Questions in flight at most.", "target", low=1, high=256, in_fingerprint=False
    )
    per_minute: int = choice(
        0, "Requests a minute", "At most; 0: no limit.", "target", low=0, high=100_000, in_fingerprint=False
    )


@dataclass(frozen=True, slots=True)
class Preset:
    """What is known of a service whose replies are documented: choices by name, and what it is."""

    explanation: str
    choices: Mapping[str, Any]


_MESSAGES = '"messages": ["{{history}}", {"role": "user", "content": "{{question}}"}]'
_USAGE = {"prompt_tokens": "usage.prompt_tokens", "completion_tokens": "usage.completion_tokens"}
_RAGFLOW = "values(choices[0].message.reference.chunks || `{}`)[]"

PRESETS: Mapping[str, Preset] = {
    "openai": Preset(
        "Chat completions, of OpenAI and all who speak alike; such a reply does not say what was read.",
        {
            "url": "https://api.openai.com/v1/chat/completions",
            "headers": {"Authorization": "Bearer ${TARGET_OPENAI_API_KEY}"},
            "body": f'{{"model": "gpt-4o-mini", {_MESSAGES}}}',
            "answer": "choices[0].message.content",
            **_USAGE,
        },
    ),
    "dify": Preset(
        "A chat application of Dify, with citations turned on.",
        {
            "url": "https://api.dify.ai/v1/chat-messages",
            "headers": {"Authorization": "Bearer ${TARGET_DIFY_API_KEY}"},
            "body": '{"inputs": {}, "query": "{{question}}", "response_mode": "blocking", "user": "ragviz"}',
            "answer": "answer",
            "contexts": "metadata.retriever_resources[].content",
            "ids": "metadata.retriever_resources[].segment_id",
            "scores": "metadata.retriever_resources[].score",
            "documents": "metadata.retriever_resources[].document_name",
            "prompt_tokens": "metadata.usage.prompt_tokens",
            "completion_tokens": "metadata.usage.completion_tokens",
        },
    ),
    "ragflow": Preset(
        "A chat assistant of RAGFlow, by its OpenAI-compatible address, with references.",
        {
            "url": "http://localhost:9380/api/v1/chats_openai/CHAT_ID/chat/completions",
            "headers": {"Authorization": "Bearer ${TARGET_RAGFLOW_API_KEY}"},
            "body": f'{{"model": "model", "stream": false, "extra_body": {{"reference": true}}, {_MESSAGES}}}',
            "answer": "choices[0].message.content",
            "contexts": f"{_RAGFLOW}.content",
            "ids": f"{_RAGFLOW}.id",
            "scores": f"{_RAGFLOW}.similarity",
            "documents": f"{_RAGFLOW}.document_name",
            **_USAGE,
        },
    ),
    "flowise": Preset(
        "A chatflow of Flowise that returns its source documents.",
        {
            "url": "http://localhost:3000/api/v1/prediction/FLOW_ID",
            "headers": {"Authorization": "Bearer ${TARGET_FLOWISE_API_KEY}"},
            "body": '{"question": "{{question}}", "streaming": false}',
            "answer": "text",
            "contexts": "sourceDocuments[].pageContent",
            "documents": "sourceDocuments[].metadata.source",
        },
    ),
    "anythingllm": Preset(
        "A workspace of AnythingLLM, which answers from its documents.",
        {
            "url": "http://localhost:3001/api/v1/workspace/WORKSPACE/chat",
            "headers": {"Authorization": "Bearer ${TARGET_ANYTHINGLLM_API_KEY}"},
            "body": '{"message": "{{question}}", "mode": "query"}',
            "answer": "textResponse",
            "contexts": "sources[].text",
            "ids": "sources[].id",
            "scores": "sources[].score",
            "documents": "sources[].title",
        },
    ),
}
"""Preset by name: a new one is a row here."""
