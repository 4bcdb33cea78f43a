"""Generating by a plan: estimated, bounded by a budget, resumed, with quotas met and reasons told; nothing twice."""

import json
import math
import re
import sys
from collections import Counter
from dataclasses import asdict, replace
from unittest.mock import Mock

import pytest

from ragviz.core.configuration import IndexConfig
from ragviz.core.errors import BudgetReached, Cancelled, ModelError, UsageError
from ragviz.core.question import Question
from ragviz.core.settings import Settings
from ragviz.core.span import Span
from ragviz.documents import corpora
from ragviz.generation import pipeline, plan_record
from ragviz.generation.indexed_documents import IndexedDocuments
from ragviz.generation.making import ASKED_ABOUT, hopeless
from ragviz.generation.plan import Cell
from ragviz.generation.plan_record import PlanRecord, Row, planned
from ragviz.index import indexing
from ragviz.models.requests import Usage
from ragviz.questions import versions
from ragviz.workspace import Workspace
from tests.model_server import ModelServer

SENTENCES = [
    f"Pump number {n} of the {place} works was replaced in {1900 + n} by the firm {firm}."
    for n, (place, firm) in enumerate([(p, f) for p in ["northern", "southern", "eastern"] for f in "ABCDEFGH"])
]


@pytest.fixture
def server():
    with ModelServer() as server:
        yield server


@pytest.fixture
def workspace(server, tmp_path, monkeypatch) -> Workspace:
    for name in ("ELASTICSEARCH_URL", "OPENAI_API_KEY", "RAGVIZ_DATABASE_URL"):
        monkeypatch.delenv(name, raising=False)
    environment = {"RAGVIZ_HOME": str(tmp_path / "home"), "OPENAI_BASE_URL": server.url, "RAGVIZ_MODEL": "loopback"}
    environment |= {"RAGVIZ_EMBEDDER": "openai:bags", "RAGVIZ_MODEL_CONCURRENCY": "2"}
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    workspace = Workspace(Settings(_env_file=None))
    build(workspace, "pumps", {"pumps.txt": SENTENCES})
    return workspace


def build(workspace: Workspace, name: str, documents: dict[str, list[str]]) -> None:
    """An index with about one chunk a paragraph."""
    corpus = workspace.store.corpora.find(name) or workspace.store.corpora.add(name)
    for file, paragraphs in documents.items():
        corpora.add_file(workspace, corpus, file, "\n\n".join(paragraphs).encode())
    config = IndexConfig(chunk_size=30, embedder="openai:bags", chunker="sentences")
    indexing.build_index(workspace, corpus, name, config)


def requests_to(server: ModelServer) -> list[str]:
    """The chat requests, without the two small ones that measure how long a call takes."""
    messages = [json.dumps(body["messages"]) for body in server.bodies if "messages" in body]
    return [each for each in messages if "Greet the reader" not in each and "one to sixty" not in each]


def facts(workspace: Workspace, count: int = 12, name: str = "q", **more) -> pipeline.Generated:
    """Questions of the kind "fact" by the loopback model."""
    choices = {"generator": "model", "kinds": {"fact": count}} | more
    return pipeline.generate_questions(workspace, choices.pop("index", "pumps"), name, **choices)


def foreseen(workspace: Workspace, count: int = 12, name: str = "q", **more):
    choices = {"generator": "model", "kinds": {"fact": count}} | more
    return pipeline.foresee_questions(workspace, choices.pop("index", "pumps"), name, **choices).forecast


def make_others(workspace: Workspace, count: int) -> None:
    """Questions of another corpus, all of them kept: with these an estimate knows what the model's tries yield."""
    build(workspace, "valves", {"valves.txt": [sentence.replace("Pump", "Valve") for sentence in SENTENCES]})
    assert facts(workspace, count, "others", index="valves").rejected == 0


def questions_of(workspace: Workspace, name: str = "q") -> list[Question]:
    return workspace.store.questions.all(workspace.store.sets.get(name).id)


def record_of(workspace: Workspace, name: str = "q") -> PlanRecord:
    [record] = plan_record.records_of(workspace.store, workspace.store.sets.get(name).id)
    return record


def replying(monkeypatch, reply) -> None:
    """Have the model reply what `reply` returns of a request's body, where it returns something."""
    made_up = sys.modules["tests.model_server"].complete

    def complete(body):
        given = reply(body)
        return made_up(body) if given is None else json.dumps(given)

    monkeypatch.setattr("tests.model_server.complete", complete)


def is_writing(body) -> bool:
    """Whether a request is for a question, not for its verification."""
    return '"claims"' in json.dumps(body.get("response_format", {}))


# Before


def test_a_dry_run_tells_the_calls_of_every_step_and_asks_for_no_question(workspace, server):
    workspace.set_prices({"loopback": (10.0, 20.0)})
    estimate = foreseen(workspace)
    assert (requests_to(server), workspace.store.sets.all()) == ([], [])
    assert (estimate.questions, estimate.cached, estimate.calls["question"]) == (12, 0, 15), "12 ÷ 0.8"
    assert len(estimate.calls) == 3, "two checks of a question of one passage"
    assert estimate.total <= 3 * 15
    make_others(workspace, 12)
    before, server.bodies[:] = workspace.model.usage, []
    estimate = foreseen(workspace)
    assert (estimate.questions, estimate.cached, estimate.calls["question"]) == (12, 0, 12), "12 of 12 were kept"
    assert estimate.total <= 3 * 12
    made = facts(workspace)
    assert made.proposed == 12
    assert len(requests_to(server)) == estimate.total, "each question passed each check"
    usage = replace(workspace.model.usage, prompt_tokens=workspace.model.usage.prompt_tokens - before.prompt_tokens)
    assert estimate.prompt_tokens == pytest.approx(usage.prompt_tokens, rel=0.4)
    assert estimate.cost == pytest.approx(made.dollars, rel=0.6)
    assert estimate.seconds > 0
    again = foreseen(workspace, 14)
    assert (again.questions, again.calls["question"]) == (2, 2)
    other = foreseen(workspace, 12, "another")
    assert (other.questions, other.calls["question"]) == (12, 12)
    assert other.cached == other.total, "what another set paid for is paid"
    build(workspace, "guide", {"guide.md": [GUIDE]})
    free = pipeline.foresee_questions(workspace, "guide", "q", limit=3).forecast
    assert (free.questions, free.total, free.cost) == (3, 0, 0.0)


