"""What only the Elasticsearch backend has: its requests, its errors, and what a real server makes of them."""

import base64
import contextlib
import json
import secrets
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes

from ragviz.backends import elastic, elastic_requests, elastic_server
from ragviz.backends.elastic import ElasticIndex
from ragviz.core import addresses
from ragviz.core.configuration import IndexConfig
from ragviz.core.document import Chunk
from ragviz.core.errors import SearchError, UsageError
from ragviz.core.settings import Settings
from tests import elastic_front
from tests.builders import wait_until
from tests.loopback import Handler, Loopback, Reply
from tests.test_certificates import self_signed

TOOL = Path(__file__).resolve().parent.parent / "tools" / "elasticsearch" / "run.py"
NOBODY = "http://127.0.0.1:9"
"""An address where nothing listens."""


def at(url: str, **more: Any) -> Settings:
    return Settings(_env_file=None, elasticsearch_url=url, **more)


def chunk(chunk_id: str, text: str = "a text") -> Chunk:
    return Chunk(chunk_id, "0123456789abcdef", 0, len(text), text, tokens=1)


def chunks(count: int) -> list[Chunk]:
    return [chunk(f"c{number:04d}") for number in range(count)]


def units(count: int, dims: int = 8, seed: int = 0) -> np.ndarray:
    rows = np.random.default_rng(seed).standard_normal((count, dims))
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def fill(index: ElasticIndex, count: int, dims: int = 8) -> None:
    writer = index.rebuild(dims)
    writer.add(chunks(count), units(count, dims))
    writer.publish(count)


# bodies


@pytest.mark.elasticsearch
def test_the_server_reads_in_bulk_what_was_sent(elasticsearch_url: str):
    client = elastic_server.Server(at(elasticsearch_url)).client
    name = f"bulk-{secrets.token_hex(4)}"
    texts = ["", "a", "x" * 70, "é", "差旅" * 40, "\ufeff\u0000\x7f\xff", "😀", '"\\\n\t', "\ufffe\U0010ffff"]
    floats = np.array([0.0, -0.0, 1.0, -1 / 3, 3.4e38, -1e-38, 1e-45, 1 / 255], np.float32)
    bodies = [{"text": text} for text in texts] + [{"vector": floats}, {"vector": floats[:0]}]
    operations = [
        elastic_requests.line({"index": {"_id": str(number)}}) + elastic_requests.line(body)
        for number, body in enumerate(bodies)
    ]
    client.indices.create(index=name, mappings={"enabled": False})
    try:
        assert client.bulk(index=name, operations=operations)["errors"] is False
        back = [client.get(index=name, id=str(number))["_source"] for number in range(len(bodies))]
    finally:
        client.indices.delete(index=name)
    assert np.array_equal(np.array(back[-2]["vector"], np.float32), floats)
    assert np.array_equal(np.signbit(np.array(back[-2]["vector"])), np.signbit(floats))
    assert back[-1] == {"vector": []}
    assert back[:-2] == bodies[:-2]


def described(aliases: list[str], age_hours: float = 0.0, **builder: Any) -> dict[str, Any]:
    """A concrete index as the server describes it; its builder is this process unless given otherwise."""
    meta = elastic.metadata("handbook")
    meta["ragviz"]["builder"].update(builder)
    created = str(int((time.time() - 3600 * age_hours) * 1000))
    return {
        "aliases": {alias: {} for alias in aliases},
        "mappings": {"_meta": meta},
        "settings": {"index": {"creation_date": created}},
    }


@pytest.mark.parametrize(
    ("body", "left_over"),
    [
        (described(["alias"], pid=2**22 + 1), False),
        (described(["alias.x.writer"]), False),
        (described(["alias.x.writer"], pid=2**22 + 1), True),
        (described(["alias.x.writer"], started=1.0), True),
        (described(["alias.x.writer"], host="elsewhere", pid=2**22 + 1), False),
        (described(["alias.x.writer"], host="elsewhere", age_hours=25), True),
        (described([]), True),
    ],
    ids=["published", "being built", "its process died", "its process id was used again", "built elsewhere",
         "built elsewhere, long ago", "replaced"],
)  # fmt: skip
def test_what_is_left_over(body: dict[str, Any], left_over: bool):
    assert elastic.is_left_over(body, "alias") is left_over


# errors, from a server with scripted replies


class Answers(Loopback):
    """Answers the requests in turn with (status, body), the last one for ever; records the requests."""

    def __init__(self, *replies: tuple[int, Any]) -> None:
        super().__init__()
        self.replies, self.requests = list(replies), []

    def answer(self, request: Handler, body: bytes) -> Reply:
        self.requests.append((request.path, body))
        status, said = self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]
        headers = {"location": "https://login.example/start?secret=1"} if status == 302 else {}
        if isinstance(said, str):
            return status, said.encode(), headers | {"Content-Type": "text/html; charset=utf-8"}
        return status, json.dumps(said).encode(), headers | {"x-elastic-product": "Elasticsearch"}


