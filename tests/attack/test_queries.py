"""Addresses of pages that somebody wrote by hand, or to do harm: a sensible page with a sentence, never a traceback."""

import random
from pathlib import Path

import pytest

from ragviz.core.configuration import IndexConfig, RunConfig
from ragviz.core.question import Question
from ragviz.documents import corpora
from ragviz.index import indexing
from ragviz.runs import running
from ragviz.ui import wording
from ragviz.workspace import open_workspace
from tests.attack import seeds
from tests.test_pages import MARKED, PAGES, address, built, home, visit  # noqa: F401  # fixtures

READ = {  # the parameters that each page reads, beside `corpus` and those of links from it
    "documents": "document at part index tab",
    "index": "index query tab chunker chunk_size overlap embedder similarity backend es-type es-m es-ef_construction "
    "es-shards es-replicas",
    "questions": "set status find question edit in-table tab index version asked",
    "health": "set index check question tab chunk",
    "targets": "tab endpoint run",
    "run": "index set run preset retriever rrf_constant k reranker context_tokens",
    "results": "run k per rank document kind type style by outcome cause find metric question tab rescued broken if-k "
    "if-constant if-threshold if-budget confidence present step",
    "inspect": "run runs k question claim tab bank answerable f1 of side other rank document kind outcome cause find "
    "metric point stream slice by",
    "compare": "runs k metric other side question primary effect curve expense by point stream slice",
    "experiment": "experiment set chunkers chunk_sizes overlaps prefixs embedders backends retrievers rrf_constants "
    "rerankers rerank_depths depths ks answerers side baseline primary",
    "runs": "find tags run",
    "home": "run index",
    "settings": "run set",
    "audit": "since person verb page",
}
LIVE = {
    "corpus": "notes", "index": "small", "set": "asked", "run": "words", "runs": "words,vectors", "k": "3",
    "document": "阀门.txt", "question": "q2", "tab": "New index",
}  # fmt: skip
JUNK = [
    "9" * 5000, "-" + "9" * 5000, "0", "-1", "1e308", "nan", "inf", "0x10", "1_0", "³", "٣", "１", "", " ", ",", ",,,",
    "\0", "a\0b", "%00", "\u202e", "\U0001f600", "'", '"', "'; DROP TABLE runs; --", "<script>alert(1)</script>",
    "../../etc/passwd", "true", "null", "[]", "{}", "all", "miss", "1-", "-1-5", "5-1", "9-99999", "99999999999-1",
    "0-" + "9" * 4400, "a99999", "r0", "a" + "9" * 3, "x" * 20_000, "words,words", "http://evil.example", "$x$ *b*",
]  # fmt: skip


def drawn(page: str, seed: int) -> dict[str, str | list[str]]:
    """Parameters of a page: about half of them as they should be, the others not, some twice.

    Over as many seeds as there is junk, every parameter takes every piece of it.
    """
    chance, params = random.Random(f"{page} {seed}"), dict[str, str | list[str]]()
    for place, name in enumerate(READ[page].split()):
        junk = JUNK[(seed * 11 + place * 7) % len(JUNK)]
        alive = name in LIVE and chance.random() < 0.5
        params[name] = LIVE[name] if alive else junk
        if chance.random() < 0.1:
            params[name] = [junk, LIVE.get(name, junk)]
    if chance.random() < 0.2:
        params["corpus"] = chance.choice([*JUNK, "notes"])
    return params | {"junk": chance.choice(JUNK)}


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize("seed", seeds(6, 2 * len(JUNK)))
def test_whatever_the_address_holds_the_page_is_drawn(home: Path, page: str, seed: int) -> None:  # noqa: F811
    params = drawn(page, seed)
    app = visit(page, **params)  # type: ignore[arg-type]  # AppTest takes lists too
    assert not app.exception, [params, *(box.value for box in app.exception)]
    defects = [box.value for box in app.error if "defect" in box.value]
    assert not defects, [params, *defects]