def test_a_dry_run_reckons_with_the_share_that_was_kept(workspace, monkeypatch):
    empty = iter([{"claims": [], "question": "", "answer": ""}] * 3)
    replying(monkeypatch, lambda body: next(empty, None) if is_writing(body) else None)
    made = facts(workspace, 3)
    assert (made.proposed, made.rejected) == (3, 3)
    estimate = foreseen(workspace, 7)
    assert (estimate.questions, estimate.calls["question"]) == (4, 8), "every second try gave a question so far"


def test_an_estimate_tells_from_what_it_counts_second_tries(workspace, monkeypatch, command_line):
    command = ["questions", "generate", "--index", "pumps", "--name", "q", "--generator", "model", "--kinds", "fact=3"]
    told = "Of fact this model has made none yet: one try in 5 is counted as rejected."
    assert told in " ".join(command_line(*command, "--dry-run")[1].split())
    assert json.loads(command_line(*command, "--dry-run", "--json")[1])["assumed"] == told
    empty = iter([{"claims": [], "question": "", "answer": ""}] * 2)
    replying(monkeypatch, lambda body: next(empty, None) if is_writing(body) else None)
    assert facts(workspace, 3).rejected == 2
    preview = pipeline.foresee_questions(workspace, "pumps", "q", generator="model", kinds={"fact": 6, "number": 2})
    assert preview.assumed == (
        "Second tries are counted by the share that was kept before: fact 3 of 5. Of number or date this model has "
        "made none yet: one try in 5 is counted as rejected."
    )
    assert preview.forecast.calls["question"] == 5 + 3, "3 ÷ (3/5), and 2 ÷ 0.8 rounded up"
    other = pipeline.foresee_questions(workspace, "pumps", "other", generator="model", kinds={"fact": 6})
    assert other.assumed == "Second tries are counted by the share that was kept before: fact 3 of 5."
    assert other.forecast.calls["question"] == 10, "what another set took counts"
    free = pipeline.foresee_questions(workspace, "pumps", "q", limit=3)
    assert free.assumed == ""


def test_an_estimate_relates_no_passages(workspace, server, monkeypatch):
    """Relating passages takes reading every document; the calls of a bridge are counted without."""
    related = Mock(side_effect=AssertionError("passages were related"))
    monkeypatch.setattr("ragviz.generation.related_chunks.bridged", related)
    monkeypatch.setattr("ragviz.generation.related_chunks.comparable", related)
    kinds = {"bridge": 4, "comparison": 2}
    preview = pipeline.foresee_questions(workspace, "pumps", "q", generator="model", kinds=kinds, passages=3)
    assert preview.forecast.calls["question"] == 8, "4 ÷ 0.8 and 2 ÷ 0.8, rounded up"
    assert preview.forecast.calls["Not answered when a passage is left out"] == 5 * 3 + 3 * 2, (
        "each passage is left out once"
    )
    assert "Which passages comparison, bridge join is decided later" in preview.assumed


def test_a_plan_is_drawn_before_anything_is_made(workspace, server):
    build(workspace, "works", {f"{n}.txt": SENTENCES[3 * n : 3 * n + 3] for n in range(4)})
    styles = {"keywords": 1, "long": 1}
    preview = pipeline.foresee_questions(workspace, "works", "q", generator="model", kinds={"fact": 8}, styles=styles)
    assert sum(row.cell.planned for row in preview.record.rows) == 8
    assert len({row.cell.document_id for row in preview.record.rows}) == 4
    assert Counter(row.cell.style for row in preview.record.rows for _ in range(row.cell.planned)) == {
        "keywords": 4, "long": 4,
    }  # fmt: skip
    assert requests_to(server) == []


@pytest.mark.parametrize(
    ("choices", "said"),
    [
        ({"generator": "magic"}, "no generator 'magic'; there are extractive, model"),
        ({"kinds": {"facts": 3}}, "no kind 'facts'; there are section, fact"),
        ({"limit": 5, "kinds": {"fact": 3}}, "limit is 5, and the kinds ask for 3"),
        ({"limit": 5, "styles": {"other-words": 1}}, "'extractive' makes no style 'other-words'"),
        ({"limit": 5, "passages": 1}, "2 to 5 passages, not 1"),
        ({"fill": True, "every_chunk": True}, "ask for one of them"),
        ({"every_chunk": True, "kinds": {"fact": 2}, "generator": "model"}, "has 24 chunks, and 2 questions"),
        ({"every_chunk": True}, "Without a model not every chunk"),
        ({"limit": 5, "kinds": {"bridge": None}}, "makes no kind 'bridge'"),
        ({"limit": 5, "generator": "model", "budget": 1.0}, "price of 'loopback'"),
    ],
)
def test_contradictory_choices_are_told_and_make_no_set(workspace, choices, said):
    with pytest.raises(UsageError, match=said):
        pipeline.generate_questions(workspace, "pumps", "q", **choices)
    assert workspace.store.sets.all() == []


# What is made


