"""Reports: one file that opens offline, runs no script of others, holds no key, and prints to a clean PDF."""

import json
import re
from collections import Counter
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from ragviz.core.configuration import IndexConfig, RunConfig
from ragviz.core.experiment import Confirmation
from ragviz.core.ranking import Ranking
from ragviz.documents import corpora, parsing
from ragviz.experiments import declaring, grid, sweeping
from ragviz.index import indexing
from ragviz.questions import exchange
from ragviz.report import reports
from ragviz.runs import running
from ragviz.text import language
from ragviz.workspace import open_workspace
from tests.test_accessibility import CHECKED, objections
from tests.test_browser import browser

__all__ = ["browser"]  # the fixture

KEY = "sk-planted-0123456789abcdef"
LIVE = (
    "<script>window.pwned = 1</script>", "</script><script>window.pwned = 2</script>",
    "<img src=x onerror='window.pwned = 3'>", "[link](javascript:window.pwned=4)", "<a href='https://example.com'>b</a>",
    "<!--", "]]>", "</style><b>", "&lt;i&gt;", "\u202eabc",
)  # fmt: skip
"""What would be live somewhere if it were not escaped."""
WORDS = ("token_f1", "rouge_l", "exact_match")
PLACES = ["north", "south", "east", "west", "upper", "lower", "inner", "outer"]
DOCUMENT = "\n\n".join(
    f"The {place} pump was replaced in {1990 + number} by Harlow {LIVE[number]} and costs {40 + number} euros. {KEY}"
    for number, place in enumerate(PLACES)
)
ROWS = [
    {
        "id": f"q-{place}",
        "question": f"When was the {place} pump replaced? {LIVE[number]} {KEY} 水泵何时更换？",
        "answer": f"In {1990 + number}. {LIVE[-1 - number]}",
        "document": "pumps <script>.txt",
        "quote": f"The {place} pump was replaced in {1990 + number} by Harlow",
    }
    for number, place in enumerate(PLACES)
] + [{"id": "q-none", "question": "Who painted the chapel?", "answer": "", "unanswerable": True}]


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """Two runs over documents and questions in which markup and a key were planted."""
    folder = tmp_path_factory.mktemp("report")
    with pytest.MonkeyPatch.context() as patch:
        for name in ("OPENAI_BASE_URL", "ELASTICSEARCH_URL", "RAGVIZ_DATABASE_URL"):
            patch.delenv(name, raising=False)
        patch.setenv("RAGVIZ_HOME", str(folder / "home"))
        patch.setenv("OPENAI_API_KEY", KEY)
        patch.chdir(folder)
        workspace = open_workspace()
        corpus = workspace.store.corpora.ensure("pumps </title><script>window.pwned = 5</script>")
        corpora.add_file(workspace, corpus, "pumps <script>.txt", DOCUMENT.encode())
        for name, size in (("words", 40), ("longer <b>", 80)):
            config = IndexConfig(chunk_size=size, overlap=0, embedder="")
            indexing.build_index(workspace, corpus, name, config)
        data = "\n".join(map(json.dumps, ROWS)).encode()
        exchange.import_data(workspace, corpus, data, "asked.jsonl", "asked")
        for name, index, k in (("first", "words", 1), (f"<i>second</i> {KEY}", "longer <b>", 3)):
            running.run(
                workspace, name, RunConfig(index, "asked", "bm25", k=k, depth=8, answerer="extractive", metrics=WORDS)
            )
        yield folder, {run.name: run for run in workspace.store.runs.all()}


@pytest.fixture(scope="module")
def experiment(home, made):
    """An experiment on the same questions, of which the baseline finds nothing; every other cell reads more."""
    workspace = open_workspace()
    planned = grid.planned(
        workspace, workspace.store.sets.get("asked"),
        grid.crossed({"chunk_size": ["40", "80"], "embedder": ["none"], "retriever": ["bm25"], "k": ["3"]}),
    )  # fmt: skip
    rule = declaring.rule_of(planned, primary="recall@3", guardrails=[declaring.read_guardrail("tokens=5000")])
    declared = declaring.declare(
        workspace, "tried <script>window.pwned = 9</script>", workspace.store.sets.get("asked"), planned, rule
    )
    before = reports.made(workspace, [declared.name]).decode()
    assert sweeping.sweep(workspace, declared)["done"] == 2
    first = workspace.store.runs.get(workspace.store.experiments.get(declared.name).baseline.run_id)
    questions = workspace.store.rankings.questions(first.id)
    nothing = [
        (at, question, replace(result, ranking=Ranking((), ())))
        for at, (question, result) in enumerate(zip(questions, workspace.store.rankings.all(first.id), strict=True))
    ]
    workspace.store.rankings.replace(first.id, nothing)
    return before, workspace.store.experiments.get(declared.name)


@pytest.fixture(scope="module")
def made(home):
    folder, runs = home
    workspace = open_workspace()
    chosen = [runs["first"], next(run for name, run in runs.items() if name != "first")]
    files = {}
    for name, of in (("run", chosen[1:]), ("comparison", chosen)):
        files[name] = folder / f"{name}.html"
        files[name].write_bytes(reports.of_runs(workspace, of))
    return files


