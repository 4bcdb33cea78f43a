"""Generating by a plan: estimated, bounded by a budget, resumed, with quotas met and reasons told; nothing twice."""

import json
import math
from collections import Counter
from dataclasses import asdict, replace

import pytest

from ragviz.core.call import Paid
from ragviz.core.configuration import IndexConfig
from ragviz.core.document import Span
from ragviz.core.errors import BudgetReached
from ragviz.core.question import Question
from ragviz.documents import corpora
from ragviz.generation import pipeline, plan_record
from ragviz.index import indexing
from ragviz.workspace import Workspace
from tests.model_server import ModelServer

SENTENCES = [
    f"Pump number {n} of the {place} works was replaced in {1900 + n} by the firm {firm}."
    for n, (place, firm) in enumerate([(p, f) for p in ["northern", "southern", "eastern"] for f in "ABCDEFGH"])
]


@pytest.fixture
def workspace(with_models) -> Workspace:
    workspace = with_models
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
    return [json.dumps(body["messages"]) for body in server.chats]


def facts(workspace: Workspace, count: int = 12, name: str = "q", **more) -> pipeline.Generated:
    choices = {"generator": "model", "kinds": {"fact": count}} | more
    return pipeline.generate_questions(workspace, choices.pop("index", "pumps"), name, **choices)


def foreseen(workspace: Workspace, count: int = 12, name: str = "q", **more):
    choices = {"generator": "model", "kinds": {"fact": count}} | more
    return pipeline.foresee_questions(workspace, choices.pop("index", "pumps"), name, **choices).forecast


def questions_of(workspace: Workspace, name: str = "q") -> list[Question]:
    return workspace.store.questions.all(workspace.store.sets.get(name).id)


def shown_of(workspace: Workspace, name: str = "q") -> plan_record.Shown:
    return plan_record.shown(workspace.store, workspace.store.sets.get(name))


def test_a_dry_run_tells_the_calls_of_every_step_and_asks_for_no_question(workspace, server):
    workspace.store.prices.put({"loopback": (10.0, 20.0)})
    estimate = foreseen(workspace)
    assert (requests_to(server), workspace.store.sets.all()) == ([], [])
    assert (estimate.questions, estimate.cached, estimate.calls["question"]) == (12, 0, 15), "12 ÷ 0.8"
    assert len(estimate.calls) == 4, "three checks of a question of one passage"
    assert estimate.total <= 4 * 15
    made = facts(workspace)
    assert made.proposed == 12
    assert 0.7 * estimate.total <= len(requests_to(server)) <= estimate.total, "each question passed each check"
    assert estimate.prompt_tokens == pytest.approx(workspace.model.usage.prompt_tokens, rel=0.5)
    assert estimate.cost == pytest.approx(made.dollars, rel=0.7)
    assert estimate.seconds > 0
    again = foreseen(workspace, 14)
    assert (again.questions, again.calls["question"]) == (2, 3)
    build(workspace, "guide", {"guide.md": [GUIDE]})
    free = pipeline.foresee_questions(workspace, "guide", "q", limit=3).forecast
    assert (free.questions, free.total, free.cost) == (3, 0, 0.0)


def test_quotas_are_met_and_counted(workspace):
    made = facts(workspace, kinds={"fact": 6, "number": 3, "unanswerable": 2}, styles={"colleague": 8, "keywords": 3})
    assert json.loads(json.dumps(asdict(made)))["reasons"] == made.reasons, "it is the result of a job"
    assert (made.proposed, made.usable, made.limit, made.short) == (11, 11, 11, {})
    kept = [question for question in questions_of(workspace) if question.asked]
    assert Counter(question.type for question in kept) == {"fact": 6, "number": 3, "unanswerable": 2}
    assert Counter(question.style for question in kept) == {"colleague": 8, "keywords": 3}
    for question in kept:
        assert (question.generator, question.verified_by) == ("loopback", "loopback")
        assert question.source_chunks
        assert len(question.parts) == len(question.evidence)
    shown = shown_of(workspace)
    assert (shown.exist, shown.planned, shown.asked) == (11, 11, 11)
    assert {row["type"]: row["kept"] for row in shown.types} == {"fact": 6, "number": 3, "unanswerable": 2}


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


class Killed(BaseException):
    """What ends a generation at once, as a kill does."""


@pytest.mark.parametrize("after", [1, 5])
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
    [record] = plan_record.records_of(workspace.store, workspace.store.sets.get("q").id)
    assert sorted(record.made) == sorted(q.id for q in kept)
    assert shown_of(workspace).types == shown_of(workspace, "whole").types, "nothing is counted twice or lost"