def test_quotas_are_met_and_counted(workspace):
    made = facts(workspace, kinds={"fact": 6, "number": 3, "unanswerable": 2}, styles={"colleague": 8, "keywords": 3})
    assert (made.proposed, made.usable, made.limit, made.short) == (11, 11, 11, {})
    kept = [question for question in questions_of(workspace) if question.asked]
    assert Counter(question.type for question in kept) == {"fact": 6, "number": 3, "unanswerable": 2}
    assert Counter(question.style for question in kept) == {"colleague": 8, "keywords": 3}
    for question in kept:
        assert (question.generator, question.verified_by) == ("loopback", "loopback")
        assert question.source_chunks
        assert len(question.parts) == len(question.evidence)
    record = record_of(workspace)
    assert sum(row.made for row in record.rows) + sum(row.moved for row in record.rows) == record.planned == 11
    assert {name: given.kept for name, given in record.yields.items()} == {"fact": 6, "number": 3, "unanswerable": 2}


def test_all_questions_of_a_generation_make_one_version(workspace):
    facts(workspace, 8, author="ann")
    question_set = workspace.store.sets.get("q")
    [version] = workspace.store.versions.all(question_set.id)
    assert (version.author, version.questions) == ("ann", question_set.total)
    facts(workspace, 8, author="ann")
    assert len(workspace.store.versions.all(question_set.id)) == 1, "nothing was made"
    facts(workspace, 10, author="ann")
    assert len(workspace.store.versions.all(question_set.id)) == 2


def test_what_is_taken_back_or_rejected_later_is_not_counted_as_made(workspace):
    facts(workspace, kinds={"fact": 4, "number": 2})
    store, question_set = workspace.store, workspace.store.sets.get("q")

    def counted():
        made = plan_record.shown(store, store.sets.get("q"))
        cells = [sum(row[name] for row in made.cells) for name in ("planned", "made", "elsewhere", "missing")]
        return cells, {row["type"]: row["kept"] for row in made.yields}

    whole = ([6, 6, 0, 0], {"fact": 4, "number": 2})
    assert counted() == whole
    number = next(question for question in questions_of(workspace) if question.type == "number" and question.asked)
    store.questions.put(question_set.id, [replace(number, status="rejected", reason="too vague: which pump?")])
    assert counted() == ([6, 5, 0, 1], {"fact": 4, "number": 1})
    [told] = [row for row in plan_record.shown(store, question_set).cells if row["missing"]]
    assert "too vague" in told["reasons"]
    versions.undo(store, store.sets.get("q"))
    assert counted() == whole, "what is taken back is not rejected"
    versions.undo(store, store.sets.get("q"))
    assert questions_of(workspace) == []
    assert counted() == ([6, 0, 0, 6], {"fact": 0, "number": 0})
    rows = {row["type"]: row["reasons"] for row in plan_record.shown(store, question_set).yields}
    assert f"{plan_record.GONE} (4)" in rows["fact"]
    assert f"{plan_record.GONE} (2)" in rows["number"]
    assert facts(workspace, kinds={"fact": 4, "number": 2}).usable == 6
    assert counted()[0] == whole[0], "made again"


def test_yields_tell_what_each_kind_took(workspace, server):
    workspace.set_prices({"loopback": (10.0, 20.0)})
    made = facts(workspace, kinds={"fact": 5, "unanswerable": 3})
    record = record_of(workspace)
    calls = sum(given.calls for given in record.yields.values())
    assert calls == len(requests_to(server))
    assert made.calls == calls + 1, "one call embedded the questions that nothing is to answer"
    assert sum(given.dollars for given in record.yields.values()) == pytest.approx(made.dollars, rel=0.01)
    tokens = sum(given.prompt_tokens for given in record.yields.values())
    assert tokens == sum(prompt for model, prompt, _ in server.billed if model == "loopback")
    assert record.yields["fact"].calls <= 3 * record.yields["fact"].kept


def test_what_a_place_does_not_yield_is_made_elsewhere_with_the_reason(workspace, monkeypatch):
    build(workspace, "works", {"good.txt": SENTENCES[:12], "bad.txt": ["Nothing stands in this one line."]})
    nothing = {"claims": [], "question": "", "answer": ""}
    replying(monkeypatch, lambda body: nothing if is_writing(body) and "Nothing stands" in json.dumps(body) else None)
    made = facts(workspace, 5, index="works")
    assert (made.usable, made.limit, made.short) == (5, 5, {})
    workspace_names = {d.id: d.name for d in workspace.store.documents.all(workspace.store.corpora.get("works").id)}
    rows = plan_record.cell_rows([record_of(workspace)], workspace_names)
    [bad] = [row for row in rows if row["document"] == "bad.txt"]
    assert (bad["planned"], bad["made"], bad["elsewhere"], bad["missing"]) == (1, 0, 1, 0)
    assert "the question is empty" in bad["reasons"]
    assert sum(row["in place of others"] for row in rows if row["document"] == "good.txt") == 1
    rejected = [question for question in questions_of(workspace) if question.status == "rejected"]
    assert {question.reason for question in rejected} == {"the question is empty"}


def test_fewer_questions_than_planned_are_explained(workspace, monkeypatch):
    build(workspace, "two", {"two.txt": SENTENCES[:2]})
    made = facts(workspace, 9, index="two")
    assert (made.usable, made.limit) == (made.proposed, 9)
    assert 2 <= made.usable < 9
    said = pipeline.shortfall(asdict(made))
    assert said.startswith(f"{made.usable} usable of 9: missing are {9 - made.usable} fact. Tries")
    assert pipeline.shortfall(asdict(facts(workspace, 2, index="two"))) == ""


