"""Answers and their judgement as the pages show them: runs made without a model, verdicts put in by hand."""

from __future__ import annotations

import html
import os
import re
import shutil
import time
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path

import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from ragviz import config, jobs
from ragviz.analysis import diagnose
from ragviz.errors import UselessModel
from ragviz.judging import forecast
from ragviz.metrics import answers as answer_metrics
from ragviz.metrics.answers import ANSWER_METRICS
from ragviz.records import (
    Answer,
    Bank,
    BankItem,
    Call,
    Claim,
    ClaimVerdict,
    EvaluatedAnswer,
    Matrix,
    Question,
    Run,
    RunConfig,
    Span,
)
from ragviz.runs import choices, foreign, judgements, measurements, ragchecker, running
from ragviz.text.markup import plain
from ragviz.ui import cache
from ragviz.workspace import Workspace, open_workspace
from tests.model_server import ModelServer
from tests.test_foreign import result, written
from tests.test_pages import (  # the home that is built there, and how a page is visited
    address,
    bare,  # noqa: F401 - a fixture
    built,  # noqa: F401 - a fixture
    checked,
    opened,
    show,
    visit,
    words,
)

YES, NO, AGAINST = ClaimVerdict("supported", 0), ClaimVerdict("absent"), ClaimVerdict("contradicted", 1)
HOSTILE = "<img src=x onerror=y> *bold* [a](b) :red[r]"


