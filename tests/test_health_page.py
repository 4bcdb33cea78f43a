"""The page Question set health, as Streamlit runs it: verdict, checks, quarantine and release, plan, drill, map."""

import json
from dataclasses import replace

import pytest

from ragviz.core.configuration import RunConfig
from ragviz.core.question import Question
from ragviz.core.ranking import Ranking, Retrieved
from ragviz.generation import plan_record
from ragviz.generation.plan import Cell
from ragviz.generation.plan_record import PlanRecord, Row
from ragviz.health import examination, quarantine
from ragviz.health.checks import CHECKS
from ragviz.jobs import worker
from ragviz.questions import staleness
from ragviz.workspace import open_workspace
from tests.test_pages import address, bare, built, button, home, show, visit, words  # noqa: F401 - fixtures


@pytest.fixture
def store(home):  # noqa: F811
    """The home of the pages' tests, with one question asked twice."""
    store = open_workspace().store
    asked = store.sets.get("asked")
    first = store.questions.all(asked.id)[0]
    twin = Question("twin", first.text.upper(), first.answer, first.evidence, "hand", "accepted")
    store.questions.put(asked.id, [twin])
    return store


def test_the_first_screen_says_what_the_set_notices_and_lists_the_checks(store):
    app = show("health", set="asked")
    said = words(app)
    assert "Between two runs it notices differences in" in said
    assert [f":blue[{check.title}]" for check in CHECKS.values()] == [
        each.label for each in app.button if (each.key or "").startswith("check-")
    ]
    assert "to see how to know it" in said, "no run was asked without documents"
    assert app.button(key="quarantine-duplicates").label == "Quarantine 1"
    assert "Recall@" in said
    assert not app.exception


def test_a_check_lists_its_questions_and_the_address_holds_them(store):
    app = show("health", set="asked")
    button(app, ":blue[Duplicate or nearly]").click().run()
    assert address(app)["check"] == "duplicates"
    table = next(each.value for each in app.dataframe if "Why" in each.value)
    assert table["Id"].tolist() == ["twin"]
    assert table["Why"].tolist()[0].startswith("the same words as")
    shared = show("health", set="asked", check="duplicates", question="twin")
    assert "the same words as" in words(shared)
    odd = show("health", set="asked", check="spelling")
    assert "cannot be check here" in odd.warning[0].value
    assert not odd.exception


def test_one_click_quarantines_and_another_releases(store):
    app = show("health", set="asked")
    asked = store.sets.get("asked")
    versions = len(store.versions.all(asked.id))
    app.button(key="quarantine-duplicates").click().run()
    assert [q.id for q in quarantine.held_by(store.questions.all(asked.id), "duplicates")] == ["twin"]
    assert len(store.versions.all(asked.id)) == versions + 1
    assert "Quarantine 1" not in [each.label for each in app.button if each.key == "quarantine-duplicates"]
    app.button(key="release-duplicates").click().run()
    assert not quarantine.held_by(store.questions.all(asked.id), "duplicates")
    twin = next(q for q in store.questions.all(asked.id) if q.id == "twin")
    assert (twin.status, twin.reason) == ("accepted", "")


def test_questions_set_aside_as_stale_are_counted_with_the_way_to_mend_them(store):
    asked = store.sets.get("asked")
    first = store.questions.all(asked.id)[0]
    gone = tuple(tuple(replace(span, stale=True) for span in group) for group in first.evidence)
    reason = f"{staleness.REASON}“the pump” is not found any more"
    store.questions.put(asked.id, [replace(first, evidence=gone, status="quarantined", reason=reason)])
    app = show("health", set="asked", check="stale")
    table = next(each.value for each in app.dataframe if "Why" in each.value)
    assert (table["Id"].tolist(), table["Why"].tolist()) == (
        [first.id],
        ["set aside: “the pump” is not found any more"],
    )
    assert "**1**" in [each.value for each in app.markdown]
    mend = next(each.proto for each in app.get("page_link") if "Mend 1" in each.proto.label)
    assert "status=stale" in mend.query_string
    keys = [each.key for each in app.button]
    assert "quarantine-stale" not in keys, "it is in quarantine already"
    assert "release-stale" not in keys, "its evidence is gone still"


def test_a_large_set_is_checked_by_a_job_and_what_is_kept_is_shown(store, monkeypatch):
    monkeypatch.setattr(examination, "QUICK", (0, 0))
    app = show("health", set="asked")
    assert "This set was not checked yet." in words(app)
    assert "Nothing is known of its questions" in words(app)
    button(app, "Check it").click().run()
    [job] = [job for job in store.jobs.all() if job.kind == "health"]

    worker.perform(open_workspace(), job.id)
    assert "Between two runs it notices" in words(show("health", set="asked"))
    asked = store.sets.get("asked")
    store.questions.put(asked.id, [Question("new", "Another?", "Yes", (), "hand")])
    app = show("health", set="asked")
    assert "have changed since the set was checked" in words(app)
    assert "Between two runs it notices" in words(app), "what was found stays until it is checked again"
    assert button(app, "Check it again")