def test_every_chunk_is_asked_about(workspace):
    chunks = workspace.store.indexes.get("pumps").chunks
    made = facts(workspace, kinds={"fact": None, "number": None}, every_chunk=True)
    assert made.limit == chunks
    asked = {question.source_chunks[0] for question in questions_of(workspace) if question.asked}
    assert len(asked) == made.usable == chunks


def test_an_index_without_text_is_told(workspace):
    build(workspace, "empty", {"blank.txt": [" "]})
    with pytest.raises(UsageError, match="Index 'empty' holds no text to ask about"):
        pipeline.generate_questions(workspace, "empty", "q")


# Going on


def test_only_what_has_no_questions_is_filled(workspace, server):
    facts(workspace, 6)
    before = {question.id: question for question in questions_of(workspace)}
    build(workspace, "pumps", {"valves.txt": [s.replace("Pump", "Valve") for s in SENTENCES[:6]]})
    made = facts(workspace, 3, fill=True)
    fresh = [question for question in questions_of(workspace) if question.id not in before and question.asked]
    assert made.proposed == len(fresh) == 3
    [added] = [
        d.id for d in workspace.store.documents.all(workspace.store.corpora.get("pumps").id) if d.name == "valves.txt"
    ]
    assert {span.document_id for question in fresh for [span] in question.evidence} == {added}
    assert {i: q for q in questions_of(workspace) if (i := q.id) in before} == before
    calls = len(requests_to(server))
    again = facts(workspace, 3, fill=True)
    assert (again.proposed, again.limit, len(requests_to(server))) == (0, 0, calls), "every section has a question"


GUIDE = """# Rooms of the library

| Room | Seats | Floor |
|---|---|---|
| East hall | 12 | 1 |
| West hall | 30 | 2 |
| North hall | 18 | 3 |

# Terms of the house

- **Senior team** - The people who meet in the east hall on Mondays to plan the week
- **Quiet hour** - The hour after noon in which nobody may speak in the west hall

# Opening of the visitor desk

The visitor desk of the northern hall opens at 9 am. Visitors pay Ann Lee for the blue day ticket on Friday.
"""


def sections_of(workspace: Workspace, questions: list[Question], index: str) -> set[str]:
    documents = IndexedDocuments(workspace, workspace.store.indexes.get(index))
    spans = [span for question in questions for group in question.evidence for span in group]
    return {documents.section_of(span.document_id, span.start) for span in spans}


def replaced(workspace: Workspace, name: str, file: str, text: str) -> None:
    corpora.add_file(workspace, workspace.store.corpora.get(name), file, text.encode(), replace=True)
    build(workspace, name, {})


@pytest.mark.model
@pytest.mark.parametrize("replace_first", [False, True], ids=["as it was", "replaced"])
def test_gaps_are_filled_nowhere_else(workspace, command_line, replace_first):
    """Rooms and opening are asked about; the terms yield fewer than are asked for."""
    build(workspace, "guide", {"guide.md": [GUIDE]})
    pipeline.generate_questions(workspace, "guide", "q", kinds={"table": 1, "section": 1})
    asked = sections_of(workspace, questions_of(workspace), "guide")
    if replace_first:
        replaced(workspace, "guide", "guide.md", f"This page was rewritten in spring.\n\n{GUIDE}")
    before = {question.id for question in questions_of(workspace)}
    made = pipeline.generate_questions(workspace, "guide", "q", limit=20, fill=True)
    fresh = [question for question in questions_of(workspace) if question.id not in before and question.asked]
    assert len(fresh) == made.usable == made.proposed > 0
    assert "Terms of the house" in sections_of(workspace, fresh, "guide")
    assert sections_of(workspace, fresh, "guide").isdisjoint(asked)
    assert pipeline.shortfall(asdict(made)).startswith(f"{made.usable} usable of 20: ")
    told = f"{2 + made.usable} of 22 planned questions exist: 2 of 2, and {made.usable} of 20 that fill"
    assert told in " ".join(command_line("questions", "plan", "q")[1].split())
    assert pipeline.generate_questions(workspace, "guide", "q", limit=20, fill=True).proposed == 0


def test_a_model_fills_no_gap_with_what_is_asked_about(workspace, monkeypatch):
    """One chunk holds both sections; what the model writes about the second is of the first, which has a question."""
    text = "# North\n\nPump 1 is red.\n\n# South\n\nPump 2 is blue."
    build(workspace, "two", {"two.md": [text]})
    [document] = workspace.store.documents.all(workspace.store.corpora.get("two").id)
    start = text.index("Pump 1")
    evidence = ((Span(document.id, start, start + 14, "Pump 1 is red."),),)
    question_set = workspace.store.sets.add(document.corpus_id, "q")
    own = Question("own", "Which colour has pump 1?", "red", evidence, "hand", "accepted")
    workspace.store.questions.put(question_set.id, [own])
    wrong = {"claims": [{"passage": 1, "quote": "Pump 1 is red.", "statement": "Pump 1 is red."}]}
    wrong |= {"question": "What is the colour of the first pump?", "answer": "red"}
    right = {"claims": [{"passage": 1, "quote": "Pump 2 is blue.", "statement": "Pump 2 is blue."}]}
    right |= {"question": "What is the colour of the second pump?", "answer": "blue"}
    replies = iter([wrong, right])
    replying(monkeypatch, lambda body: next(replies, None) if is_writing(body) else None)
    made = facts(workspace, 1, index="two", fill=True, verify=False)
    assert made.rejections == {ASKED_ABOUT: 1}
    [fresh] = [question for question in questions_of(workspace) if question.asked and question.id != "own"]
    assert (fresh.answer, sections_of(workspace, [fresh], "two")) == ("blue", {"South"})