@pytest.fixture
def answering() -> Iterator[Callable[..., Answers]]:
    with contextlib.ExitStack() as servers:
        yield lambda *replies: servers.enter_context(Answers(*replies))


@pytest.fixture
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(elastic.time, "sleep", lambda seconds: None)


BUSY = {"error": {"type": "es_rejected_execution_exception", "reason": "queue is full"}, "status": 429}


def test_only_what_was_rejected_is_sent_again(answering: Callable[..., Answers], no_pauses: None):
    taken, rejected = {"index": {"status": 201}}, {"index": {"status": 429, "error": BUSY["error"]}}
    server = answering((200, {"items": [taken, rejected, taken]}), (200, {"items": [taken]}))
    writer = elastic.ElasticWriter(ElasticIndex("handbook", at(server.url)), "concrete", 8)
    writer.add(chunks(3), units(3))
    writer._wait(most=0)
    (_, first), (_, second) = server.requests
    action, source = first.splitlines()[2:4]
    assert second.splitlines() == [action, source]
    assert json.loads(action)["index"]["_id"].startswith("c0001")


LOGIN = "<html><head><title>Sign in</title></head><body>ACME</body></html>"
DENIED = {
    "error": {
        "type": "security_exception",
        "reason": "action [indices:admin/create] is unauthorized for user [me] on indices [ragviz-a.1]",
    }
}


@pytest.mark.parametrize(
    ("status", "body", "told"),
    [
        (200, LOGIN, "answers with a web page (Sign in: ACME), such as that of a login"),
        (401, LOGIN, "answers with a web page (Sign in: ACME), such as that of a login"),
        (302, "", "redirects to https://login.example/start, such as a login page"),
        (406, {"error": "Accept version must be 9 or 10"}, "does not speak the protocol of version 8 (406: Accept"),
        (403, DENIED, "on indices that begin with 'ragviz-': read, view_index_metadata and monitor to search"),
    ],
    ids=["login at 200", "login at 401", "redirect", "protocol", "prefix"],
)
def test_the_cause_is_named_at_once(answering: Callable[..., Answers], status: int, body: Any, told: str):
    server = answering((status, body))
    with pytest.raises(SearchError) as caught:
        elastic_server.Server(at(server.url)).ask(lambda client: client.info())
    assert told in str(caught.value)
    assert len(server.requests) == 1


def test_nothing_secret_is_in_a_message(answering: Callable[..., Answers], no_pauses: None):
    refusing = answering((401, {"error": {"type": "security_exception", "reason": "unable to authenticate"}}))
    messages = []
    for url in (NOBODY, refusing.url):
        index = ElasticIndex(
            "handbook", at(url.replace("//", "//elastic:hunter2@"), elasticsearch_api_key="a2V5OnNlY3JldA==")
        )
        with pytest.raises(SearchError) as caught:
            index.count()
        messages += [str(caught.value), repr(index), repr(index.server), repr(caught.value.__cause__)]
    with pytest.raises(UsageError) as wrong:
        ElasticIndex("handbook", at("elastic:hunter2@localhost:9200/"))
    text = " ".join([*messages, str(wrong.value), addresses.shown("http://u:hunter2/@h:1?key=a2V5OnNlY3JldA==")])
    assert "hunter2" not in text
    assert "a2V5" not in text
    assert NOBODY.replace("//", "//••••@") in text
    assert "ELASTICSEARCH_API_KEY" in text


# the real server


@pytest.fixture
def index(elasticsearch_url: str) -> Iterator[ElasticIndex]:
    one = ElasticIndex(f"handbook {secrets.token_hex(4)}", at(elasticsearch_url))
    yield one
    one.drop()


@pytest.mark.elasticsearch
@pytest.mark.parametrize("kind", ["flat", "hnsw", "int8_hnsw", "int4_hnsw"])
def test_an_index_is_of_the_type_that_was_chosen_and_of_one_segment(elasticsearch_url: str, kind: str):
    index = ElasticIndex(f"{kind} {secrets.token_hex(4)}", at(elasticsearch_url), options={"type": kind})
    vectors, client = units(40, 32), index.server.client
    writer = index.rebuild(32)
    for half in (slice(20), slice(20, 40)):  # a segment each: merging them builds the graph
        writer.add(chunks(40)[half], vectors[half])
        writer._wait(most=0)
        client.indices.refresh(index=f"{index.alias}.*")
    writer.publish(40)
    (body,) = client.indices.get_mapping(index=index.alias).values()
    stats = client.indices.stats
    wait_until(lambda: stats(index=index.alias)["_all"]["primaries"]["segments"]["count"] <= 1)
    found = index.knn(vectors[:3], 1)
    index.drop()
    assert body["mappings"]["properties"]["vector"]["index_options"]["type"] == kind
    assert [ranking.ids for ranking in found] == [("c0000",), ("c0001",), ("c0002",)]


