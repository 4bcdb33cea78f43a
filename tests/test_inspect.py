"""Answers and their judgement as the pages show them: runs made without a model, verdicts put in by hand."""

import csv
import html
import io
import json
import os
import re
from collections.abc import Iterator
from dataclasses import astuple, fields, replace
from pathlib import Path

import numpy as np
import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest
from typer.testing import CliRunner

from ragviz import cli
from ragviz.analysis import diagnose
from ragviz.analysis.evaluate import Summary
from ragviz.core.call import Call
from ragviz.core.configuration import Run, RunConfig
from ragviz.core.recording import Context, Recording
from ragviz.core.score import Score
from ragviz.core.verdict import Bank, BankItem, Claim, ClaimVerdict, EvaluatedAnswer, Matrix
from ragviz.metrics import answers as answer_metrics
from ragviz.metrics.answers import ANSWER_METRICS
from ragviz.runs import exports, judgements, overviews, running
from ragviz.stats.clusters import Clusters
from ragviz.store.stored_runs import StoredJudgements, StoredRankings
from ragviz.ui import cache
from ragviz.workspace import Workspace, open_workspace
from tests.model_server import ModelServer
from tests.test_pages import (  # the home that is built there, and how a page is visited
    built,  # noqa: F401 - a fixture
    checked,
    copied,
    opened,
    show,
    words,
)

YES, NO, AGAINST = ClaimVerdict("supported", 0), ClaimVerdict("absent"), ClaimVerdict("contradicted", 1)
HOSTILE = "<img src=x onerror=y> *bold* [a](b) :red[r]"