class Killed(BaseException):
    """What ends a generation at once, as a kill does."""


@pytest.mark.parametrize("after", [1, 2, 3, 5])
@pytest.mark.parametrize("before", [True, False])
def test_a_killed_generation_goes_on_where_it_was(workspace, server, monkeypatch, after, before):
    """Killed before or after the nth time that something is stored; made in one go into another set as comparison."""
    monkeypatch.setattr("ragviz.generation.making.BATCH", 3)
    monkeypatch.setattr("ragviz.generation.making.SHARE_OF_STORING", math.inf)  # each question is stored at once
    facts(workspace, 10, "whole", kinds={"fact": 8, "number": 2})
    truth = {(q.id, q.text, q.status, q.verified_by) for q in questions_of(workspace, "whole")}
    paid = len(requests_to(server))
    store, times = workspace.store, 0
    original = store.questions.put

    def dying(*args, **more):
        nonlocal times
        times += 1
        if times >= after and before:
            raise Killed
        original(*args, **more)
        if times >= after:
            raise Killed

    with monkeypatch.context() as patched:
        patched.setattr(store.questions, "put", dying)
        with pytest.raises(Killed):
            facts(workspace, 10, kinds={"fact": 8, "number": 2})
    made = facts(workspace, 10, kinds={"fact": 8, "number": 2})
    assert (made.usable, made.limit) == (10, 10)
    kept = [q for q in questions_of(workspace) if q.asked]
    assert Counter(q.type for q in kept) == {"fact": 8, "number": 2}
    assert {(q.id, q.text, q.status, q.verified_by) for q in kept} <= truth
    assert len(requests_to(server)) == paid, "what the other set paid for was asked for again by none"
    record = record_of(workspace)
    assert set(record.places) == {q.id for q in kept}
    assert {name: given.kept for name, given in record.yields.items()} == {"fact": 8, "number": 2}
    whole = record_of(workspace, "whole").yields
    assert {n: (y.made, y.kept, y.rejected) for n, y in record.yields.items()} == {
        n: (y.made, y.kept, y.rejected) for n, y in whole.items()
    }, "nothing is counted twice or lost"


def test_a_cancelled_generation_is_continued_and_nothing_is_paid_twice(workspace, server):
    def stop(done, total, unit, message=""):
        if done >= 5:
            raise Cancelled("Stopped; what was finished is kept.")

    with pytest.raises(Cancelled):
        facts(workspace, 12, progress=stop)
    assert 5 <= len(questions_of(workspace)) < 12
    made = facts(workspace)
    assert made.total == 12
    assert len(set(requests_to(server))) == len(requests_to(server)) == made.calls


def test_more_are_added_and_others_drawn_by_another_seed(workspace):
    facts(workspace, 4)
    first = {question.id for question in questions_of(workspace)}
    assert facts(workspace, 4).proposed == 0
    assert facts(workspace, 6).proposed == 2
    assert facts(workspace, 4).proposed == 0, "there are more than enough"
    assert facts(workspace, kinds={"number": 3}).proposed == 3, "another kind is planned by itself"
    assert facts(workspace, 4, seed=1).proposed == 4
    assert first < {question.id for question in questions_of(workspace)}


def test_what_a_person_rejected_is_made_up_for(workspace):
    facts(workspace, 4)
    question_set = workspace.store.sets.get("q")
    [first, *_] = questions_of(workspace)
    workspace.store.questions.put(question_set.id, [replace(first, status="rejected", reason="rejected by hand")])
    made = facts(workspace, 4)
    assert (made.proposed, made.usable) == (1, 4)
    assert next(q for q in questions_of(workspace) if q.id == first.id).reason == "rejected by hand"


def test_a_failed_verification_loses_no_question_and_is_tried_again(workspace, server, monkeypatch):
    monkeypatch.setattr(
        "ragviz.models.chat.ModelClient.ask", refusing(workspace.model.ask.__func__, lambda request: True)
    )
    made = facts(workspace, 4)
    assert (made.proposed, made.unverified) == (4, 4)
    unverified = questions_of(workspace)
    assert {(q.status, q.verified_by) for q in unverified} == {("proposed", "")}
    assert all("not verified" in q.reason for q in unverified)
    monkeypatch.undo()
    again = facts(workspace, 4)
    assert (again.proposed, again.unverified, again.usable) == (0, 0, 4)
    assert {(q.status, q.verified_by, q.reason) for q in questions_of(workspace)} == {("proposed", "loopback", "")}
    assert {q.text for q in questions_of(workspace)} == {q.text for q in unverified}


def refusing(ask, refuses):
    """Return `ask` that fails for requests that verify."""

    def asked(self, request):
        if "claims" not in (request.reply.model_fields if request.reply else {}) and refuses(request):
            raise ModelError("HTTP 400")
        return ask(self, request)

    return asked


def test_without_verification_no_call_verifies(workspace, server):
    made = facts(workspace, 4, verify=False)
    assert len(requests_to(server)) == made.calls == 4
    assert {q.verified_by for q in questions_of(workspace)} == {""}


def test_a_failed_call_is_made_again_later(workspace, server, monkeypatch):
    failing = iter([True, True])
    replying(monkeypatch, lambda body: "no question" if is_writing(body) and next(failing, False) else None)
    with monkeypatch.context() as patched:
        patched.setattr("ragviz.models.chat.USELESS", 1)
        made = facts(workspace, 24)
    assert made.rejected >= 1
    failed = {q.id for q in questions_of(workspace) if q.reason.startswith("model failed")}
    assert failed
    facts(workspace, 30)
    assert not any(q.reason.startswith("model failed") for q in questions_of(workspace) if q.id in failed)


# Bounds


