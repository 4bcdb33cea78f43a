"""Passwords in addresses are shown nowhere; cells of every CSV are text; addresses in foreign text are no links."""

import csv
import io
import logging
import random
import re
import sys
import traceback
from pathlib import Path

import openai
import pytest
from google.protobuf.message import Message
from markdown_it import MarkdownIt
from streamlit.testing.v1 import AppTest

from ragviz import cli, connections
from ragviz.core import addresses
from ragviz.core.configuration import IndexConfig, RunConfig
from ragviz.core.document import Span
from ragviz.core.errors import RagvizError
from ragviz.core.question import Question
from ragviz.core.settings import Settings
from ragviz.documents import corpora, tables_in
from ragviz.index import indexing
from ragviz.questions import interchange
from ragviz.runs import exports, running
from ragviz.store.store import open_store
from ragviz.ui import cache
from ragviz.workspace import Workspace, open_workspace
from tests.attack import seeds
from tests.builders import added, asking, span, stored
from tests.model_server import ModelServer
from tests.test_markup import INTERPRETED
from tests.test_pages import PAGES, built, home, visit  # noqa: F401  # fixtures

SECRET = "Tr0ub4dor"  # in every password below, which has signs beside it
SIGNS = ["", "@", "/", "#", "?", ":", "%40", "%2F", "&x=", ";", "=", "+", "密", "'", '"', "$x$", "\\", "[", " "]


def secret_address(seed: int, schemes: tuple[str, ...]) -> str:
    """An address where nothing listens, with a password where a person may put one."""
    chance = random.Random(seed)
    password = chance.choice(SIGNS) + SECRET + chance.choice(SIGNS) + SECRET
    scheme, user = chance.choice(schemes), chance.choice(["u", "", "a.b"])
    key = chance.choice(["password", "api_key", "PWD", "token", "sslpassword", "x", "key"])
    place = f"127.0.0.1:{chance.choice([1, 9])}/v1"
    return chance.choice([
        f"{scheme}{user}:{password}@{place}", f"{scheme}{place}?{key}={password}", f"{scheme}{password}@{place}",
        f"{scheme}{place}?timeout=1&{key}={password}#{SECRET}", f"{user}:{password}@{place}",
        f"{scheme}{user}:{password}@{place}?{key}={password}", f"{scheme}{place}?{password}",
    ])  # fmt: skip


@pytest.mark.parametrize("seed", seeds(60, 3000))
def test_an_address_is_shown_without_its_secrets(seed: int) -> None:
    address = secret_address(seed, ("http://", "https://", "HTTP://", "postgresql+psycopg://", "//", "http:/", ""))
    assert SECRET not in addresses.shown(address)
    assert addresses.shown(addresses.shown(address)) == addresses.shown(address)
    if " " not in address and "://" in address:
        assert SECRET not in addresses.within(f"cannot ask '{address}' now")


@pytest.mark.parametrize("seed", seeds(12, 300))
def test_a_database_that_cannot_be_opened_is_reported_without_its_password(seed: int, monkeypatch) -> None:
    monkeypatch.setattr("ragviz.store.database.AT_FIRST", 0.0)
    with pytest.raises(RagvizError) as refused:
        open_store(secret_address(seed, ("postgresql+psycopg://", "postgresql://", "mysql://", "nothing://")))
    assert SECRET not in "".join(traceback.format_exception(refused.value))


@pytest.mark.parametrize("seed", seeds(8, 200))
def test_no_connection_test_shows_a_password(seed: int, monkeypatch, tmp_path, capsys, caplog) -> None:
    """On the command line, in Home's checklist, in what is logged."""
    monkeypatch.setenv("RAGVIZ_HOME", str(tmp_path))
    monkeypatch.setenv("OPENAI_BASE_URL", secret_address(seed, ("http://",)))
    monkeypatch.setenv("ELASTICSEARCH_URL", secret_address(seed + 1000, ("http://", "https://")))
    monkeypatch.setenv("RAGVIZ_EMBEDDER", "openai:bags")
    caplog.set_level(logging.DEBUG)
    workspace = Workspace(Settings(_env_file=None))
    messages = [repr(check) for check in connections.checks(workspace)]
    for part in connections.PARTS:
        if part in ("index", "store"):
            messages.append(repr(connections.tried(workspace, part)))
    try:
        workspace.client("m")._attempts = 1
        list(workspace.client("m").embed("bags", ["text"]))
    except RagvizError as error:
        messages.append(str(error))
    monkeypatch.setattr(sys, "argv", ["ragviz", "settings", "test", "index", "--json"])
    with pytest.raises(SystemExit):
        cli.main()
    messages += [*capsys.readouterr(), caplog.text]
    assert not [message for message in messages if SECRET in message]