@pytest.mark.elasticsearch
def test_one_concrete_index_stays(index: ElasticIndex):
    for count in (3, 5):
        fill(index, count)
        assert len(index.concretes()) == 1
    for end in (lambda writer: writer.abandon(), lambda writer: writer.publish(6)):
        writer = index.update()
        writer.add([chunk("new")], units(1))
        assert len(index.concretes()) == 2
        end(writer)
        assert len(index.concretes()) == 1
    ((_, body),) = index.concretes().items()
    assert list(body["aliases"]) == [index.alias]
    assert body["settings"]["index"]["blocks"]["write"] == "true"


BUILDER = """
import sys, time
sys.path.insert(0, {root!r})
from ragviz.backends.elastic import ElasticIndex
from ragviz.core.settings import Settings
writer = ElasticIndex({name!r}, Settings(_env_file=None, elasticsearch_url={url!r})).rebuild(8)
print("building", flush=True)
time.sleep(600)
"""


@pytest.mark.elasticsearch
def test_what_a_killed_build_left_is_swept_but_not_what_is_being_built(index: ElasticIndex, elasticsearch_url: str):
    fill(index, 3)
    code = BUILDER.format(root=str(TOOL.parents[2]), name=index.name, url=elasticsearch_url)
    other = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
    try:
        assert other.stdout.readline() == b"building\n"
        index.rebuild(8).abandon()
        assert len(index.concretes()) == 2
    finally:
        other.kill()
        other.wait()
        other.stdout.close()
    index.rebuild(8).abandon()
    assert len(index.concretes()) == 1
    assert index.count() == 3


@pytest.mark.elasticsearch
def test_searches_go_on_while_the_content_is_switched(index: ElasticIndex, elasticsearch_url: str):
    """Every search sees one whole generation; its number is part of its ids."""
    results: list[set[str]] = []
    stop = threading.Event()

    def publish(generation: int, *, update: bool = False) -> None:
        writer = index.update() if update else index.rebuild(8)
        writer.delete([f"g{generation - 1} {number}" for number in range(30)])
        writer.add([chunk(f"g{generation} {number}") for number in range(30)], units(30))
        writer.publish(30)

    def search() -> None:
        reader = ElasticIndex(index.name, at(elasticsearch_url))
        while not stop.is_set():
            results.extend({*ranking.ids} for ranking in reader.knn(units(3), 30) + reader.bm25(["text"], 30))

    publish(0)
    with ThreadPoolExecutor(1) as pool:
        searched = pool.submit(search)
        for generation in (1, 2, 3, 4):
            publish(generation, update=generation > 2)
        stop.set()
        searched.result()
    assert {len(ids) for ids in results} == {30}
    assert all(len({chunk_id.split()[0] for chunk_id in ids}) == 1 for ids in results)


@pytest.mark.elasticsearch
def test_what_the_server_refuses_is_said_with_the_next_step(index: ElasticIndex):
    client = index.server.client

    def told(call: Callable[..., Any], *arguments: Any) -> str:
        with pytest.raises(SearchError) as caught:
            call(*arguments)
        return str(caught.value)

    def filled_to_the_brim() -> None:
        writer = index.rebuild(8)
        client.indices.put_settings(index=f"{index.alias}.*", settings={"index.blocks.read_only_allow_delete": True})
        writer.add(chunks(3), units(3))
        try:
            writer.publish(3)
        finally:
            writer.abandon()

    def filled_twice() -> None:  # every 30 seconds the node looks at its disk, and takes the block away
        filled_to_the_brim()
        filled_to_the_brim()

    assert "disk is too full. Free space on it, or raise cluster.routing.allocation.disk.watermark" in told(
        filled_twice
    )
    limit, index.options["shards"] = "cluster.max_shards_per_node", 2
    client.cluster.put_settings(persistent={limit: 1})
    try:
        assert "has as many shards as it may (" in (full := told(index.rebuild, 8))
        assert "delete indexes that are not used, build with fewer shards, or raise cluster.max_shards" in full
    finally:
        client.cluster.put_settings(persistent={limit: None})
    index.options["type"] = "bbq_hnsw"
    old = told(index.rebuild, 8)
    assert "is 8.15.5, which is too old for the kind of index bbq_hnsw. Upgrade it to 8.18 or newer, or" in old