def test_a_budget_holds_over_all_attempts_at_a_set(workspace, server):
    workspace.set_prices({"loopback": (10.0, 20.0)})
    whole = foreseen(workspace).cost
    with pytest.raises(BudgetReached, match=r"The budget of \$"):
        facts(workspace, budget=whole / 3 + 0.04)  # the most that one call may cost has to fit too
    q = workspace.store.sets.get("q")
    calls, paid = workspace.store.payments.of(q.id)
    assert 0 < calls == len(requests_to(server)) < 36
    assert 0 < paid <= whole / 3 + 0.04
    assert q.total == calls, "what was paid for is kept, what was in flight at the end too"
    with pytest.raises(BudgetReached):
        facts(workspace, budget=paid)
    assert len(requests_to(server)) == calls
    made = facts(workspace, budget=3 * whole)
    assert made.total == 12
    assert len(set(requests_to(server))) == len(requests_to(server)) == made.calls, "no call was paid twice"
    assert made.dollars == pytest.approx(workspace.store.payments.of(q.id)[1])
    assert {q.verified_by for q in questions_of(workspace)} == {"loopback"}, "those written before are verified too"
    workspace.store.sets.delete(q.id)
    assert workspace.store.payments.of(q.id) == (0, 0.0)


def test_a_model_none_of_whose_questions_can_stand_is_not_asked_on(workspace, server, monkeypatch):
    many = [f"Pump number {n} was replaced in {n} by the firm of that year." for n in range(240)]
    build(workspace, "many", {"many.txt": many})
    mop = {
        "claims": [{"passage": 1, "quote": "a mop", "statement": "x"}],
        "question": "Which pump is it?",
        "answer": "mop",
    }
    replying(monkeypatch, lambda body: mop if is_writing(body) else None)
    with pytest.raises(ModelError, match=r"90 questions tried, none kept: .* no evidence stands word for word"):
        facts(workspace, 120, index="many")
    questions = questions_of(workspace)
    assert {(q.status, q.reason) for q in questions} == {("rejected", "no evidence stands word for word in the chunk")}
    calls, _ = workspace.store.payments.of(workspace.store.sets.get("q").id)
    assert 90 <= calls == len(requests_to(server)) <= 90 + 2 * 2, "those in flight are paid and counted too"


def test_a_kind_that_a_model_cannot_write_is_given_up(workspace, monkeypatch):
    many = [f"Pump {n} of the {'north' if n % 2 else 'south'} works was replaced in {1000 + n}." for n in range(240)]
    build(workspace, "many", {"many.txt": many})
    nothing = {"claims": [], "question": "", "answer": ""}
    is_number = "asks for a number, an amount"
    replying(monkeypatch, lambda body: nothing if is_writing(body) and is_number in json.dumps(body) else None)
    made = facts(workspace, kinds={"fact": 30, "number": 120}, index="many")
    assert (made.usable, made.short) == (30, {"number": 120})
    assert 90 <= record_of(workspace).yields["number"].made <= 90 + 20, "a batch is finished"
    assert "the question is empty" in made.reasons


@pytest.mark.parametrize(("tried", "kept", "ends"), [(89, 0, False), (90, 0, True), (129, 1, False), (130, 1, True)])
def test_few_are_distinguished_from_none(tried, kept, ends):
    # By hand: 0.95 ** 89 = 0.0104, 0.95 ** 90 = 0.0099.
    assert hopeless(tried, kept) is ends


