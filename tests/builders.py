"""What many tests begin with: documents, questions about them, the sample with a model of its own; and waiting."""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pytest

from ragviz import sample
from ragviz.core.document import Corpus, Document, Page, Span
from ragviz.core.question import Question
from ragviz.core.question_set import QuestionSet
from ragviz.core.settings import Settings
from ragviz.documents import corpora
from ragviz.models.vectors import Vectors
from ragviz.questions import exchange
from ragviz.workspace import Workspace
from tests.model_server import DIMS, ModelServer, vector

ROOT = Path(__file__).resolve().parent.parent
Found = TypeVar("Found")


def wait_until(condition: Callable[[], Found], seconds: float = 60.0) -> Found:
    """Return what `condition` returns once that is true."""
    end = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.05)
    return found


def ragviz(home: Path, *words: str | Path, **more: str) -> subprocess.CompletedProcess[str]:
    """The command line in a process of its own, on the home and what else the environment is to say."""
    environment = os.environ | {"RAGVIZ_HOME": str(home), "PYTHONPATH": str(ROOT), "COLUMNS": "300"} | more
    command = [sys.executable, "-m", "ragviz", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, env=environment, cwd="/", timeout=120)


def document(name: str, text: str, language: str = "en", media_type: str = "text/plain") -> Document:
    pages = (Page(1, 0, len(text)),)
    return Document(Document.make_id(name, text), name, text, pages, language, media_type, "h", len(text))


def span(of: Document, quote: str) -> Span:
    """The first place of a quote."""
    start = of.text.index(quote)
    return Span(of.id, start, start + len(quote), quote)


def added(workspace: Workspace, name: str, texts: Mapping[str, str]) -> Corpus:
    corpus = workspace.store.corpora.ensure(name)
    for file, text in texts.items():
        corpora.add_file(workspace, corpus, file, text.encode())
    return corpus


def stored(workspace: Workspace, corpus: Corpus, name: str) -> Document:
    info = workspace.store.documents.find(corpus.id, name)
    assert info is not None
    return workspace.store.documents.get(corpus.id, info.id)


def asking(
    workspace: Workspace, corpus: Corpus, asked: Iterable[tuple[str, str, str, str]], name: str = "asked"
) -> QuestionSet:
    """A set of accepted questions "q0", "q1" … of (document, quote, text, answer)."""
    questions = [
        Question(f"q{n}", text, answer, ((span(stored(workspace, corpus, file), quote),),), "hand", "accepted")
        for n, (file, quote, text, answer) in enumerate(asked)
    ]
    question_set = workspace.store.sets.add(corpus.id, name)
    workspace.store.questions.put(question_set.id, questions)
    return workspace.store.sets.get(name)


class Bags:
    name, max_tokens, embedded, seconds, identity, dims = "bags", 256, 0, 0.0, "bags", DIMS

    def load(self) -> None:
        pass

    def embed(self, texts: Sequence[str], kind: str, progress: object = None) -> Vectors:
        rows = np.array([vector(text) for text in texts], dtype=np.float32)
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)


@contextmanager
def sample_with_models(home: Path) -> Iterator[tuple[Workspace, ModelServer, Corpus]]:
    """The sample's documents and its questions "q", with a model and the embedder "openai:bags" on loopback."""
    with ModelServer() as server, pytest.MonkeyPatch.context() as patch:
        for name, value in with_models(server).items():
            patch.setenv(name, value)
        workspace = Workspace(Settings(_env_file=None, home=home))
        corpus = workspace.store.corpora.add("sample")
        for name, data in sample.documents():
            corpora.add_file(workspace, corpus, name, data)
        assert not exchange.import_data(workspace, corpus, sample.questions(), "questions.jsonl", "q").problems
        yield workspace, server, corpus


def with_models(server: ModelServer) -> dict[str, Any]:
    """What the environment says of a model and an embedder on loopback."""
    named = {"RAGVIZ_MODEL": "loopback", "RAGVIZ_EMBEDDER": "openai:bags", "RAGVIZ_MODEL_CONCURRENCY": "4"}
    return {"OPENAI_BASE_URL": server.url} | named
