"""Every page is run as Streamlit runs it, on a workspace with two indexes, two runs and no model."""

import re
import shutil
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from dataclasses import astuple
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from streamlit.components.v2 import manifest_scanner
from streamlit.testing.v1 import AppTest
from streamlit.testing.v1.element_tree import Button

from ragviz.analysis import outcomes
from ragviz.analysis.what_if import Choices
from ragviz.core import processes
from ragviz.core.configuration import IndexConfig, RunConfig
from ragviz.core.document import Corpus
from ragviz.core.errors import NotFoundError
from ragviz.core.person import Person
from ragviz.core.question import Question
from ragviz.index import indexing
from ragviz.jobs import queue, worker
from ragviz.runs import measurements, running, what_if_of_run
from ragviz.store.stored_corpora import StoredIndexes
from ragviz.ui import cache as page_cache
from ragviz.ui import frame, job_panel, question_table, sign_ins, what_if_tab
from ragviz.ui.kit import acting, figure
from ragviz.workspace import Workspace, open_workspace
from tests.builders import Bags, added, span
from tests.builders import stored as document_of
from tests.model_server import ModelServer
from tests.system_server import SystemServer
from tests.test_other_systems import stored

ROOT = Path(__file__).resolve().parent.parent
PAGES = [*(page for section in frame.NAVIGATION.values() for page in section), *frame.UNLISTED]
installed_components = cache(manifest_scanner.scan_component_manifests)  # each AppTest would look through site-packages
MARKED = "Notes *on* $pumps$ :smile:.md"  # a name full of markdown


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with the corpus "notes", its indexes, questions and runs."""
    home = tmp_path_factory.mktemp("pages") / "home"
    with pytest.MonkeyPatch.context() as patch:
        configure(patch, home)
        seed(open_workspace())
    return home


def configure(patch: pytest.MonkeyPatch, home: Path) -> None:
    for name in ("ELASTICSEARCH_URL", "OPENAI_API_KEY", "OPENAI_BASE_URL", "RAGVIZ_DATABASE_URL"):
        patch.delenv(name, raising=False)
    patch.setenv("RAGVIZ_HOME", str(home))
    patch.setattr(Workspace, "embedder", lambda *_: Bags())


def seed(workspace: Workspace) -> None:
    store = workspace.store
    pumps = "\n\n".join(
        f"# Pump {n}\n\nPump {n} moves {n * 10} litres a minute and was built in {1990 + n}." for n in range(60)
    )
    valves = "北阀门于2021年更换。检修周期为三十天。负责人是王芳。" * 3
    corpus = added(workspace, "notes", {MARKED: pumps, "阀门.txt": valves, "empty.txt": ""})
    indexing.build_index(workspace, corpus, "small", IndexConfig(chunk_size=20, overlap=5))
    indexing.build_index(workspace, corpus, "large", IndexConfig(chunker="recursive", chunk_size=60))
    store.questions.put(store.sets.add(corpus.id, "asked").id, questions(workspace, corpus))
    for name, index, retriever in (("words", "small", "bm25"), ("vectors", "large", "knn")):
        running.run(workspace, name, RunConfig(index=index, questions="asked", retriever=retriever, depth=20))  # type: ignore[arg-type]


def questions(workspace: Workspace, corpus: Corpus) -> list[Question]:
    pumps = document_of(workspace, corpus, MARKED)
    one = [
        Question(
            f"q{n}",
            f"How much does pump {n} move?",
            f"{n * 10} litres",
            ((span(pumps, f"moves {n * 10} litres"),),),
            "hand",
        )
        for n in range(2, 10)
    ]
    two = Question(
        "two",
        "Which of 3 and 4 is older?",
        "3",
        ((span(pumps, "in 1993"),), (span(pumps, "in 1994"),)),
        "hand",
        "accepted",
    )
    none = Question("none", "Who built the tower? <b>$x$</b>", "", (), "hand")
    return [*one, two, none]


@pytest.fixture
def home(built: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A copy of the built home, for tests that may change it."""
    yield from opened(copied(built, tmp_path / "home"), monkeypatch)