@pytest.fixture(scope="module")
def judged(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:  # noqa: F811
    """The home with a run that answers, one question of which carries verdicts; and one in Chinese."""
    folder = tmp_path_factory.mktemp("judged") / "home"
    shutil.copytree(built, folder)
    with pytest.MonkeyPatch.context() as patch:
        for _ in opened(folder, patch):
            fill(open_workspace())
    return folder


@pytest.fixture
def home(judged: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    folder = tmp_path / "home"
    shutil.copytree(judged, folder)
    yield from opened(folder, monkeypatch)


def fill(workspace: Workspace) -> None:
    store = workspace.store
    corpus = store.corpus("notes")
    questions = store.questions(store.question_set("asked").id)
    store.put_questions(store.create_question_set(corpus.id, "told").id, [*questions, chinese(workspace)])
    config = RunConfig("small", "told", "bm25", depth=20, answerer="extractive")
    run = running.run(workspace, "told", config)
    names = tuple(ANSWER_METRICS)
    store.put_evaluated(
        run.id, [(each, answer_metrics.scores(each, names)) for each in evaluated_answers(run, workspace)]
    )


def chinese(workspace: Workspace) -> Question:
    store = workspace.store
    info = store.document_named(store.corpus("notes").id, "阀门.txt")
    assert info is not None
    text = store.document(info.corpus_id, info.id).text
    start = text.index("负责人是王芳")
    span = Span(info.id, start, start + 6, "负责人是王芳")
    return Question("zh", "北阀门的负责人是谁？", "负责人是王芳。", ((span,),), "hand", language="zh")


def evaluated_answers(run: Run, workspace: Workspace) -> list[EvaluatedAnswer]:
    """Verdicts by hand: of q7 in English, of "zh" in Chinese; the judge of q2 failed."""
    stored = workspace.store.evaluated_answers(run.id)
    call = Call("context", "judge-1", "3", 120, 30, 1.25, 0.0042, cached=False, raw='{"said": "' + HOSTILE + '"}')
    q7, zh, q2 = (stored[name] for name in ("q7", "zh", "q2"))
    chunks = q7.answer.context
    rest = (NO,) * (len(chunks) - 1)
    text = "Pump 7 moves 70 litres [1]. It is red."
    answer = Answer("q7", text, "answered", "model", chunks, chunks[-1:], (1,), (9,))
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
    items = (
        BankItem("70", "How many?", "70 litres"),
        BankItem("red", "Which colour?", "blue"),
        BankItem("", "Who?", None),
    )
    bank = Bank(items, "en", "judge-1")
    english = replace(
        q7, answer=answer, matrix=matrix, equivalence="partial", equivalence_reason=HOSTILE, completeness=1.0,
        conciseness=0.5, bank=bank, bank_answers=("70 litres", None, None), calls=(call,),
    )  # fmt: skip
    said = Answer("zh", "负责人是王芳。阀门是红色的。", "answered", "model", zh.answer.context[:1])
    row = ((ClaimVerdict("supported", 1),), (ClaimVerdict("contradicted", 2),))
    claims = (Claim("负责人是王芳", 0), Claim("阀门是红色的", 1))
    both = Matrix(said.context, claims, claims[:1], row, row[:1], (YES, NO), (YES,), (True,))
    mandarin = replace(zh, answer=said, matrix=both)
    return [english, mandarin, replace(q2, failures={"context": "the judge gave nothing that could be read"})]


def text_of(app: AppTest) -> str:
    """What is read of a page: no tags, entities as characters."""
    return html.unescape(re.sub(r"<[^>]+>", "", words(app)))


def claim(app: AppTest, name: str) -> AppTest:
    app.button(key=f"claim-{name}").click()
    return checked(app.run())


# The inspector


def test_claims_are_underlined_by_verdict_and_listed_with_their_signs(home: Path) -> None:
    app = show("inspect", run="told", question="q7")
    shown = words(app)
    assert '<mark class="supported">Pump 7 moves 70 litres [1].</mark><sup title="claim 1: supported">1✓</sup>' in shown
    assert '<mark class="absent">It is red.</mark><sup title="claim 2: absent">2○</sup>' in shown
    assert app.button(key="claim-a0").label == plain("1 ✓ Pump 7 moves 70 litres.")
    assert app.button(key="claim-r0").label.startswith("1 ✓")
    assert "cites 9, which were not in its context" in shown


def test_a_claim_lights_up_its_sentence_in_chunk_and_reference_and_has_an_address(home: Path) -> None:
    app = show("inspect", run="told", question="q7")
    assert not re.search(r'<mark class="[^"]*\bfor\b', words(app))
    claim(app, "a0")
    assert address(app)["claim"] == "a0"
    lit = re.findall(r'<mark class="[^"]*\bfor\b[^"]*">(.*?)</mark>', words(app))
    assert "70 litres" in lit, "the reference's sentence"
    assert '<mark class="begins for">Pump 7 </mark><mark class="for gold">moves 70 litres</mark>' in words(app)
    assert "✓ supports claim 1, sentence 2" in text_of(app)
    again = show("inspect", run="told", question="q7", claim="a0")
    assert words(again) == words(app), "the link reopens exactly this"
    claim(app, "a0")
    assert "claim" not in address(app)


def test_a_claim_of_the_reference_lights_up_the_answer(home: Path) -> None:
    app = show("inspect", run="told", question="q7", claim="r0")
    assert '<mark class="begins for supported">Pump 7 moves 70 litres [1].</mark>' in words(app)


@pytest.mark.parametrize("name", ["a9", "x", "r-1", "a0'><b>"])
def test_an_address_with_another_claim_shows_none(home: Path, name: str) -> None:
    assert "supports claim" not in text_of(show("inspect", run="told", question="q7", claim=name))


def test_chinese_claims_are_lit_too(home: Path) -> None:
    """The chunk begins in the midst of a sentence; gold is the second, without its full stop."""
    shown = words(show("inspect", run="told", question="zh", claim="a0"))
    assert '<mark class="begins for gold">负责人是王芳</mark><mark class="for">。</mark>北阀门' in shown
    shown = words(show("inspect", run="told", question="zh", claim="a1"))
    assert "✗ contradicts claim 2, sentence 3" in shown
    assert '<mark class="against begins">北阀门于2021年更换。</mark>' in shown


def test_chunks_tell_target_use_and_what_the_budget_cut(home: Path) -> None:
    shown = text_of(show("inspect", run="told", question="q7"))
    assert "★ target" in shown
    assert "✓ useful" in shown
    assert "○ not useful" in shown
    assert "truncated by the context budget" in shown


def test_scores_have_reasons_or_a_status_in_words(home: Path) -> None:
    app = show("inspect", run="told", question="q7")
    shown = words(app)
    assert '<span>Faithfulness</span><span class="bar"><i style="width:50%"></i></span><b>0.50</b>' in shown
    assert "1 of 2 claims supported by a passage" in shown
    assert "partial: " + html.escape(HOSTILE) in shown
    failed = words(show("inspect", run="told", question="q2"))
    assert "judge error" in failed
    assert "the judge gave nothing that could be read" in text_of(show("inspect", run="told", question="q2"))


def test_the_bank_is_shown_question_by_question_with_both_denominators(home: Path) -> None:
    app = show("inspect", run="told", question="q7")
    shown = words(app)
    assert '<tr class="not"><td>Who?</td><td class="not">&lt;Unanswerable&gt;</td>' in shown
    row = '<tr><td>Which colour?</td><td>blue</td><td class="not">&lt;Unanswerable&gt;</td><td>–</td><td>reference</td>'
    assert row in shown
    assert "<td>70 litres</td><td>70 litres</td><td>1.00</td><td>both</td>" in shown
    assert "Recall 0.50 = 1 answered by the generated text ÷ 2 that the reference answers" in shown
    assert "over all 3 asked: recall 0.33, precision 0.33 · bank quality 0.33" in shown


def test_what_a_judge_said_is_raw_text_with_its_price(home: Path) -> None:
    app = show("inspect", run="told", question="q7")
    assert any(HOSTILE in block.value for block in app.code)
    label = next(e.label for e in app.expander if "Claims and passages" in e.label).replace("\\", "")
    assert "judge-1 · prompt version 3 · 120 + 30 tokens · 1.2 s · $0.0042" in label
    assert "<img" not in words(app)
    assert "*bold*" not in " ".join(b.label for b in app.button)


def test_the_cause_stands_on_top_with_its_next_step(home: Path) -> None:
    run = open_workspace().store.run("told")
    judgement = judgements.judgement_of(open_workspace(), run)
    for question_id in ("q7", "none"):
        shown = text_of(show("inspect", run="told", question=question_id))
        assert diagnose.CAUSES[judgement.causes[question_id]].title in shown
        assert ("Next:" in shown) == (judgement.causes[question_id] != "fine")


def test_the_walk_stays_within_the_filter(home: Path) -> None:
    run = open_workspace().store.run("told")
    causes = judgements.judgement_of(open_workspace(), run).causes
    cause = max(set(causes.values()), key=list(causes.values()).count)
    expected = [i for i in causes if causes[i] == cause]
    app = show("inspect", run="told", cause=cause)
    visited = [address(app)["question"]]
    while not (button := next(b for b in app.button if b.label == "Next")).disabled:
        button.click()
        checked(app.run())
        visited.append(address(app)["question"])
    assert sorted(visited) == sorted(expected)
    assert address(app)["cause"] == cause


def test_a_run_without_claims_shows_its_extractive_bank(home: Path) -> None:
    shown = text_of(show("inspect", run="told", question="q5"))
    assert "No claims: the answer was not judged by a model" in shown
    assert "RAGQuestEval, extractive" in shown
    assert "No model was asked" in shown


def test_a_run_without_answers_says_so_and_leads_to_its_ranking(home: Path) -> None:
    app = show("inspect", run="words", question="q7")
    assert "has no answers" in text_of(app)
    assert "★ target" in text_of(app)


def test_an_unknown_question_is_told(home: Path) -> None:
    app = visit("inspect", run="told", question="gone")
    assert "gone" in app.warning[0].value
    assert address(app)["question"] != "gone"


# Results


def test_results_tell_coverage_and_judge_again(home: Path) -> None:
    app = show("results", run="told")
    assert "0 to 2 of 11 scored, fewest by Answer relevancy" in words(app)
    assert ":orange[▲] 1 judge error" in words(app)
    next(b for b in app.button if b.label == "Judge again").click()
    checked(app.run())
    job = open_workspace().store.jobs()[0]
    assert (job.kind, job.arguments) == ("rejudge", {"run": "told", "budget": None})


def test_judging_again_asks_for_a_budget_and_begins_with_the_last_one(server: ModelServer) -> None:
    workspace = open_workspace()
    server.fail, server.faults = 1.0, ("malformed",)
    config = RunConfig("small", "told", "bm25", depth=20, answerer="extractive", metrics=("faithfulness",))
    with pytest.raises(UselessModel):
        running.run(workspace, "badly judged", config)
    running.run(workspace, "badly judged", config)  # regardless
    app = show("results", run="badly judged")
    budget = next(n for n in app.number_input if n.label == "Budget in dollars")
    assert budget.value is None, "no limit until one is given"
    budget.set_value(2.5)
    next(b for b in app.button if b.label == "Judge again").click()
    app.run()
    assert "needs the price of 'loopback'" in app.error[0].value.replace("\\", "")
    assert not workspace.store.jobs()
    workspace.set_prices({"loopback": (1.0, 2.0)})
    next(b for b in app.button if b.label == "Judge again").click()
    checked(app.run())
    assert workspace.store.jobs()[0].arguments == {"run": "badly judged", "budget": 2.5}
    again = show("results", run="badly judged")
    assert next(n for n in again.number_input if n.label == "Budget in dollars").value == 2.5


def test_tiles_of_answers_have_their_n(home: Path) -> None:
    app = show("results", run="told")
    tile = next(m for m in app.metric if m.label == "Faithfulness ↑")
    scored = judgements.judgement_of(open_workspace(), open_workspace().store.run("told")).metrics["faithfulness"]
    assert tile.value == f"{scored.estimate.mean:.2f}"
    assert tile.delta.endswith(f"n = {scored.estimate.n} of {scored.total}")


def test_a_cause_filters_the_questions_and_is_a_chip(home: Path) -> None:
    causes = judgements.judgement_of(open_workspace(), open_workspace().store.run("told")).causes
    cause = causes["q5"]
    app = show("results", run="told", cause=cause)
    assert set(app.dataframe[-1].value["Id"]) == {i for i in causes if causes[i] == cause}
    app.button(key="chip-cause").click()
    checked(app.run())
    assert len(app.dataframe[-1].value) == 11


def test_the_worst_score_comes_first_and_the_metric_can_be_chosen(home: Path) -> None:
    table = show("results", run="told", metric="token_f1").dataframe[-1].value
    values = table["Token F1"].dropna().tolist()
    assert values == sorted(values)
    assert table["Token F1"].isna().tolist() == sorted(table["Token F1"].isna().tolist()), "those without stand last"


def test_a_question_of_a_run_that_answers_opens_the_inspector_with_the_filter(home: Path) -> None:
    app = show("results", run="told", cause="wrong")
    app.session_state["open-question"] = "q7"
    checked(app.run())
    assert app.title[0].value == plain("How much does pump 7 move?")
    assert {"run": "told", "question": "q7", "cause": "wrong"}.items() <= address(app).items()


def test_a_run_without_answers_has_its_waterfall_up_to_the_ranking(home: Path) -> None:
    app = show("results", run="words")
    assert "**Failure attribution**, retrieval only" in words(app)
    assert "Answered, but wrong" not in words(app)


# Run


def test_an_extractive_run_is_a_click_away(home: Path) -> None:
    app = show("run")
    answerer = next(g for g in app.get("button_group") if g.key and g.key.startswith("answerer-"))
    assert answerer.options == ["none", "extractive"]
    assert "No model is connected" in words(app)
    answerer.set_value("extractive")
    checked(app.run())
    next(b for b in app.button if b.label == "Run").click()
    checked(app.run())
    job = open_workspace().store.jobs()[0]
    config = RunConfig(**job.arguments["config"])
    assert (config.answerer, config.context, config.context_tokens) == ("extractive", "retrieved", 3000)
    assert choices.resolved(open_workspace(), config).judge == ""
    assert job.arguments["name"].endswith("-knn-extractive")


def test_an_earlier_run_sets_the_new_fields_too(home: Path) -> None:
    app = show("run")
    app.selectbox(key="start-from").set_value("told")
    checked(app.run())
    assert next(n for n in app.number_input if n.label == "Context budget (tokens)").value == 3000
    next(b for b in app.button if b.label == "Run").click()
    checked(app.run())
    config = RunConfig(**open_workspace().store.jobs()[0].arguments["config"])
    stored = open_workspace().store.run("told").config
    assert replace(config, index=stored.index, questions=stored.questions) == stored


@pytest.fixture
def server(home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModelServer]:
    with ModelServer() as running_server:
        monkeypatch.setenv("OPENAI_BASE_URL", running_server.url)
        monkeypatch.setenv("RAGVIZ_MODEL", "loopback")
        cache.workspace.clear()
        yield running_server


def test_what_a_run_takes_is_told_when_asked_and_a_budget_goes_with_it(server: ModelServer) -> None:
    app = show("run", index="small", set="asked")
    next(g for g in app.get("button_group") if g.key and g.key.startswith("answerer-")).set_value("model")
    checked(app.run())
    assert {m.label: m.value for m in app.metric}["Model calls"] == "–"
    next(n for n in app.number_input if n.label == "Budget in dollars").set_value(2.5)
    next(b for b in app.button if b.label == "Estimate calls and cost").click()
    checked(app.run())
    tiles = {m.label: m for m in app.metric}
    config = RunConfig("small", "asked", answerer="model", metrics=("all",))
    assert tiles["Model calls"].value == str(running.foresee(open_workspace(), config).total)
    assert tiles["Cost"].delta == "no price known: enter it in Settings"
    assert server.counts.calls == 2, "nothing was asked but how long the endpoint takes"
    open_workspace().set_prices({"loopback": (1.0, 2.0)})  # a budget needs them
    next(b for b in app.button if b.label == "Run").click()
    checked(app.run())
    assert open_workspace().store.jobs()[0].arguments["budget"] == 2.5


def test_a_widget_never_makes_a_dry_run(server: ModelServer, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> forecast.Forecast:
        raise AssertionError("a dry run that nobody asked for")

    monkeypatch.setattr(running, "foresee", refuse)
    app = show("run")
    next(g for g in app.get("button_group") if g.key and g.key.startswith("answerer-")).set_value("model")
    checked(app.run())
    next(n for n in app.number_input if n.label == "Context budget (tokens)").set_value(500)
    checked(app.run())


def test_a_run_that_stopped_goes_on_with_another_budget(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    workspace = open_workspace()
    run = workspace.store.run("told")
    workspace.store.finish_run(run.id, "failed")
    arguments = {"name": "told", "config": asdict(run.config), "budget": 2.5}
    old = workspace.store.create_job("run", "Run told", run.corpus_id, arguments)
    workspace.store.update_job(old.id, status="failed", error="The budget of $2.50 is gone.", finished=time.time())
    app = show("run")
    assert "Interrupted" in words(app)
    assert "told (interrupted)" in words(app)
    assert any(b.key == f"resume-{old.id}" for b in app.button)
    monkeypatch.setattr(jobs, "start", lambda workspace, job: job)
    if run.config.model or run.config.judge:
        assert app.number_input(key=f"more-{run.id}").value == 2.5  # the limit holds until another is given
    app.button(key=f"go-on-{run.id}").click()
    checked(app.run())
    job = workspace.store.jobs()[0]
    assert (job.kind, job.arguments["name"]) == ("run", "told")
    assert RunConfig(**job.arguments["config"]) == run.config
    assert not any(b.key == f"resume-{old.id}" for b in app.button)  # the newer job has taken over
    assert "Run told is not finished yet" in words(show("results", run="told"))


# Settings


def test_a_typed_key_holds_for_this_server_and_is_never_shown(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "before-before-before")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    app = show("settings")
    secret = "sk-typed-here-1234567890"
    next(t for t in app.text_input if t.label == "API key").set_value(secret)
    next(t for t in app.text_input if t.label == "Model").set_value("other-model")
    next(b for b in app.button if b.label == "Apply").click()
    checked(app.run())
    assert os.environ["OPENAI_API_KEY"] == secret
    everything = words(app) + str([t.value for t in app.text_input]) + str(app.main)
    assert "sk-typed" not in everything
    assert "••••7890" in str([t.placeholder for t in app.text_input])
    table = next(d.value for d in app.dataframe if "Variable" in d.value).set_index("Variable")
    assert table.loc["OPENAI_API_KEY", "Source"] == "typed here"
    assert table.loc["RAGVIZ_MODEL", "Value"] == "other-model"
    assert secret.encode() not in (home / "ragviz.db").read_bytes()
    next(b for b in app.button if b.label == "Reset to the environment").click()
    checked(app.run())
    assert os.environ["OPENAI_API_KEY"] == "before-before-before"
    assert "RAGVIZ_MODEL" not in os.environ


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
        cache.workspace.clear()
        app = show("settings")
        next(t for t in app.text_input if t.label == "Base URL").set_value("http://127.0.0.1:7/v1")
        next(b for b in app.button if b.label == "Apply").click()
        checked(app.run())
        assert config.settings().openai_base_url == "http://127.0.0.1:7/v1"
        assert config.settings().openai_api_key is None
        assert "key was dropped" in app.toast[0].value
        next(b for b in app.button if b.label == "Reset to the environment").click()
        checked(app.run())
        assert config.settings().openai_api_key.get_secret_value() == (before or "in-the-file-in-the-file")


def test_an_address_that_is_none_is_refused(home: Path) -> None:
    app = show("settings")
    next(t for t in app.text_input if t.label == "Base URL").set_value("file:///etc")
    next(b for b in app.button if b.label == "Apply").click()
    app.run()
    assert "http://" in app.error[0].value
    assert "OPENAI_BASE_URL" not in os.environ


def test_the_connection_is_tested_and_told_in_words(server: ModelServer) -> None:
    server.refuse = frozenset({"json_schema"})
    app = show("settings")
    app.button(key="test-model").click()
    checked(app.run())
    assert re.search(r"loopback answers in \d+\.\d\d s and replies in JSON mode, without a schema", words(app))


def test_elasticsearch_is_told_in_a_sentence(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from ragviz.backends import elastic_server

    monkeypatch.setenv("ELASTICSEARCH_URL", "http://127.0.0.1:9")
    monkeypatch.setattr(elastic_server, "health", lambda *_: {"address": "a", "version": "8.15", "status": "yellow"})
    cache.workspace.clear()
    app = show("settings")
    app.button(key="test-index").click()
    checked(app.run())
    assert "Elasticsearch 8.15 answers; replicas are missing" in words(app)


@pytest.mark.parametrize("page", ["home", "documents", "index", "questions", "run", "results", "inspect", "compare"])
def test_every_page_shows_a_run_that_was_judged_elsewhere(bare: Path, page: str) -> None:  # noqa: F811
    workspace = open_workspace()
    corpus = workspace.store.create_corpus("elsewhere")
    for name in ("one", "two"):
        judged_run = ragchecker.read(written(result(response=name)), "out.json")
        foreign.import_run(workspace, corpus, name, judged_run)
    expected = {
        "results": "Imported: retrieved and judged elsewhere · questions one",
        "inspect": "Dogs stay outside.",
    }
    assert expected.get(page, "") in words(show(page, corpus="elsewhere", run="one", runs="one,two"))


def test_prices_are_edited_and_kept(home: Path) -> None:
    workspace = open_workspace()
    workspace.set_prices({"mine": (1.0, 2.0)})
    app = show("settings")
    table = next(d.value for d in app.dataframe if "Model" in d.value and "Variable" not in d.value)
    assert table.to_numpy().tolist() == [["mine", 1.0, 2.0]]
    next(b for b in app.button if b.label == "Save prices").click()
    checked(app.run())
    assert open_workspace().prices() == {"mine": (1.0, 2.0)}


# By kind and document


@pytest.mark.parametrize("name", ["completeness", "token_f1", "recall"])
def test_means_stand_per_kind_and_per_document_with_their_n(home: Path, name: str) -> None:
    workspace = open_workspace()
    run = workspace.store.run("told")
    questions = {q.id: q for q in workspace.store.run_questions(run.id)}
    measured = measurements.summary_of(workspace, run)
    scores = workspace.store.scores(run.id)
    values_by_id = {i: s.value for i, s in scores.get(name, {}).items() if s.value is not None} or dict(
        zip(measured.question_ids, measured.scores["recall@3"], strict=True)
    )
    app = show("results", run="told", per=name)
    table = next(d.value for d in app.dataframe if "Kind or document" in d.value)
    title = ANSWER_METRICS[name].title if name in ANSWER_METRICS else "recall@3"
    kinds = {"one passage": "single", "several passages": "multi", "unanswerable": "unanswerable"}
    documents = {d.name: d.id for d in workspace.store.documents(run.corpus_id)}
    assert {"one passage", "several passages", "unanswerable", "阀门.txt"} <= set(table["Kind or document"])
    for row in table.to_dict("records"):
        of = row["Kind or document"]
        ids = [
            q.id
            for q in questions.values()
            if (
                q.kind == kinds[of]
                if of in kinds
                else any(s.document_id == documents[of] for g in q.evidence for s in g)
            )
        ]
        values = [values_by_id[i] for i in ids if i in values_by_id]
        assert (row["Questions"], row["n"]) == (len(ids), len(values))
        assert row[title] == (pytest.approx(sum(values) / len(values)) if values else pd.NA) or not values
    every = next(d.value for d in app.dataframe if "Several passages" in d.value).set_index("Metric")
    two = [values_by_id[i] for i, q in questions.items() if q.kind == "multi" and i in values_by_id]
    assert every.loc[title, "Several passages"] == (f"{sum(two) / len(two):.2f} (n = {len(two)})" if two else "–")


def test_the_questions_of_a_kind_are_shown_and_can_be_left(home: Path) -> None:
    app = show("results", run="told", kind="multi")
    assert list(app.dataframe[-1].value["Id"]) == ["two"]
    assert app.button(key="chip-kind").label == "kind: several passages"