def test_a_run_through_an_address_with_a_password_keeps_it_nowhere(monkeypatch, tmp_path, capsys) -> None:
    """Neither in the database nor in files, exports, pages or JSON."""
    with ModelServer() as server:
        secret = f"{SECRET}-{SECRET}"
        address = server.url.replace("http://", f"http://me:{secret}@") + f"?token={secret}"
        for name in ("ELASTICSEARCH_URL", "RAGVIZ_DATABASE_URL", "OPENAI_API_KEY"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setenv("RAGVIZ_HOME", str(tmp_path))
        monkeypatch.setenv("OPENAI_BASE_URL", address)
        monkeypatch.setenv("RAGVIZ_EMBEDDER", "openai:bags")
        cache._opened.clear()
        workspace = open_workspace()
        corpus = added(workspace, "c", {"a.txt": "The east pump costs 42 euros."})
        config = IndexConfig("sentences", 16, embedder="openai:bags")
        plain = openai.OpenAI(base_url=server.url, api_key="none", max_retries=0)  # how it connects is not tested here
        monkeypatch.setattr("ragviz.models.chat.ModelClient._openai", lambda _self: plain)
        indexing.build_index(workspace, corpus, "i", config)
        asking(workspace, corpus, [("a.txt", "The east pump costs 42 euros", "What costs 42?", "the pump")], "q")
        answered = RunConfig("i", "q", "knn", depth=5, k=3, answerer="extractive", metrics=("all",))
        run = running.run(workspace, "r", answered)
        files = exports.export_run(workspace, run)
        assert not [name for name, data in files.items() if SECRET.encode() in data]
        leaks = [path for path in tmp_path.rglob("*") if path.is_file() and SECRET.encode() in path.read_bytes()]
        assert leaks == []

        monkeypatch.setattr(sys, "argv", ["ragviz", "runs", "list", "--json"])
        with pytest.raises(SystemExit):
            cli.main()
        assert SECRET not in capsys.readouterr().out
        for page in ("settings", "home", "index", "results"):
            assert SECRET not in everything(visit(page)), page
        cache._opened.clear()


BEFORE = ["", "'", "''", " ", "\t", "\n", "\r\n", "\u00a0", "\u3000", "\u200b", "\ufeff", " \t ", "\x0b", "\x1c", "' "]
FORMULAS = ["=1+1", "+1", "-1", "@SUM(A1)", "＝1＋1", "＋1", "－1", "＠SUM", "=cmd|' /C calc'!A0", "﹦1", "﹣2"]


@pytest.mark.parametrize("formula", FORMULAS)
def test_a_cell_that_would_be_a_formula_is_text_in_every_csv(formula: str) -> None:
    for cell in (before + formula for before in BEFORE):
        [header, row] = csv.reader(io.StringIO(interchange.csv_of([cell, "b"], [[cell, None]]).decode("utf-8-sig")))
        assert (header[0], row) == (f"'{cell}", [f"'{cell}", ""])
        data = interchange.csv_of(["question", "answer"], [[f"x{cell}", cell]])
        [(_, back)] = tables_in.rows(data, "a.csv")
        assert back["answer"] == cell, "importing gives back what was written"


FOREIGN = [
    "http://evil.example/a", "www.evil.example", "me@evil.example", "[x](http://evil.example)", "![](http://e.example/i)",
    "<http://evil.example>", ":smile: 见https://evil.example/路", "`http://evil.example`", "a] http://evil.example [b",
]  # fmt: skip


def everything(app: AppTest) -> str:
    return "\n".join(text for _, text in texts_of(app))


def texts_of(app: AppTest) -> list[tuple[str, str]]:
    """Every text of every element, with the kind of element it is of."""
    texts = []
    for element in app._tree:
        proto = getattr(element, "proto", None)
        if isinstance(proto, Message):
            texts += [(type(proto).__name__, text) for text in strings_of(proto)]
    return texts


UNSEEN = {"id", "key", "query_string", "form_id", "page_script_hash", "page", "url", "icon"}


def strings_of(message: Message) -> list[str]:
    strings: list[str] = []
    for field, value in message.ListFields():
        if field.name in UNSEEN:
            continue
        values = value if field.is_repeated else [value]
        for each in values:
            if isinstance(each, Message):
                strings += strings_of(each)
            elif isinstance(each, str):
                strings.append(each)
            elif isinstance(each, bytes):
                strings.append(each.decode("utf-8", "replace"))
    return strings


MARKDOWN = {
    "Markdown", "Alert", "Heading", "Button", "Metric", "PageLink", "Progress", "Toast", "Expandable",
    "DownloadButton",
}  # fmt: skip
"""Elements whose texts Streamlit reads as markdown."""


def linked(text: str) -> list[str]:
    """What markdown would turn into a link or a picture after unescaping, code left out."""
    tokens = [part for block in MarkdownIt("commonmark").parse(text) for part in block.children or ()]
    links = [part.type for part in tokens if part.type in ("link_open", "image", "html_inline")]
    words = "".join("`" if part.type == "code_inline" else part.content for part in tokens)
    return links + [m[0] for pattern in INTERPRETED[1:3] for m in re.finditer(pattern, words, re.IGNORECASE)]


@pytest.mark.parametrize("seed", seeds(1, len(FOREIGN)))
def test_foreign_text_is_no_link_on_any_page(home: Path, seed: int) -> None:  # noqa: F811
    """Names, questions, answers, reasons and errors that others wrote."""
    store, text = open_workspace().store, FOREIGN[seed]
    corpus = store.corpora.add(text)
    workspace = open_workspace()
    corpora.add_file(workspace, corpus, f"{text}.txt", f"# {text}\n\nThe pump moves 20 litres. {text}".encode())
    corpora.add_file(workspace, corpus, f"{text}.pdf", b"%PDF-1.4 broken")
    indexing.build_index(workspace, corpus, text, IndexConfig(chunk_size=20))
    name = stored(workspace, corpus, next(d.name for d in store.documents.all(corpus.id) if d.status == "ok"))
    place = span(name, "20 litres")
    questions = [
        Question("a", text, text, ((place,),), text, "rejected", reason=text),
        Question("b", f"How much? {text}", text, ((place,), (Span("gone", 0, 3, text, stale=True),)), text),
    ]
    store.questions.put(store.sets.add(corpus.id, text).id, questions)
    for run in (text, f"{text} 2"):
        running.run(workspace, run, RunConfig(text, text, "bm25", depth=5, answerer="extractive", metrics=("all",)))
    job = store.jobs.add("index", text, corpus.id, {})
    store.jobs.update(job.id, status="failed", error=text, finished=9e9, message=text)
    named = {"corpus": text, "index": text, "set": text, "run": text, "runs": f"{text},{text} 2"}
    views = [(page, {}) for page in PAGES]
    views += [("results", {"question": "b", "view": "ranking"}), ("questions", {"question": "b"})]
    views += [("questions", {"edit": "b"}), ("documents", {"document": name.name}), ("compare", {"question": "b"})]
    views += [("documents", {"document": text}), ("results", {"run": f"{text} 3"}), ("inspect", {"question": text})]
    for page, more in views:
        app = visit(page, **(named | more if page != "compare" or "," not in text else named))
        assert not app.exception
        links = [(kind, t) for kind, t in texts_of(app) if kind in MARKDOWN and linked(t)]
        assert not links, (page, more, links)