def test_one_question_of_ten_tries_is_enough_to_go_on():
    assert not any(hopeless(n, n // 10) for n in range(1, 5000))


# Without a model


ENGLISH = """# Rooms of the library

| Room | Seats | Floor |
|---|---|---|
| East hall | 12 | 1 |
| West hall | 30 | 2 |
| North hall | 18 | 3 |
"""
CHINESE = """# 三楼会议室一览

| 会议室 | 人数 | 楼层 |
|---|---|---|
| 东厅 | 12人 | 一层 |
| 西厅 | 30人 | 二层 |
| 北厅 | 18人 | 三层 |
"""


@pytest.mark.model
@pytest.mark.parametrize("text", [ENGLISH, CHINESE], ids=["en", "zh"])
def test_extractive_questions_are_verified_by_rules_and_resumed(workspace, server, text):
    build(workspace, "rules", {"rules.md": [text]})
    made = pipeline.generate_questions(workspace, "rules", "q", kinds={"table": 2})
    kept = [question for question in questions_of(workspace) if question.asked]
    assert made.usable == len(kept) == 2
    for question in kept:
        assert (question.type, question.generator, question.verified_by) == ("table", "extractive", "rules")
        [[span]] = question.evidence
        assert question.answer in span.text
        assert question.source_chunks
    assert pipeline.generate_questions(workspace, "rules", "q", kinds={"table": 2}).proposed == 0
    assert requests_to(server) == []


def stages(seen: list[tuple[int, int | None, str, str]]) -> list[str]:
    """The units of progress in order, each once."""
    units = [unit for _, _, unit, _ in seen]
    return [unit for before, unit in zip([None, *units[:-1]], units, strict=True) if unit != before]


@pytest.mark.model
def test_progress_is_told_by_stage_and_each_can_be_cancelled(workspace):
    names = [f"{n}.md" for n in range(5)]
    build(workspace, "five", {name: [ENGLISH.replace("library", f"house {n}")] for n, name in enumerate(names)})
    kinds, seen = {"table": 5}, list[tuple[int, int | None, str, str]]()
    pipeline.generate_questions(workspace, "five", "whole", kinds=kinds, progress=lambda *told: seen.append(told))
    assert stages([told for told in seen if told[2]]) == ["documents", "questions"]
    read = [(done, total) for done, total, unit, _ in seen if unit == "documents"]
    assert read == [(done, 5) for done in range(5)], "document by document"
    assert all(name in " ".join(message for *_, message in seen) for name in names)
    made = [(done, total) for done, total, unit, _ in seen if unit == "questions"]
    assert made == sorted(made), "the count never goes back"
    assert (made[0], made[-1]) == ((0, 5), (5, 5))

    for number, told in enumerate(seen):
        if told[2] and (number == 0 or seen[number - 1][2] != told[2]):

            def stop(*now, at=told):
                if now == at:
                    raise Cancelled("Stopped; what was finished is kept.")

            with pytest.raises(Cancelled):
                pipeline.generate_questions(workspace, "five", "stopped", kinds=kinds, progress=stop)
    assert pipeline.generate_questions(workspace, "five", "stopped", kinds=kinds).usable == 5


MENU = "Home\n\nSign in\n\nAbout us"


@pytest.mark.model
def test_a_document_that_yields_nothing_is_told_by_name_with_the_reason(workspace, command_line):
    build(workspace, "menu", {"rules.md": [ENGLISH], "menu.txt": [MENU]})
    made = pipeline.generate_questions(workspace, "menu", "q", limit=2)
    reason = "holds no heading with text, table or definition: 3 lines, no sentence"
    assert (made.usable, made.nothing, made.unplanned, made.barren) == (2, {"menu.txt": reason}, 0, 1)
    shown = plan_record.shown(workspace.store, workspace.store.sets.get("q"))
    assert shown.nothing == made.nothing
    code, out, err = command_line("questions", "generate", "--index", "menu", "--name", "q", "--limit", "9")
    assert (code, f"No question is about menu.txt: {reason}." in " ".join(err.split())) == (0, True), err
    assert "usable of 9: 1 document holds no heading with text, table or definition" in " ".join(err.split())
    code, out, err = command_line("questions", "plan", "q", "--json")
    assert (code, json.loads(out)["nothing"]) == (0, made.nothing), err
    info = workspace.store.sets.get("q")
    menu = next(d for d in workspace.store.documents.all(info.corpus_id) if d.name == "menu.txt")
    written = Question("own", "Where does one begin?", "Home", ((Span(menu.id, 0, 4, "Home"),),), "person", "accepted")
    workspace.store.questions.put(info.id, [written])
    assert plan_record.shown(workspace.store, info).nothing == {}, "a person's question has its evidence there"


# Records


def put(workspace: Workspace, set_id: str, record: PlanRecord) -> None:
    fact = plan_record.fact_with(workspace.store, set_id, record)
    workspace.store.sets.put_fact(set_id, plan_record.FACT, fact)


def cell(document: str = "d", kind: str = "fact", style: str = "colleague", count: int = 1, section: str = "s") -> Cell:
    return Cell(document, section, kind, style, count)


def fresh(work: str = "w") -> PlanRecord:
    return PlanRecord("k", work, "i", "m", 0)


def test_questions_of_an_earlier_plan_count_for_the_cells_that_are_most_alike():
    """By hand: a1 fits its cell; a2 is beyond it and fits the document; b1 fits type and style; c1 only the type."""
    earlier = planned(fresh(), [cell("a", count=2), cell("b"), cell("c", style="long")], None, ())
    for question_id, row in (("a1", 0), ("a2", 0), ("b1", 1), ("c1", 2), ("gone", 2)):
        earlier.count(question_id, row, earlier.rows[row].cell)
    cells = [cell("a"), cell("a", section="t"), cell("e"), cell("f"), cell("f", kind="list")]
    now = planned(fresh("other"), cells, earlier, ["a1", "a2", "b1", "c1"])
    assert [(row.cell.document_id, row.made, row.moved, row.missing) for row in now.rows[:5]] == [
        ("a", 1, 0, 0), ("a", 0, 1, 0), ("e", 0, 1, 0), ("f", 0, 1, 0), ("f", 0, 0, 1),
    ]  # fmt: skip
    assert sum(row.taken for row in now.rows) == 3
    assert (now.usable, now.planned, set(now.places)) == (4, 5, {"a1", "a2", "b1", "c1"})


def test_more_questions_than_are_planned_are_beyond_the_plan():
    earlier = planned(fresh(), [cell(count=3)], None, ())
    for number in range(3):
        earlier.count(f"q{number}", 0, earlier.rows[0].cell)
    now = planned(fresh("other"), [cell(count=1)], earlier, ["q0", "q1", "q2"])
    assert [(row.made, row.taken, row.missing) for row in now.rows] == [(1, 2, 0)]


def test_records_are_kept_with_the_set_and_read_as_they_were(workspace):
    question_set = workspace.store.sets.add(workspace.store.corpora.get("pumps").id, "kept")
    record = planned(fresh(), [cell(count=2), cell("b")], None, ())
    record.count("q1", 0, record.rows[1].cell)
    record.rows[0].reasons["asked already"] += 2
    given = record.yielded("fact")
    given.rejected["asked already"] += 2
    given.add(Usage(3, 100, 20, 1.0, 0.5))
    put(workspace, question_set.id, record)
    assert plan_record.records_of(workspace.store, question_set.id) == [record]
    other = PlanRecord("another", "w", "i", "m", 1)
    put(workspace, question_set.id, other)
    record.state = "done"
    put(workspace, question_set.id, record)
    kept = plan_record.records_of(workspace.store, question_set.id)
    assert sorted(each.key for each in kept) == ["another", "k"]
    assert record in kept


def test_what_is_shown_sums_several_generations():
    one, two = planned(fresh(), [cell(count=2)], None, ()), planned(fresh(), [cell(), cell("b")], None, ())
    one.count("q1", 0, one.rows[0].cell)
    one.rows[0].reasons["asked already"] += 3
    two.count("q2", 1, two.rows[0].cell)
    rows = plan_record.cell_rows([one, two], {"d": "d.md", "b": "b.md"})
    shown = [
        (r["document"], r["planned"], r["made"], r["elsewhere"], r["in place of others"], r["missing"]) for r in rows
    ]
    assert shown == [("b.md", 1, 0, 1, 0, 0), ("d.md", 3, 1, 0, 1, 2)]
    assert rows[1]["reasons"] == "asked already (3)"
    assert plan_record.by_document(rows) == {"b.md": {"fact": (1, 0)}, "d.md": {"fact": (3, 2)}}
    assert Row(cell(count=2), made=1, moved=1).missing == 0


def test_planned_is_made_here_and_elsewhere_and_missing_cell_by_cell():
    """By hand: of a's three facts one is made there, one in b, one as a list in a; of b's two one alone."""
    record = planned(fresh(), [cell("a", count=3), cell("b", count=2)], None, ())
    record.count("q1", 0, record.rows[0].cell)
    record.count("q2", 0, cell("b"))
    record.count("q3", 0, cell("a", kind="list", section=""))
    record.count("q4", 1, record.rows[1].cell)
    record.rows[1].reasons["asked already"] += 1
    rows = plan_record.cell_rows([record], {"a": "a.md", "b": "b.md"})
    named = {(row["document"], row["type"]): row for row in rows}
    facts_of_a, facts_of_b = named["a.md", "fact"], named["b.md", "fact"]
    assert [facts_of_a[name] for name in ("planned", "made", "elsewhere", "missing")] == [3, 1, 2, 0]
    assert facts_of_a["where"] == "1 in a.md, as list; 1 in b.md > s"
    assert [facts_of_b[name] for name in ("planned", "made", "elsewhere", "missing")] == [2, 1, 0, 1]
    assert (facts_of_b["where"], facts_of_b["reasons"]) == ("", "asked already")
    for row in rows:
        assert row["planned"] == row["made"] + row["elsewhere"] + row["missing"]
        assert row["elsewhere"] == sum(each["count"] for each in row["instead"])
    kinds = {row["type"]: row for row in plan_record.yield_rows([record])}
    parts = ("planned", "in place", "elsewhere", "other kinds", "missing")
    assert [kinds["fact"][name] for name in parts] == [5, 2, 1, 1, 1]
    record.yielded("fact").kept = 3
    record.drop({"q2": "it failed a check"})
    now = {(row["document"], row["type"]): row for row in plan_record.cell_rows([record], {"a": "a.md", "b": "b.md"})}
    assert [now["a.md", "fact"][name] for name in ("made", "elsewhere", "missing")] == [1, 1, 1]
    assert now["b.md", "fact"]["made"] == 1


# The command line


def test_the_command_line_foresees_and_tells_what_was_paid(workspace, server, command_line):
    workspace.set_prices({"loopback": (10.0, 20.0)})
    command = ["questions", "generate", "--index", "pumps", "--name", "q", "--generator", "model", "--kinds", "fact=8"]
    unknown = json.loads(command_line(*command, "--dry-run", "--json")[1])
    assert unknown["calls"]["question"] == 10, "8 ÷ 0.8: this model has made none yet"
    make_others(workspace, 8)
    server.bodies.clear()
    code, out, err = command_line(*command, "--dry-run", "--json")
    printed = json.loads(out)
    assert (code, printed["calls"]["question"], printed["cached"]) == (0, 8, 0), err
    assert sum(row["planned"] for row in printed["plan"]) == 8
    assert requests_to(server) == []
    code, out, err = command_line(*command, "--budget", str(printed["cost"] / 4 + 0.04), "--json")
    assert (code, out) == (1, "")
    paid = len(requests_to(server))
    assert f"{paid:,} model calls, $" in err
    assert "The budget of $" in err
    code, out, err = command_line(*command, "--json")
    calls = len(requests_to(server))
    assert (code, json.loads(out)["calls"], len(set(requests_to(server)))) == (0, calls, calls), err
    assert printed["total"] <= calls <= printed["total"] + 1, "questions were verified together in another grouping"
    [listed] = [row for row in json.loads(command_line("questions", "list", "--json")[1]) if row["questions"] == "q"]
    assert (listed["paid_calls"], listed["paid_dollars"] > 0) == (calls, True)
    code, out, err = command_line("questions", "plan", "q", "--json")
    shown = json.loads(out)
    assert (code, sum(row["planned"] for row in shown["cells"])) == (0, 8), err
    [kind] = shown["kinds"]
    assert (kind["type"], kind["kept"], kind["calls"]) == ("fact", 8, calls)
    code, out, err = command_line("questions", "plan", "q")
    assert code == 0
    assert re.search(r"pumps\.txt +8/8", out)


def test_the_command_line_tells_wrong_quotas(workspace, command_line):
    command = ["questions", "generate", "--index", "pumps", "--name", "q"]
    for more, said in (
        (["--types", "facts=3"], "There is no kind 'facts'; there are section, fact"),
        (["--kinds", "fact=x"], "'fact=x' is no quota"),
        (["--kinds", "fact=3", "--limit", "5"], "The limit is 5, and the kinds ask for 3 (fact=3)"),
        (["--styles", "colleague=1,loud=2"], "There is no style 'loud'"),
    ):
        code, out, err = command_line(*command, *more)
        assert (code, out) == (2, "")
        assert said in " ".join(err.split())
    workspace.store.sets.add(workspace.store.corpora.get("pumps").id, "blank")
    code, out, err = command_line("questions", "plan", "blank")
    assert code == 2
    assert "Nothing was generated into 'blank'" in err