def test_planned_against_made(store):
    asked = store.sets.get("asked")
    assert "made without a plan" in words(show("health", set="asked", tab="Planned and made"))
    document = store.documents.all(asked.corpus_id)[0]
    rows = [
        Row(Cell(document.id, "Pump 1", "fact", "colleague", 2), made=2),
        Row(Cell(document.id, "Pump 2", "table", "colleague", 3), made=1),
    ]
    rows[1].reasons["there is no table"] = 2
    record = PlanRecord("k", "w", "small", "extractive", 0, rows=rows)
    store.sets.put_fact(asked.id, plan_record.FACT, plan_record.fact_with(store, asked.id, record))
    app = show("health", set="asked", tab="Planned and made")
    assert "3 of 5 planned questions exist." in words(app)
    lacking = next(each.value for each in app.dataframe if "Section" in each.value)
    assert (lacking["Kind"].tolist(), lacking["Missing"].tolist()) == (["table cell"], [2])
    assert lacking["Why"].tolist()[0] == "there is no table (2)"


def test_the_drill_is_offered(store):
    app = show("health", set="asked", tab="Drill")
    assert "plants known faults" in words(app)
    button(app, "Drill this set").click().run()
    [job] = [job for job in store.jobs.all() if job.kind == "drill"]
    assert job.arguments["questions"] == "asked"


def test_the_map_opens_a_chunk(store):
    asked = store.sets.get("asked")
    app = show("health", set="asked", index="small", tab="Coverage map")
    said = words(app)
    assert "chunks are asked about" in said
    assert "Click a point to read its chunk." in said
    question = next(q for q in store.questions.all(asked.id) if q.evidence)
    span = question.evidence[0][0]
    build = store.indexes.get("small")
    start, end, _ = store.indexes.cuts(build.build, [span.document_id])[span.document_id][0].tolist()
    chunk_id = f"{span.document_id}-{start:08d}-{end:08d}"
    app = show("health", set="asked", index="small", tab="Coverage map", chunk=chunk_id)
    assert "Click a point" not in words(app)
    assert "Pump" in words(app)
    odd = show("health", set="asked", index="small", tab="Coverage map", chunk="<b>no chunk</b>")
    assert "is no chunk" in odd.warning[0].value
    assert not odd.exception


def test_without_questions_the_page_says_what_is_next(home):  # noqa: F811
    store = open_workspace().store
    corpus = store.corpora.add("empty")
    app = visit("health", corpus="empty")
    assert "has no questions yet" in words(app)
    store.sets.add(corpus.id, "bare")
    app = visit("health", corpus="empty", set="bare")
    assert "has no questions yet" in words(app)
    store.questions.put(store.sets.get("bare").id, [Question("q", "Who?", "Ada", (), "hand")])
    app = visit("health", corpus="empty", set="bare")
    said = words(app)
    assert "has no index" in said
    assert "No run has asked this set" in said
    assert not app.exception
    app = visit("health", corpus="empty", set="bare", tab="Coverage map")
    assert "there is none" in words(app)
    app = visit("health", corpus="empty", set="bare", tab="Drill")
    assert "Build an index first" in words(app)
    assert not app.exception


def test_generated_sets_are_said_to_decide_badly_between_models_that_answer(store, command_line):
    asked = store.sets.get("asked")
    for name, model in (("by-small", "small"), ("by-large", "large")):
        config = RunConfig(store.indexes.get("small").id, asked.id, "bm25", k=3, depth=5, answerer="model", model=model)
        _answered(store, name, config)
    said = "rank retrieval well and generators badly"
    for page, parameters in (("compare", {"runs": "by-small,by-large"}), ("health", {"set": "asked"})):
        app = visit(page, **parameters)
        assert said not in words(app) + str([each.value for each in app.warning]), "written by hand"
    commands = [("compare", "by-small", "by-large"), ("questions", "health", "asked")]
    for command in commands:
        assert said not in " ".join(command_line(*command)[1].split())
        assert json.loads(command_line(*command, "--json")[1])["warning"] == ""
    store.questions.put(asked.id, [replace(q, generator="extractive") for q in store.questions.all(asked.id)])
    for name in ("by-small", "by-large"):
        store.rankings.replace(store.runs.get(name).id, _results(store, asked.id))
    for page, parameters in (("compare", {"runs": "by-small,by-large"}), ("health", {"set": "asked"})):
        assert any(said in each.value for each in visit(page, **parameters).warning), "in a box"
    for command in commands:
        code, out, _ = command_line(*command)
        assert (code, said in " ".join(out.split())) == (0, True)
        assert said in json.loads(command_line(*command, "--json")[1])["warning"]


def _answered(store, name, config):
    """Store a finished run that says who answers; only its choices and questions are looked at here."""
    source = store.runs.get("words")
    run = store.runs.add(name, source.corpus_id, config, source.fingerprint, source.provenance)
    store.rankings.put(run.id, _results(store, config.questions))
    store.runs.set_status(run.id, "done")


def _results(store, set_id):
    return [
        (place, question, Retrieved(question.id, Ranking((), ()), ((),) * len(question.evidence)))
        for place, question in enumerate(store.questions.all(set_id))
    ]