NUMBERS = ["9" * 5000, "-3", "0", "٣", "1e3", "2.5", "1_0", "junk"]
OTHERS = ["junk", "9" * 5000, "q2 ", "\u202e", "of another corpus", "<b>x</b>", "[x](http://evil.example)", "零"]
FORM = {"tab": "New index"}
RUN, RUNS = {"run": "words"}, {"runs": "words,vectors"}
UNUSABLE = [  # page, what else its address holds, the parameter, and what it cannot be
    ("documents", {}, "document", OTHERS),
    ("documents", {"document": MARKED}, "index", [*OTHERS, "foreign"]),
    ("documents", {"document": MARKED}, "at", [*OTHERS, "9-3", "5", "-1-5", "99999999-999999999", "0-" + "9" * 4400]),
    ("index", {}, "index", [*OTHERS, "foreign"]),
    ("index", FORM, "chunker", OTHERS),
    ("index", FORM, "chunk_size", NUMBERS),
    ("index", FORM, "embedder", ["9" * 5000, "x" * 20_000]),
    ("index", FORM, "es-type", OTHERS),
    ("index", FORM, "es-m", NUMBERS),
    ("questions", {}, "set", [*OTHERS, "foreign"]),
    ("questions", {}, "status", OTHERS),
    ("questions", {}, "edit", OTHERS),
    ("questions", {}, "in-table", [*OTHERS, "1"]),
    ("run", {}, "index", [*OTHERS, "foreign"]),
    ("run", {}, "preset", [*OTHERS, "foreign"]),
    ("run", {}, "retriever", OTHERS),
    ("run", {}, "rrf_constant", [text for text in NUMBERS if text != "0"]),
    ("results", {}, "run", [*OTHERS, "foreign"]),
    ("results", RUN, "k", NUMBERS),
    ("results", RUN | {"tab": "By k and document"}, "per", OTHERS),
    ("results", RUN, "rank", [*NUMBERS, "5-2", "2-", "21", "1-21", "9" * 4400 + "-3"]),
    ("results", RUN, "cause", OTHERS),
    ("results", RUN, "metric", OTHERS),
    ("results", RUN, "question", OTHERS),
    ("inspect", {}, "run", [*OTHERS, "foreign"]),
    ("inspect", RUN, "question", OTHERS),
    ("inspect", RUN, "claim", [*OTHERS, "a0", "r99", "a" + "9" * 5000]),
    ("runs", {}, "tags", OTHERS),
    ("inspect", {}, "runs", OTHERS),
    ("compare", {}, "runs", [*OTHERS, "foreign"]),
    ("compare", RUNS, "metric", OTHERS),
    ("compare", RUNS, "other", [*OTHERS, "words", "foreign"]),
    ("compare", RUNS | {"tab": "Questions"}, "side", OTHERS),
    ("compare", RUNS, "question", [*OTHERS, "none"]),
]


def foreign_things() -> None:
    """An index, a set and a run called "foreign", of another corpus."""
    workspace = open_workspace()
    corpus = workspace.store.corpora.add("another")
    corpora.add_file(workspace, corpus, "b.txt", b"Ships lie in the harbour.")
    indexing.build_index(workspace, corpus, "foreign", IndexConfig(chunk_size=20))
    question_set = workspace.store.sets.add(corpus.id, "foreign")
    workspace.store.questions.put(question_set.id, [Question("q", "What lies in the harbour?", "Ships", (), "hand")])
    running.run(workspace, "foreign", RunConfig("foreign", "foreign", "bm25", depth=5))


@pytest.mark.parametrize(
    ("page", "others", "name", "unusable"), UNUSABLE, ids=[f"{row[0]}-{row[2]}" for row in UNUSABLE]
)
@pytest.mark.parametrize("seed", seeds(1, 14))
def test_an_unusable_parameter_is_reported_and_removed(
    home: Path,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
    page: str,
    others: dict[str, str],
    name: str,
    unusable: list[str],
    seed: int,
) -> None:
    """A person who opens a shared link must not mistake the page shown for the one that the link names."""
    if name.startswith(("backend", "es-")):
        monkeypatch.setenv("ELASTICSEARCH_URL", "http://127.0.0.1:9")
        others = others | ({"backend": "elasticsearch"} if name != "backend" else {})
    if "foreign" in unusable:
        foreign_things()
    text = unusable[(seed + len(page) + 3 * len(name)) % len(unusable)]
    app = visit(page, **{"corpus": "notes"} | others | {name: text})
    assert not app.exception
    assert not [box.value for box in app.error if "defect" in box.value]
    warnings = [box.value for box in app.warning if f"“{wording.quoted(text)}”" in box.value]
    assert warnings
    assert address(app).get(name) != text or "cannot be" not in warnings[0]
    assert not [button for button in app.button if button.key == f"chip-{name}"]
