"""What is configured, and whether it answers: the store, the search server, the embedder, the model endpoint."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from ragviz.backends import elastic_server
from ragviz.core import addresses
from ragviz.core.configuration import REMOTE
from ragviz.core.errors import RagvizError, UsageError
from ragviz.models.requests import Support
from ragviz.workspace import Workspace

MODES = {
    "json_schema": "replies by JSON schema: every reply has the requested type",
    "json_object": "replies in JSON mode, without a schema: a reply that does not fit is requested again",
    "text": "supports neither JSON schema nor JSON mode: JSON is requested in the prompt, and extracted from the text",
}
"""Descriptions of the ways in which an endpoint gives typed replies."""


@dataclass(frozen=True, slots=True)
class Tried:
    """Whether a part answers, in how many seconds, and its description, or why it does not answer."""

    part: str
    ok: bool
    detail: str
    seconds: float


def store(workspace: Workspace) -> str:
    """Read something from the store."""
    corpora, runs = len(workspace.store.corpora.all()), len(workspace.store.runs.all())
    return f"answers; {corpora} {'corpus' if corpora == 1 else 'corpora'}, {runs} run{'s' * (runs != 1)}"


def index(workspace: Workspace) -> str:
    """Ask Elasticsearch for its health; without one, say that indexes are local files."""
    settings = workspace.settings
    if settings.elasticsearch_url is None:
        return "local files, exact search: set ELASTICSEARCH_URL to use Elasticsearch"
    server = elastic_server.health(settings)
    states = {"green": "all replicas are available", "yellow": "replicas are missing", "red": "shards are missing"}
    return f"Elasticsearch {server['version']} answers; {states.get(server['status'], server['status'])}"


def embedder(workspace: Workspace) -> str:
    """Embed a text that no cache holds."""
    vectors = workspace.embedder(workspace.settings.embedder).embed([f"a test at {time.time()}"], "query")
    return f"{workspace.settings.embedder} answers with {vectors.shape[1]} dimensions"


def model(workspace: Workspace) -> str:
    """Make a tiny real call to each model that is configured; UsageError when no model is configured."""
    settings = workspace.settings
    if not settings.model_configured:
        raise UsageError("No model is configured: set OPENAI_API_KEY, or OPENAI_BASE_URL for a server of your own.")
    names = dict.fromkeys([settings.model, settings.judge or settings.model])
    return ". ".join(support_words(workspace.client(name).test()) for name in names)


def support_words(support: Support) -> str:
    """Say what an endpoint supports."""
    names = [part.replace("system", "a system message") for part in support.refused]
    refused = f"; refuses {', '.join(names)}; it is asked without" if names else ""
    return f"{support.model} answers in {support.seconds:.2f} s and {MODES[support.mode]}{refused}"


PARTS: Mapping[str, Callable[[Workspace], str]] = {
    "store": store, "index": index, "embedder": embedder, "model": model,
}  # fmt: skip
"""Part → function that calls it and returns a description, or raises an error of `errors` when it does not answer."""


def tried(workspace: Workspace, part: str) -> Tried:
    """Try one of `PARTS`; an error is returned as the detail, not raised."""
    started = time.perf_counter()
    try:
        detail, ok = PARTS[part](workspace), True
    except RagvizError as error:
        detail, ok = str(error), False
    return Tried(part, ok, detail, time.perf_counter() - started)


@dataclass(frozen=True, slots=True)
class Check:
    """One line of the home page's system status; `fix` is what to do when it is broken, or what could be connected.

    "optional" is what need not be done: what is not configured and not needed, what would be tidier.
    """

    name: str
    status: Literal["works", "optional", "broken"]
    detail: str
    fix: str = ""


def checks(workspace: Workspace) -> list[Check]:
    """Check what works, without loading a model or asking one; takes at most a few seconds."""
    from ragviz.models import tokenizer

    settings = workspace.settings
    url, name, unset = settings.elasticsearch_url, settings.embedder, not settings.model_configured
    fix = "Set OPENAI_API_KEY or OPENAI_BASE_URL for questions, answers and verdicts by a model."
    where = addresses.shown(settings.openai_base_url or "") or "the OpenAI API"

    def reads() -> str:
        if name.startswith(REMOTE):
            return f"{name} at the model endpoint"
        return f"{name}, reads {tokenizer.text_tokens_of(name) or 'any number of'} tokens of a passage"

    return [
        _checked("Store", lambda: workspace.store.address, "Check RAGVIZ_HOME and RAGVIZ_DATABASE_URL."),
        _checked("Index", lambda: index(workspace), "Start the server, or correct ELASTICSEARCH_URL." if url else ""),
        _checked("Embedder", reads, "Set RAGVIZ_EMBEDDER to a model's name or folder."),
        Check("Model", "optional", "not configured; questions and answers are extractive", fix)
        if unset
        else Check("Model", "works", f"{settings.model} at {where}", "Test it on the settings page."),
    ]


def _checked(name: str, look: Callable[[], str], fix: str) -> Check:
    try:
        return Check(name, "works", look())
    except RagvizError as error:
        return Check(name, "broken", str(error), fix)