def copied(home: Path, folder: Path) -> Path:
    with closing(sqlite3.connect(home / "ragviz.db")) as connection:  # its log would be a change half made
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return shutil.copytree(home, folder)


@pytest.fixture
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    yield from opened(tmp_path / "home", monkeypatch)


def opened(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    configure(monkeypatch, folder)
    monkeypatch.setattr(queue, "start_waiting", lambda _: None)  # jobs wait, and no process is started
    monkeypatch.setattr(manifest_scanner, "scan_component_manifests", installed_components)
    page_cache._opened.clear()  # as a server that is started anew; no other cache is cleared for a test
    monkeypatch.setattr(figure, "_DRAWING", 0.0)  # no browser draws
    yield folder
    page_cache._opened.clear()


def show(page: str, **params: str) -> AppTest:
    """A session that looks at a page with this address, on which nothing goes wrong."""
    return checked(visit(page, **params))


def visit(page: str, /, **params: str) -> AppTest:
    app = AppTest.from_file(str(ROOT / "frame.py"), default_timeout=60)
    app.session_state["framed"] = False  # as in a session that has seen a page
    app.switch_page(f"pages/{page}.py")
    for name, value in params.items():
        app.query_params[name] = value
    return app.run()


def checked(app: AppTest) -> AppTest:
    assert not app.exception
    assert not [box.value for box in app.error]
    return app


def address(app: AppTest) -> dict[str, str]:
    return {name: value if isinstance(value, str) else value[-1] for name, value in app.query_params.items()}


def read(marked: Iterable[str]) -> str:
    """Markdown as a person reads it."""
    return re.sub(r"\\([!-/:-@\[-`{-~])", r"\1", "\n".join(marked))


def words(app: AppTest) -> str:
    """All text of a page as a person reads it, and its HTML as it is."""
    marked = [*app.markdown, *app.caption, *app.title, *app.header]
    html = [block.proto.body for block in app.get("html")]
    return "\n".join([read(each.value for each in marked), *html])


@pytest.mark.parametrize("page", PAGES)
def test_a_page_of_a_bare_home_says_what_to_do(bare: Path, page: str) -> None:
    app = show(page)
    assert len(words(app)) > 40
    assert not app.warning


@pytest.mark.parametrize("verdicts", [True, False])
@pytest.mark.parametrize("reference", [True, False])
def test_pages_of_another_system_speak_of_no_index_no_retriever_and_no_k(
    bare: Path, reference: bool, verdicts: bool
) -> None:
    stored(open_workspace(), reference=reference, verdicts=verdicts)
    for page, of in (("results", {}), ("inspect", {"question": "lacks one"}), ("home", {}), ("runs", {})):
        said = re.sub(r"(?s)<(style|script).*?</\1>|<[^>]*>", "", words(show(page, corpus="c", run="theirs", **of)))
        if page in ("results", "inspect"):
            assert not re.search(r"imported|retriever|chunk|\bk = |Found at|Not in top|in the index|gold", said), page
    if not reference:
        assert "Correct" not in words(show("results", corpus="c", run="theirs"))


@pytest.mark.parametrize("page", PAGES)
def test_a_page_is_drawn_without_loading_a_model_and_its_address_keeps_the_corpus(
    home: Path, page: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("a page asked for an embedder")

    monkeypatch.setattr(Workspace, "embedder", refuse)
    open_workspace().store.corpora.add("another")
    app = show(page, corpus="notes")
    if page != "settings":
        assert (address(app)["corpus"], app.sidebar.selectbox[0].value) == ("notes", "notes")


def content(home: Path) -> str:
    with closing(sqlite3.connect(home / "ragviz.db")) as connection:
        return "\n".join(connection.iterdump())


@pytest.mark.parametrize("page", PAGES)
def test_a_viewer_sees_every_page_and_no_button_changes_anything(
    home: Path, page: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also not a button that was on when it was drawn, for somebody who is a viewer by now."""
    monkeypatch.setattr(sign_ins, "signed_in", lambda: Person("ann@example.org", "viewer"))
    of = {"corpus": "notes", "run": "words", "set": "asked", "index": "small", "question": "q2"}
    before = content(home)
    shown = visit(page, **of)
    assert not shown.exception
    assert ["takes the role" in error.value for error in shown.error] == [True] * (page == "audit")
    monkeypatch.setattr(acting, "off", lambda *_: False)
    for number, each in enumerate(visit(page, **of).button):
        if each.key != "present-begin" and not each.disabled:
            pressed = visit(page, **of).button[number].click().run()
            assert not pressed.exception, each.label
    assert content(home) == before


@pytest.mark.parametrize("embedder", ["acme/mini", "/etc", "/not/there"])
def test_a_viewer_has_nothing_downloaded_and_no_folder_looked_for(
    home: Path, monkeypatch: pytest.MonkeyPatch, embedder: str
) -> None:
    monkeypatch.setattr(sign_ins, "signed_in", lambda: Person("ann@example.org", "viewer"))
    shown = show("index", corpus="notes", tab="New index", embedder=embedder)
    assert any("is not drawn for a viewer" in each.value for each in shown.caption)
    assert not any(each.label == "Download tokenizer" for each in shown.button)
    assert not shown.error


def test_the_kinds_and_styles_chosen_are_those_of_the_job(home: Path) -> None:
    app = show("questions", tab="Generate", index="small")
    app.button_group(key="generate-kinds-extractive").set_value(["fact", "table"])
    app.button_group(key="generate-styles-extractive").set_value(["colleague", "keywords"])
    app.number_input(key="generate-limit").set_value(17)
    next(b for b in app.button if b.label == "Generate").click()
    checked(app.run())
    arguments = open_workspace().store.jobs.all()[0].arguments
    assert (arguments["limit"], arguments["styles"]) == (17, {"colleague": 1, "keywords": 1})
    assert arguments["kinds"] == {"fact": None, "table": None}


def test_a_new_index_is_previewed_estimated_and_built(home: Path) -> None:
    app = show("index", tab="New index")
    tiles = {m.label: m.value for m in app.metric}
    assert int(tiles["Chunks"]) >= 1
    assert "cut even" in words(app)
    app.number_input(key="chunk_size").set_value(16)
    app.number_input(key="overlap").set_value(4)
    checked(app.run())
    assert int({m.label: m.value for m in app.metric}["Chunks"]) > int(tiles["Chunks"])
    assert "cut shared" in words(app)
    next(b for b in app.button if b.label == "Build index").click()
    checked(app.run())
    job = open_workspace().store.jobs.all()[0]
    assert job.kind == "index"
    assert job.arguments["config"]["chunk_size"] == 16
    assert job.arguments["name"] == "notes-tokens-16"


def button(app: AppTest, label: str) -> Button:
    return next(each for each in app.button if each.label == label)


def test_own_documents_go_into_a_corpus_of_their_own(home: Path) -> None:
    app = show("documents", corpus="notes", new="1")
    assert not app.get("file_uploader")
    app.text_input[0].set_value("mine")
    checked(button(app, "Create corpus").click().run())
    assert address(app) == {"corpus": "mine"}
    assert app.get("file_uploader")


def test_a_question_is_edited(home: Path) -> None:
    app = show("questions", question="q2")
    app.button(key="edit").click()
    app.run()
    app.text_area[0].set_value("What is it that pump 2 moves?")
    next(b for b in app.button if b.label == "Save").click()
    checked(app.run())
    store = open_workspace().store
    assert store.questions.all(store.sets.get("asked").id)[0].text == "What is it that pump 2 moves?"


def test_a_generation_by_a_model_is_foreseen_and_bounded(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with ModelServer() as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        app = show("questions", tab="Generate")
        app.button_group(key="generate-kinds-model").set_value(["fact"])
        app.number_input(key="generate-limit").set_value(3)
        next(b for b in app.button if b.label == "Show the plan").click()
        checked(app.run())
        calls = next(m for m in app.metric if m.label == "Calls to pay")
        # one try in five is taken for rejected: 4 tries for 3 facts, of 3 calls each, and 1 for all of them
        assert (int(calls.value), calls.delta) == (13, "0 more are already paid")
        assert server.counts.calls == 2  # how long the endpoint takes
        next(n for n in app.number_input if n.label == "Budget in dollars").set_value(1.5)
        monkeypatch.setattr(
            "ragviz.jobs.queue.submit_once",
            lambda _, new, *more: (open_workspace().store.jobs.add(*astuple(new)), True),
        )
        next(b for b in app.button if b.label == "Generate").click()
        app.run()
    arguments = open_workspace().store.jobs.all()[0].arguments
    assert (arguments["generator"], arguments["budget"], arguments["kinds"]) == ("model", 1.5, {"fact": None})


def test_a_long_list_has_pages_and_ends_on_its_last_one(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ids = list(show("results", run="words").dataframe[-1].value["Id"])
    monkeypatch.setattr(question_table, "PAGE", len(ids) - 1)
    for tab in ("Overview", "RAGQuestEval"):
        app = show("results", run="words", tab=tab, listed=str(len(ids)))
        assert not app.warning
        assert list(app.dataframe[-1].value["Id"]) == ids[-1:]


FILTERS: list[tuple[dict[str, str], Callable[[dict[str, Any]], bool]]] = [
    ({"kind": "multi"}, lambda row: row["Id"] == "two"),
    ({"rank": "1"}, lambda row: row["Rank"] == 1),
    ({"rank": "miss"}, lambda row: row["Outcome"] == "Not in top 20"),
    ({"outcome": "below k"}, lambda row: row["Outcome"] == "Ranked below 3"),
    ({"find": "OLDER"}, lambda row: "older" in row["Question"]),
    ({"document": "阀门.txt"}, lambda row: False),
    ({"rank": "nonsense"}, lambda row: True),
]


def test_questions_are_filtered(home: Path) -> None:
    everything = show("results", run="words").dataframe[-1].value.to_dict("records")
    for filters, passes in FILTERS:
        app = show("results", run="words", **filters)
        expected = [row["Id"] for row in everything if passes(row)]
        assert [i for table in app.dataframe if "Id" in table.value for i in table.value["Id"]] == expected, filters
        assert f"**{len(expected)} of 9 questions**" in words(app)


def test_a_case_of_two_runs_is_shown_at_the_k_that_its_list_is_measured_at(home: Path) -> None:
    for metric, title in (("recall@1", "Recall@1"), ("recall@own", "Recall@own k")):
        app = show("inspect", runs="words,vectors", question="q2", k="1", metric=metric)
        assert title in list(app.dataframe[-1].value["Metric"])
        cut = 1 if metric == "recall@1" else RunConfig("", "").k
        assert read(each.proto.body for each in app.get("html")).count(f"cut at k = {cut}:") == 2


def test_the_numbers_of_the_page_add_up_and_list_their_questions(home: Path) -> None:
    app = show("results", run="words", k="1", find="older")
    summary = measurements.summary_of(open_workspace(), open_workspace().store.runs.get("words"), 1)
    numbers = {
        outcome: int(re.search(r"\d+", app.button(key=f"sum-{outcome}").label)[0]) for outcome in outcomes.RANKED
    }
    assert sum(numbers.values()) == summary.n
    bar = next(block.proto.body for block in app.get("html") if "rv-shares" in block.proto.body)
    shares = {
        name.replace("-k", " k"): int(n) for name, n in re.findall(r'class="rv-([a-z-]+)" style="flex:(\d+)"', bar)
    }
    assert shares == {outcome: n for outcome, n in numbers.items() if n}
    assert "find their evidence in the first chunk" in words(app)
    assert "10 unanswerable" not in words(app)
    outcome = next(outcome for outcome in outcomes.RANKED if numbers[outcome])
    app.button(key=f"sum-{outcome}").click()
    checked(app.run())
    assert len(app.dataframe[-1].value) == numbers[outcome]
    assert address(app)["outcome"] == outcome
    assert "find" not in address(app)


def test_what_if_measures_the_choices_of_the_address(home: Path) -> None:
    workspace = open_workspace()
    stored_rankings = what_if_of_run.stored_of(workspace, workspace.store.runs.get("vectors"))
    effects = what_if_of_run.effects(stored_rankings, Choices(1, None, 100), None)
    app = show("results", run="vectors", tab=what_if_tab.NAME, **{"if-k": "1", "if-budget": "100"})
    tiles = {tile.label.rstrip("\u00a0↑↓"): tile.value for tile in app.metric}
    measured = {"Recall": f"{effects['recall'].other.mean:.2f}", "Tokens read": f"{effects['tokens'].other.mean:,.0f}"}
    assert measured.items() <= tiles.items()


def test_settings_never_show_a_key(home: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "password").write_text("sk-secret of elastic")
    (tmp_path / ".env").write_text(f"ELASTICSEARCH_PASSWORD_FILE={tmp_path}/password\nRAGVIZ_JOBS=2\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret-secret-9876")
    page_cache._opened.clear()
    app = show("settings")
    table = next(d.value for d in app.dataframe if "Variable" in d.value)
    rows = {variable: rest for variable, *rest in table.itertuples(index=False)}
    assert rows["OPENAI_API_KEY"] == ["••••9876", "environment"]
    assert rows["ELASTICSEARCH_PASSWORD"] == ["••••", "ELASTICSEARCH_PASSWORD_FILE"]
    assert rows["RAGVIZ_JOBS"] == ["2", ".env file"]
    assert "sk-secret" not in words(app) + table.to_csv()


def test_a_failed_job_tells_why_and_can_be_resumed(home: Path) -> None:
    workspace = open_workspace()
    arguments = {"name": "r", "config": {"index": "gone", "questions": "asked"}}
    job = workspace.store.jobs.add("run", "Run r", workspace.store.corpora.get("notes").id, arguments)
    with pytest.raises(NotFoundError):
        worker.perform(workspace, job.id)
    app = show("run")
    assert "There is no index called" in words(app)
    app.button(key=f"resume-{job.id}").click()
    checked(app.run())
    assert workspace.store.jobs.get(job.id).status == "queued"
    app.button(key=f"cancel-{job.id}").click()
    checked(app.run())
    assert workspace.store.jobs.get(job.id).status == "cancelled"


def test_a_defect_is_an_apology_and_not_a_traceback(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise ZeroDivisionError("secret inside")

    monkeypatch.setattr(StoredIndexes, "all", fail)
    app = AppTest.from_file(str(ROOT / "frame.py"), default_timeout=60).run()
    assert not app.exception
    assert "defect in ragviz" in app.error[0].value
    assert "secret inside" not in app.error[0].value


@pytest.mark.parametrize("page", ["home", "index", "settings", "results"])
def test_pages_work_while_elasticsearch_is_down(home: Path, page: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ELASTICSEARCH_URL", "http://127.0.0.1:9")
    page_cache._opened.clear()
    app = show(page)
    if page == "home":
        assert "**Index** does not work" in words(app)
    if page == "index":
        assert "127.0.0.1:9" not in words(app)


def table(app):
    return next(d.value for d in app.dataframe if "Run" in d.value)


def test_runs_stand_with_what_they_measured(home: Path) -> None:
    workspace = open_workspace()
    rows = table(show("runs")).set_index("Run")
    assert list(rows.index) == ["vectors", "words"], "the newest first"
    for name in rows.index:
        run = workspace.store.runs.get(name)
        summary = measurements.summary_of(workspace, run)
        recall = summary.metrics["recall@3"]
        assert rows.loc[name, "Recall@k"] == f"{recall.mean:.2f} [{recall.low:.2f}, {recall.high:.2f}]"
        assert rows.loc[name, "Not found to depth"] == summary.misses
        assert rows.loc[name, "Question set"] == "asked"
    assert (rows.loc["words", "Retriever"], rows.loc["words", "Chunking"]) == ("bm25", "tokens 20")
    assert rows.loc["words", "Status"] == "done"


def test_runs_are_filtered_by_the_address(home: Path) -> None:
    store = open_workspace().store
    store.runs.label(store.runs.get("words").id, note="the 基线 of June", tags=["baseline"])
    for params in ({"find": "june 基线"}, {"tags": "baseline"}, {"find": "bm25 asked"}):
        app = show("runs", **params)
        assert list(table(app)["Run"]) == ["words"]
        assert "1 of 2 runs · filter" in words(app)
    app = show("runs", find="nothing like it")
    assert not app.dataframe
    assert "No run passes the filter" in words(app)
    app = show("runs", tags="baseline,gone")
    assert "gone" in app.warning[0].value
    assert address(app)["tags"] == "baseline"


def test_an_endpoint_is_tried_kept_and_asked(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queue, "start", lambda workspace, job: workspace.store.jobs.get(job.id))
    with SystemServer(
        lambda body: {"out": {"said": "20 litres", "hits": [{"body": "Pump 2 moves 20.", "n": 1}]}}
    ) as server:
        app = checked(show("targets", tab="Endpoint"))
        fields = {field.label: field for field in [*app.text_input, *app.text_area]}
        fields["Name"].set_value("bot")
        fields["Address (URL)"].set_value(server.url)
        app = checked(app.run())
        button(app, "Test").click()
        app = checked(app.run())
        values = {field.label: field.value for field in app.text_input}
        assert (values["Answer"], values["Contexts"]) == ("out.said", "out.hits[].body")  # guessed from the reply
        assert "Pump 2 moves 20." in words(app)
        button(app, "Save").click()
        app = checked(app.run())
        stored = open_workspace().store.targets.get("bot")
        assert (stored.answer, stored.contexts, stored.url) == ("out.said", "out.hits[].body", server.url)
        button(app, "Ask").click()
        checked(app.run())
        workspace = open_workspace()
        job = workspace.store.jobs.all()[0]
        assert worker.perform(workspace, job.id).result["run"] == "bot 1"
        run = workspace.store.runs.get("bot 1")
        answers = {each.recording.answer for each in workspace.store.judgements.all(run.id).values()}
        assert answers == {"20 litres"}
        assert len(server.bodies) == 1 + run.provenance["n"]


@pytest.fixture
def workspace(home: Path) -> Workspace:
    return open_workspace()


def test_an_interrupted_build_stands_before_the_helpers_and_says_where_it_ended(workspace: Workspace) -> None:
    jobs, corpus_id = workspace.store.jobs, workspace.store.corpora.get("notes").id
    dead = processes.this_process() | {"started": 1.0}
    build = {"host": dead["host"], "pid": dead["pid"], "pid_started": dead["started"], "status": "running"}
    helper = {"host": "elsewhere", "heartbeat": time.time(), "status": "running"}
    added = [("index", "Build small", {"name": "small"}, build)]
    added += [("help-index", f"Help {n}", {"index": "x", "share": f"share {n}"}, helper) for n in range(2)]
    for kind, title, arguments, columns in added:
        job = jobs.add(kind, title, corpus_id, arguments)
        jobs.update(job.id, **columns)
    app = show("index")
    assert read(each.label for each in app.sidebar.expander) == ":orange[▲] **Build small** interrupted\n1 more job"
    assert f"Its process on {dead['host']} ended unexpectedly" in read(each.value for each in app.sidebar.caption)
    assert f"its build was interrupted on {dead['host']}" in read(each.value for each in app.main.markdown)


@pytest.mark.parametrize(
    ("page", "label", "params"), [("index", "Build index", {"tab": "New index"}), ("run", "Run", {})]
)
def test_who_presses_in_the_same_moment_is_told_that_it_runs_already(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch, page: str, label: str, params: dict[str, str]
) -> None:
    first, second = show(page, **params), show(page, **params)
    button(first, label).click()
    checked(first.run())
    [job] = workspace.store.jobs.all()
    assert job.kind == page
    if page == "run":
        config = job.arguments["config"]
        assert (config["retriever"], config["k"], config["depth"]) == ("knn", 3, 50)
    monkeypatch.setattr(job_panel, "active_job", lambda *_, **__: None)  # looked up a moment before the job was there
    button(second, label).click()
    checked(second.run())
    assert [each.id for each in workspace.store.jobs.all()] == [job.id]
    assert f"{job.title} is waiting or running already. Nothing was started a second time." in read(
        toast.value for toast in second.toast
    )