@pytest.fixture(scope="module")
def judged(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:  # noqa: F811
    """The home with a run that answers, one question of which carries verdicts."""
    folder = copied(built, tmp_path_factory.mktemp("judged") / "home")
    with pytest.MonkeyPatch.context() as patch:
        for _ in opened(folder, patch):
            fill(open_workspace())
    return folder


@pytest.fixture
def home(judged: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    yield from opened(copied(judged, tmp_path / "home"), monkeypatch)


def fill(workspace: Workspace) -> None:
    store = workspace.store
    corpus = store.corpora.get("notes")
    questions = store.questions.all(store.sets.get("asked").id)
    store.questions.put(store.sets.add(corpus.id, "told").id, questions[:-1])
    config = RunConfig("small", "told", "bm25", depth=20, answerer="extractive")
    run = running.run(workspace, "told", config)
    names = tuple(ANSWER_METRICS)
    store.judgements.put(
        run.id, [(each, answer_metrics.scores(each, names)) for each in evaluated_answers(run, workspace)]
    )


def evaluated_answers(run: Run, workspace: Workspace) -> list[EvaluatedAnswer]:
    """Verdicts by hand of q7; the judge of q2 failed."""
    stored = workspace.store.judgements.all(run.id)
    call = Call("context", "judge-1", "3", 120, 30, 1.25, 0.0042, cached=False, raw='{"said": "' + HOSTILE + '"}')
    q7, q2 = stored["q7"], stored["q2"]
    chunks = q7.recording.read
    rest = (NO,) * (len(chunks) - 1)
    text = "Pump 7 moves 70 litres [1]. It is red."
    answer = Recording(
        "q7",
        answer=text,
        status="answered",
        origin="model",
        contexts=tuple(Context(chunk_id=each) for each in chunks),
        cut=chunks[-1:],
        citations=(1,),
        wrong_citations=(9,),
    )
    matrix = Matrix(
        chunks,
        (Claim("Pump 7 moves 70 litres.", 0), Claim(HOSTILE, 1)),
        (Claim("70 litres", 0),),
        ((ClaimVerdict("supported", 1), *rest), (NO, *rest)),
        ((ClaimVerdict("supported", 1), *rest),),
        (YES, NO),
        (YES,),
        (True, *(False for _ in rest)),
    )
    bank = Bank((BankItem("70", "How many?", "70 litres"), BankItem("", "Who?", None)), "en", "judge-1")
    english = replace(
        q7, recording=answer, matrix=matrix, equivalence="partial", equivalence_reason=HOSTILE, completeness=1.0,
        conciseness=0.5, bank=bank, bank_answers=("70 litres", None), calls=(call,),
    )  # fmt: skip
    return [english, replace(q2, failures={"context": "the judge gave nothing that could be read"})]


def text_of(app: AppTest) -> str:
    """What is read of a page: no tags, entities as characters."""
    return html.unescape(re.sub(r"<[^>]+>", "", words(app)))


def test_the_judges_calls_show_prompt_and_reply_with_their_price(home: Path) -> None:
    app = show("inspect", run="told", question="q7", tab="Judge calls")
    assert HOSTILE in text_of(app), "a reply that is no JSON is shown as it is"
    label = next(e.label for e in app.expander if "Claims and passages" in e.label).replace("\\", "")
    assert "judge-1 · prompt version 3 · 120 + 30 tokens · 1.2 s · $0.0042" in label
    assert "worded by version 3 of the prompt, which this version of ragviz no longer has" in text_of(app)
    assert "1 call** · 120 input + 30 output tokens · 1.2 s · $0.0042" in words(app).replace("\\", "")
    assert "<img" not in words(app)
    case = show("inspect", run="told", question="q7")
    assert "*bold*" not in " ".join(b.label for b in case.button)


def test_a_metric_has_one_interval_on_page_command_line_and_export(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Twelve scores of token F1, read in another order by each reader."""
    workspace, random = open_workspace(), np.random.default_rng(4)
    run = workspace.store.runs.get("told")
    ids = list(workspace.store.judgements.all(run.id))
    by_question = {i: Score("token_f1", n) for i, n in zip(ids, (0, 0.1, 0.2, 0.3, 0.9, 1) * 2, strict=False)}

    def shuffled(store: object, run_id: str, **_: object) -> dict[str, dict[str, Score]]:
        return {"token_f1": {i: by_question[i] for i in random.permutation(list(by_question))}}

    monkeypatch.setattr(type(workspace.store.judgements), "scores", shuffled)
    expected = judgements.judgement_of(workspace, run).metrics["token_f1"].estimate
    assert (expected.n, 0 < (expected.low or 0) < (expected.high or 0) < 1) == (len(by_question), True)
    of_runs = overviews.summaries(workspace, [run])[run.id].estimates["token_f1"]
    whole = exports.breakdown_of(workspace, run)[0].metrics["token_f1"].estimate
    rows = csv.DictReader(io.StringIO(exports.export_run(workspace, run)["metrics.csv"].decode("utf-8-sig")))
    file = next(row for row in rows if row["by"] == "all" and row["metric"] == "token_f1")
    printed = CliRunner().invoke(cli.app, ["results", "told", "--json"])
    told = json.loads(printed.stdout)["metrics"]["token_f1"]
    numbers = [astuple(of_runs)[:3], astuple(whole)[:3]]
    numbers += [tuple(float(each[name]) for name in ("mean", "low", "high")) for each in (file, told)]
    for each in numbers:
        assert each == pytest.approx(astuple(expected)[:3], abs=1e-6)
    shown = show("results", run="told", tab="All metrics").dataframe[0].value.set_index("Metric")
    assert shown.loc["Token F1", "95 % CI"] == f"[{expected.low:.2f}, {expected.high:.2f}]"


@pytest.fixture
def server(home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModelServer]:
    with ModelServer() as running_server:
        monkeypatch.setenv("OPENAI_BASE_URL", running_server.url)
        monkeypatch.setenv("RAGVIZ_MODEL", "loopback")
        cache._opened.clear()
        yield running_server


def test_a_typed_key_holds_for_this_server_and_is_never_shown(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "before-before-before")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    app = show("settings")
    secret = "sk-typed-here-1234567890"
    next(t for t in app.text_input if t.label == "API key").set_value(secret)
    next(t for t in app.text_input if t.label == "Model").set_value("other-model")
    next(b for b in app.button if b.label == "Apply").click()
    checked(app.run())
    opened = cache.machine()
    st.cache_resource.clear()  # as the socket's message `clear_cache` of any browser does
    assert cache.machine() is opened
    assert cache.workspace().settings.openai_api_key.get_secret_value() == secret
    assert os.environ["OPENAI_API_KEY"] == "before-before-before", "it is a person's, not the server's"
    everything = words(app) + str([t.value for t in app.text_input]) + str(app.main)
    assert "sk-typed" not in everything
    assert "••••7890" in str([t.placeholder for t in app.text_input])
    table = next(d.value for d in app.dataframe if "Variable" in d.value).set_index("Variable")
    assert table.loc["OPENAI_API_KEY", "Source"] == "typed here"
    assert table.loc["RAGVIZ_MODEL", "Value"] == "other-model"
    assert secret.encode() not in (home / "ragviz.db").read_bytes()
    next(b for b in app.button if b.label == "Reset to the environment").click()
    checked(app.run())
    assert cache.workspace().settings.openai_api_key.get_secret_value() == "before-before-before"


def test_another_address_never_gets_the_key_of_the_one_before(
    home: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".env").write_text("OPENAI_API_KEY=in-the-file-in-the-file\nOPENAI_BASE_URL=http://127.0.0.1:8/v1\n")
    for before in ("in-the-environment", None):
        if before:
            monkeypatch.setenv("OPENAI_API_KEY", before)
            monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
        else:
            monkeypatch.delenv("OPENAI_API_KEY", raising=False)
            monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
        cache._opened.clear()
        app = show("settings")
        next(t for t in app.text_input if t.label == "Base URL").set_value("http://127.0.0.1:7/v1")
        next(b for b in app.button if b.label == "Apply").click()
        checked(app.run())
        assert cache.workspace().settings.openai_base_url == "http://127.0.0.1:7/v1"
        assert cache.workspace().settings.openai_api_key is None
        assert "key was dropped" in app.toast[0].value
        next(b for b in app.button if b.label == "Reset to the environment").click()
        checked(app.run())
        assert cache.workspace().settings.openai_api_key.get_secret_value() == (before or "in-the-file-in-the-file")


# Overviews


@pytest.mark.parametrize("name", ["words", "told"])
def test_a_stored_overview_is_what_rankings_and_answers_are_measured_to(home: Path, name: str) -> None:
    workspace = open_workspace()
    run = workspace.store.runs.get(name)
    first = overviews.overview(workspace, run)
    assert workspace.store.runs.overview(run.id, overviews._version()) is not None
    second, computed = overviews.overview(workspace, run), overviews.computed(workspace, run)
    assert type(second.judgement) is judgements.Judgement, "without its answers"
    for stored in (first, second):
        assert stored.questions == computed.questions == len(workspace.store.rankings.questions(run.id))
        for field in fields(Summary):
            pair = [getattr(each.summary, field.name) for each in (stored, computed)]
            np.testing.assert_equal(*(astuple(each) if isinstance(each, Clusters) else each for each in pair))
        for field in fields(judgements.Judgement):
            assert getattr(stored.judgement, field.name) == getattr(computed.judgement, field.name), field.name
    assert all(type(ruling) is diagnose.Ruling for ruling in second.judgement.rulings.values())
    assert type(second.summary.ranks) is type(computed.summary.ranks)
    assert second.summary.ranks.dtype == computed.summary.ranks.dtype


def test_the_first_screen_of_a_run_reads_no_rankings_and_no_answers(
    home: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    workspace = open_workspace()
    overviews.overview(workspace, workspace.store.runs.get("told"))
    read = []
    for owner, name in ((StoredRankings, "all"), (StoredJudgements, "of"), (StoredJudgements, "all")):
        monkeypatch.setattr(owner, name, lambda *_, name=name, **__: read.append(name))
    app = show("results", run="told")
    assert "Where questions are lost" in words(app)
    assert read == []