KINDS = ("run", "comparison")


class Parsed(HTMLParser):
    """Elements of a page with their attributes, and the texts of its scripts."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[tuple[dict[str, str | None], str]] = []
        self.words: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        if tag == "script":
            self.scripts.append((dict(attributes), ""))

    def handle_data(self, data):
        if self.lasttag == "script" and self.scripts:
            self.scripts[-1] = (self.scripts[-1][0], self.scripts[-1][1] + data)
        elif self.lasttag != "style":
            self.words.append(data)


@pytest.mark.parametrize("kind", KINDS)
def test_what_others_wrote_is_no_markup_and_no_key_is_in_the_file(made, kind):
    data = made[kind].read_bytes()
    assert len(data) < 6_000_000
    text = data.decode()
    assert KEY not in text
    assert "planted" not in text
    page = Parsed(text)
    blocks = [body for attributes, body in page.scripts if attributes.get("type") == "application/json"]
    assert len(page.scripts) == len(blocks) + 2
    assert all(set(attributes) <= {"type", "id"} for attributes, _ in page.scripts)
    for body in blocks:
        assert json.loads(body)["data"]
        assert not set("<>&") & set(body)
    tags = Counter(tag for tag, _ in page.elements)
    assert not {"img", "iframe", "object", "form", "link", "base", "input", "embed"} & set(tags)
    for tag, attributes in page.elements:
        assert not [name for name in attributes if name.startswith("on") or name in ("src", "srcset", "action")]
        assert attributes.get("href", "#").startswith("#"), (tag, attributes)
    shown = "".join(page.words)
    assert sum(planted in shown for planted in LIVE[:-1]) >= 3
    assert "\u202e" not in text


@pytest.mark.browser
@pytest.mark.parametrize("kind", KINDS)
def test_the_file_opens_offline_in_light_and_dark_and_prints_light(made, kind, browser):
    grounds = {}
    for scheme in ("light", "dark"):
        context = browser.new_context(offline=True, color_scheme=scheme, viewport={"width": 1024, "height": 800})
        page = context.new_page()
        said, asked = [], []
        page.on("console", lambda message, said=said: said.append(message.text))
        page.on("pageerror", lambda error, said=said: said.append(str(error)))
        page.on("request", lambda request, asked=asked: asked.append(request.url))
        page.goto(made[kind].as_uri())
        page.wait_for_function("document.documentElement.dataset.drawn")
        assert said == []
        assert [url for url in asked if not url.startswith(("file:", "data:", "blob:"))] == []
        assert page.evaluate("window.pwned") is None
        plots = page.locator(".plot")
        assert plots.count() == int(page.evaluate("document.documentElement.dataset.drawn"))
        assert plots.locator(".main-svg").count() >= plots.count()
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        grounds[scheme] = page.evaluate("getComputedStyle(document.documentElement).backgroundColor")
        assert objections(page, CHECKED) == []
        page.emulate_media(media="print")
        assert page.evaluate("getComputedStyle(document.documentElement).backgroundColor") == "rgb(255, 255, 255)"
        assert page.evaluate("getComputedStyle(document.body).color") == "rgb(18, 23, 29)"
        page.emulate_media(media="screen")
        printed = page.pdf(prefer_css_page_size=True, format="A4", print_background=True)
        context.close()
    assert grounds["light"] != grounds["dark"]
    document = parsing.parse("report.pdf", printed, detect=language.detect)
    assert 4 <= len(document.pages) <= 20
    first = document.text[document.pages[0].start : document.pages[0].end]
    assert ("Change card" if kind == "comparison" else "State of this run") in first
    assert "In plain words" in first
    for heading in ("Three telling questions", "Pictures", "Configuration"):
        assert heading in document.text
    assert "Rank of the evidence" in document.text  # an axis: figures are printed


def card_of(text):
    return text[text.index('id="change"') : text.index("<h2", text.index('id="change-title"') + 40)]


def test_an_experiment_is_decided_by_the_rule_that_was_declared_before(experiment):
    before, declared = experiment
    assert "Undecided" in card_of(before)
    assert "No cell is done yet." in before
    workspace = open_workspace()
    base, other = (cell.name for cell in declared.cells)
    text = reports.made(workspace, [declared.name]).decode()
    card = card_of(text)
    assert f"</i>Ship {other}</p>" in card
    assert re.search(r"Declared on \d{4}-\d\d-\d\d \d\d:\d\d UTC, before the first result of \d{4}", card)
    assert f"recall@3 against {base}, differences from 0.02 matter, tokens at most 5000" in card
    assert "<script>window.pwned" not in text

    ids = [cell.run_id for cell in declared.cells]
    workspace.store.experiments.confirm(declared.id, Confirmation(other, *ids, 1.0))
    text = reports.made(workspace, [declared.name]).decode()
    assert "reported here on test questions that had no part in the choice" in text
    assert 'id="choice"' in text