def test_a_server_that_is_too_old_and_settings_that_exclude_each_other(answering: Callable[..., Answers]):
    server = answering((200, {"version": {"number": "8.11.4"}}))
    with pytest.raises(SearchError, match=r"is 8\.11\.4, which is too old for ragviz\. Upgrade it to 8\.15 or newer\."):
        elastic_server.health(at(server.url))
    with pytest.raises(UsageError, match="ELASTICSEARCH_API_KEY and ELASTICSEARCH_PASSWORD are both set"):
        elastic_server.Server(at(server.url, elasticsearch_api_key="k", elasticsearch_password="p"))
    cloud = "prod:" + base64.b64encode(b"eu.example$abc$def").decode()
    assert at(cloud).elasticsearch_url == "https://abc.eu.example:443"


@pytest.mark.elasticsearch
@pytest.mark.parametrize("replicas", [None, 2])
def test_replicas_are_the_servers_matter(elasticsearch_url: str, replicas: int | None):
    options = {} if replicas is None else {"replicas": replicas}
    index = ElasticIndex(f"copies {secrets.token_hex(4)}", at(elasticsearch_url), options=options)
    fill(index, 3)
    ((_, body),) = index.concretes().items()
    index.drop()
    assert body["settings"]["index"]["number_of_replicas"] == str(replicas or 0)
    one, other = (IndexConfig(backend="elasticsearch", options={"shards": 2} | each) for each in ({}, options))
    assert one.hash() == other.hash() != IndexConfig(backend="elasticsearch").hash()


# the real server with security in front of it: see tests/elastic_front.py


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    return self_signed(tmp_path, "127.0.0.1")


@pytest.fixture
def secure_url(elasticsearch_url: str, certificate: Path) -> Iterator[str]:
    with elastic_front.Front(elasticsearch_url, certificate) as front:
        yield front.url


def fingerprint_of(certificate: Path) -> str:
    return x509.load_pem_x509_certificate(certificate.read_bytes()).fingerprint(hashes.SHA256()).hex(":")


@pytest.mark.elasticsearch
@pytest.mark.parametrize("way", ["API key, CA file", "password, fingerprint", "password in the address"])
def test_a_secured_server_is_built_on_and_searched(secure_url: str, certificate: Path, way: str):
    user, password = elastic_front.BUILDER
    in_address = secure_url.replace("//", f"//{user}:{quote(password, safe='')}@")
    settings = {
        "API key, CA file": at(secure_url, elasticsearch_api_key=elastic_front.API_KEY, ca_file=certificate),
        "password, fingerprint": at(
            secure_url,
            elasticsearch_user=user,
            elasticsearch_password=password,
            elasticsearch_fingerprint=fingerprint_of(certificate).upper(),
        ),
        "password in the address": at(in_address, ca_file=certificate),
    }[way].model_copy(update={"elasticsearch_prefix": "team-a-"})
    index = ElasticIndex(f"handbook {secrets.token_hex(4)}", settings)
    fill(index, 3)
    assert index.knn(units(3), 3)[1].ids[0] == "c0001"
    assert all(name.startswith("team-a-handbook-") for name in index.concretes())
    reader, password = elastic_front.READER
    reading = at(secure_url, elasticsearch_user=reader, elasticsearch_password=password, ca_file=certificate)
    other = ElasticIndex(index.name, reading.model_copy(update={"elasticsearch_prefix": "team-a-"}))
    assert other.bm25(["text"], 3)[0].ids == ("c0000", "c0001", "c0002")
    with pytest.raises(SearchError) as denied:
        other.rebuild(8)
    assert "on indices that begin with 'team-a-': create_index." in str(denied.value)
    index.drop()


@pytest.mark.elasticsearch
def test_each_refusal_of_a_secured_server_has_its_own_sentence(secure_url: str, certificate: Path):
    def told(url: str = secure_url, **more: Any) -> str:
        with pytest.raises(SearchError) as caught:
            elastic_server.health(at(url, **more))
        return str(caught.value)

    right, wrong = fingerprint_of(certificate).replace(":", ""), "ab" * 32
    user, _ = elastic_front.BUILDER
    assert "certificate that is not trusted (self-signed certificate). Set RAGVIZ_CA_FILE" in told()
    assert f"certificate with another fingerprint ({right}). " in told(elasticsearch_fingerprint=wrong)
    ours = {"ca_file": certificate}
    assert "set ELASTICSEARCH_API_KEY, or ELASTICSEARCH_USER and ELASTICSEARCH_PASSWORD." in told(**ours)
    assert "ELASTICSEARCH_API_KEY is wrong, has expired" in told(elasticsearch_api_key="bm86bm8=", **ours)
    said = told(elasticsearch_user=user, elasticsearch_password="Xk9-wrong-one", **ours)
    assert f"the password of '{user}' is wrong, or there is no such user" in said
    assert "Xk9" not in said
    assert "begin ELASTICSEARCH_URL with https://" in told(secure_url.replace("https", "http"))
