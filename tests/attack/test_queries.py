"""Addresses of pages that somebody wrote by hand, or to do harm: a sensible page with a sentence, never a traceback."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.attack import seeds
from tests.test_pages import PAGES, built, home, visit  # noqa: F401  # fixtures

READ = {  # the parameters that each page reads, beside `corpus` and those of links from it
    "documents": "document at part index tab",
    "index": "index query tab chunker size overlap embedder similarity backend es-type es-m es-ef",
    "questions": "set status find question edit in-table tab index",
    "run": "index set run",
    "results": "run k per rank document kind outcome cause find metric question view",
    "inspect": "run k question claim rank document kind outcome cause find metric",
    "compare": "runs k metric other side question",
    "home": "run index",
    "settings": "run set",
}
LIVE = {
    "corpus": "notes", "index": "small", "set": "asked", "run": "words", "runs": "words,vectors", "k": "3",
    "document": "阀门.txt", "question": "q2",
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
@pytest.mark.parametrize("seed", seeds(12, 2 * len(JUNK)))
def test_whatever_the_address_holds_the_page_is_drawn(home: Path, page: str, seed: int) -> None:  # noqa: F811
    params = drawn(page, seed)
    app = visit(page, **params)  # type: ignore[arg-type]  # AppTest takes lists too
    assert not app.exception, [params, *(box.value for box in app.exception)]
    defects = [box.value for box in app.error if "defect" in box.value]
    assert not defects, [params, *defects]