def test_a_budget_holds_over_all_attempts_at_a_set(workspace, server):
    workspace.store.prices.put({"loopback": (10.0, 20.0)})
    whole = foreseen(workspace).cost
    with pytest.raises(BudgetReached, match=r"The budget of \$"):
        facts(workspace, budget=whole / 3 + 0.04)  # the most that one call may cost has to fit too
    q = workspace.store.sets.get("q")
    calls, paid = (spent := workspace.store.payments.of(q.id)).calls, spent.dollars
    assert 0 < calls == len(requests_to(server)) < 36
    assert 0 < paid <= whole / 3 + 0.04
    assert 0 < q.total <= calls, "what was written is kept; replies to what was in flight at the end are in the cache"
    with pytest.raises(BudgetReached):
        facts(workspace, budget=paid)
    assert len(requests_to(server)) == calls
    made = facts(workspace, budget=3 * whole)
    assert made.total == 12
    assert len(set(requests_to(server))) == len(requests_to(server)), "no call was paid twice"
    assert made.dollars == pytest.approx(workspace.store.payments.of(q.id).dollars)
    assert {q.verified_by for q in questions_of(workspace)} == {"loopback"}, "those written before are verified too"
    workspace.store.sets.delete(q.id)
    assert workspace.store.payments.of(q.id) == Paid()


ENGLISH = GUIDE.partition("# Terms")[0]
CHINESE = """# 三楼会议室一览

| 会议室 | 人数 | 楼层 |
|---|---|---|
| 东厅 | 12人 | 一层 |
| 西厅 | 30人 | 二层 |
| 北厅 | 18人 | 三层 |
"""


@pytest.mark.model
@pytest.mark.parametrize("text", [ENGLISH, CHINESE], ids=["en", "zh"])
def test_extractive_questions_are_made_once_and_added_to(workspace, server, text):
    build(workspace, "rules", {"rules.md": [text]})
    assert pipeline.generate_questions(workspace, "rules", "q", kinds={"table": 1}).proposed == 1
    [first] = questions_of(workspace)
    made = pipeline.generate_questions(workspace, "rules", "q", kinds={"table": 2}, styles={"keywords": 1})
    kept = [question for question in questions_of(workspace) if question.asked]
    assert (made.proposed, made.usable, len(kept)) == (1, 2, 2)
    assert first in kept, "those that exist keep their style"
    for question in kept:
        assert (question.type, question.generator, question.verified_by) == ("table", "extractive", "")
        [[span]] = question.evidence
        assert question.answer in span.text
        assert question.source_chunks
    assert pipeline.generate_questions(workspace, "rules", "q", kinds={"table": 2}).proposed == 0
    refused = replace(kept[0], status="rejected", reason="dull")
    workspace.store.questions.put(workspace.store.sets.get("q").id, [refused])
    pipeline.generate_questions(workspace, "rules", "q", kinds={"table": 2})
    assert refused in questions_of(workspace), "what a person rejected is not made again"
    assert requests_to(server) == []


MENU = "Home\n\nSign in\n\nAbout us"


@pytest.mark.model
def test_a_document_that_yields_nothing_is_told_by_name_with_the_reason(workspace, command_line):
    build(workspace, "menu", {"rules.md": [ENGLISH], "menu.txt": [MENU]})
    made = pipeline.generate_questions(workspace, "menu", "q", limit=2)
    reason = (
        "it has no heading, table, list, definition or sentence with a number or a name that gives a clear question "
        "without a model"
    )
    assert (made.usable, made.nothing, made.barren) == (2, {"menu.txt": reason}, 1)
    assert shown_of(workspace).nothing == made.nothing
    code, out, err = command_line("questions", "generate", "--index", "menu", "--name", "q", "--limit", "9")
    assert (code, f"No question is about menu.txt: {reason}." in " ".join(err.split())) == (0, True), err
    assert "usable of 9: of 1 document no question could be made without a model" in " ".join(err.split())
    code, out, err = command_line("questions", "plan", "q", "--json")
    assert (code, json.loads(out)["nothing"]) == (0, made.nothing), err
    info = workspace.store.sets.get("q")
    menu = next(d for d in workspace.store.documents.all(info.corpus_id) if d.name == "menu.txt")
    written = Question("own", "Where does one begin?", "Home", ((Span(menu.id, 0, 4, "Home"),),), "person", "accepted")
    workspace.store.questions.put(info.id, [written])
    assert shown_of(workspace).nothing == {}, "a person's question has its evidence there"
