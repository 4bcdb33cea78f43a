"""Verification: each check against hand-made questions, the number of calls, caches, resumption, failures, secrets."""

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, replace

import pytest

from ragviz.core.configuration import IndexConfig
from ragviz.core.document import Document, Span
from ragviz.core.errors import Cancelled
from ragviz.core.question import Question
from ragviz.documents import corpora
from ragviz.generation import verification, verifying
from ragviz.generation.verification import Candidate, Context
from ragviz.index import indexing
from ragviz.models.chat import ModelClient
from ragviz.workspace import Workspace
from tests import model_server
from tests.builders import added, span, stored
from tests.model_server import Memory, ModelServer

WEAVERS = "The guild of weavers was founded in 1412. Its hall stands in the lower town."
HALL = "The hall in the lower town burned down in 1666. It was built again of stone."
QUARRY = "Stone for the new hall came from the quarry of Ardel. The quarry closed in 1701."
PASSAGES = (WEAVERS, HALL, QUARRY)


@pytest.fixture
def knows(monkeypatch):
    """Tell the model what a question needs in its passages, and its answer."""
    return lambda question, needs, answer: monkeypatch.setitem(model_server.TRUTHS, question, (tuple(needs), answer))


def client_of(server: ModelServer, cache=None, **more) -> ModelClient:
    return ModelClient(server.url, None, "loopback", cache=cache, backoff=0.001, **{"concurrency": 2} | more)


def question(text: str, answer: str, *passages: str, **more) -> Question:
    evidence = tuple((Span("d", 0, len(passage), passage),) for passage in passages)
    return Question(more.pop("id", text), text, answer, evidence, "hand", **more)


def contexts(questions):
    """Each piece of evidence is a passage of its own; nothing stands in the way of verification."""
    return {q.id: Context(tuple(span.text for [span] in q.evidence)) for q in questions}


def verified(server: ModelServer, *questions: Question, of=contexts, **more) -> list[Question]:
    client = more.pop("client", None) or client_of(server)
    return list(verification.verify(questions, of, client, **more))


def asked_of(server: ModelServer) -> Counter:
    """The calls by the field that tells their reply type."""
    schemas = [body["response_format"]["json_schema"]["schema"]["properties"] for body in server.bodies]
    named = {"missing": "evidence", "rows": "rows", "equivalence": "comparison"}
    return Counter(next(named[field] for field in fields if field in named) for fields in schemas)


def sent(server: ModelServer) -> list[dict]:
    """The texts that the model got, call by call."""
    users = [body["messages"][-1]["content"] for body in server.bodies]
    return [next(json.loads(line) for line in user.splitlines() if line[:1] == "{") for user in users]


# One passage


def test_a_fact_is_verified_in_two_calls_and_ten_facts_in_eleven(server, knows):
    facts = []
    for number in range(10):
        text = f"When was hall number {number} built?"
        knows(text, [f"hall {number} in 14"], f"14{number:02}")
        facts.append(question(text, f"14{number:02}", f"They built hall {number} in 14{number:02}."))
    [first] = verified(server, facts[0])
    assert (first.status, first.verified_by, first.reason) == ("proposed", "loopback", "")
    assert asked_of(server) == {"evidence": 1, "rows": 1}
    assert [list(texts) for texts in sent(server)] == [["questions"], ["passages", "question"]]
    assert sent(server)[1]["passages"] == {"1": "They built hall 0 in 1400."}
    server.bodies.clear()
    assert {q.verified_by for q in verified(server, *facts)} == {"loopback"}
    assert asked_of(server) == {"evidence": 10, "rows": 1}, "questions alone are asked about ten at a time"


@pytest.mark.parametrize(
    ("needs", "said", "reason"),
    [
        (["burned down"], "1412", "not answerable from its evidence: what is asked for is missing"),
        (["founded"], "in the year 1413", "another answer follows from its evidence: “in the year 1413”"),
    ],
)
def test_a_faulty_fact_is_rejected_with_the_reason(server, knows, needs, said, reason):
    text = "When was the guild of weavers founded?"
    knows(text, needs, said)
    [rejected] = verified(server, question(text, "1412", WEAVERS))
    assert (rejected.status, rejected.reason, rejected.verified_by) == ("rejected", reason, "loopback")


def test_what_is_known_without_documents_is_noted_and_stays(server, knows):
    text = "When was the guild of weavers founded?"
    knows(text, [], "in 1412")
    [noted] = verified(server, question(text, "1412", WEAVERS))
    assert (noted.status, noted.verified_by) == ("proposed", "loopback")
    assert noted.reason == "answered without any document: “in 1412”"
    assert asked_of(server) == {"evidence": 1, "rows": 1, "comparison": 2}, "other words are compared by their meaning"


@pytest.mark.parametrize(("other", "kept"), [("12 euros", True), ("15 euros", False)])
def test_what_another_chunk_answers_differently_is_rejected(server, other, kept):
    asked = question("Which words complete “The ferry costs …”?", "12 euros", "The ferry costs 12 euros.")
    other_chunk = Candidate("prices.txt", f"The ferry costs {other}. It leaves at nine.")
    [outcome] = verified(
        server, asked, of=lambda _: {asked.id: Context(("The ferry costs 12 euros.",), (other_chunk,))}
    )
    reason = "" if kept else "a chunk of “prices.txt” answers it differently: “15 euros”"
    assert (outcome.status, outcome.reason) == ("proposed" if kept else "rejected", reason)


def test_what_nobody_understands_is_rejected_before_its_evidence_is_read(server):
    [rejected] = verified(server, question("And when was it founded?", "1412", WEAVERS))
    assert rejected.reason == "not understood without the passage: “it” is unclear"
    assert asked_of(server) == {"rows": 1}


@pytest.mark.parametrize(
    ("passages", "needs", "dispensable", "calls"),
    [
        ((WEAVERS, HALL), ["Its hall stands", "burned down in 1666"], None, 3),
        ((WEAVERS, HALL), ["burned down in 1666"], 1, 2),
        ((HALL, WEAVERS), ["burned down in 1666"], 2, 3),
        (PASSAGES, ["Its hall stands", "of stone", "quarry of Ardel"], None, 4),
        (PASSAGES, ["Its hall stands", "quarry of Ardel"], 2, 3),
        (PASSAGES, ["Its hall stands", "of stone"], 3, 4),
    ],
)
def test_each_passage_left_out_must_break_the_answer(server, knows, passages, needs, dispensable, calls):
    """By hand: one call with all passages, then one without each until the answer still comes."""
    text = "When did the hall of the guild of weavers burn down?"
    knows(text, needs, "1666")
    [outcome] = verified(server, question(text, "1666", *passages))
    reason = f"can be answered without passage {dispensable}: “1666”" if dispensable else ""
    assert (outcome.reason, outcome.status) == (reason, "rejected" if dispensable else "proposed")
    assert asked_of(server) == {"rows": 1, "evidence": calls}
    without = [list(texts["passages"].values()) for texts in sent(server)[2:]]
    assert without == [[p for n, p in enumerate(passages) if n != left] for left in range(calls - 1)]


def candidates(*texts: str):
    chunks = tuple(Candidate("town.txt", text) for text in texts)
    return lambda questions: {q.id: Context(candidates=chunks) for q in questions}


def test_an_unanswerable_question_is_asked_of_the_best_chunks_in_one_call(server, knows):
    text = "When was the guild of tanners founded?"
    knows(text, ["tanners"], "1502")
    asked = question(text, "", unanswerable=True, reason="swapped: “weavers” → “tanners” (entity)")
    [kept] = verified(server, asked, of=candidates(*PASSAGES))
    assert (kept.status, kept.verified_by) == ("proposed", "loopback")
    assert kept.reason == asked.reason, "what was swapped stays"
    assert asked_of(server) == {"rows": 2}
    [rejected] = verified(server, asked, of=candidates(*PASSAGES, "The tanners came in 1502."))
    assert (rejected.status, rejected.reason) == ("rejected", "a chunk of “town.txt” answers it: “1502”")


# Replies that lack something, failures


def lacking(monkeypatch, times: int):
    """The first `times` replies with rows lack their last one."""
    made_up, left = model_server.complete, [times]

    def complete(body):
        reply = json.loads(made_up(body))
        if "rows" in reply and left[0]:
            left[0] -= 1
            reply["rows"] = reply["rows"][:-1]
        return json.dumps(reply)

    monkeypatch.setattr("tests.model_server.complete", complete)


def facts(knows, count: int) -> list[Question]:
    found = []
    for number in range(count):
        text = f"In which year was hall number {number} built?"
        knows(text, [f"hall {number} in"], f"{1400 + number}")
        found.append(question(text, f"{1400 + number}", f"They built hall {number} in {1400 + number}."))
    return found


def test_rows_that_are_missing_are_asked_again_and_no_others(server, knows, monkeypatch):
    lacking(monkeypatch, 1)
    assert [q.verified_by for q in verified(server, *facts(knows, 3))] == ["loopback"] * 3
    assert [sorted(texts["questions"]) for texts in sent(server) if "questions" in texts] == [["1", "2", "3"], ["3"]]


def test_a_failed_call_loses_no_question(server, knows):
    [one] = facts(knows, 1)
    swapped = replace(one, reason="swapped: “a” → “b” (time)")
    server.script.extend(["ok", *["500"] * 8])
    [outcome] = verified(server, swapped, client=client_of(server, concurrency=1))
    assert (outcome.status, outcome.verified_by) == ("proposed", "")
    assert outcome.reason.startswith("swapped: “a” → “b” (time); not verified: ")
    [again] = verified(server, outcome)
    assert (again.verified_by, again.reason) == ("loopback", swapped.reason)


def test_no_key_is_in_a_reason(server, knows):
    key = "sk-1234567890abcdef"
    text = "When was the guild of weavers founded?"
    knows(text, [], f"1412 {key}")
    [noted] = verified(server, question(text, "1412", WEAVERS), keys=[key])
    assert "1412 ••••" in noted.reason
    assert key not in noted.reason


def mixed(knows) -> list[Question]:
    bridge = "When did the hall of the guild of weavers burn down?"
    knows(bridge, ["Its hall stands", "of stone", "quarry of Ardel"], "1666")
    follow = "And where is it?"
    knows(follow, ["hall stands"], "in the lower town")
    turns = (("When was the guild of weavers founded?", "1412"),)
    return [
        *facts(knows, 12),
        question(bridge, "1666", *PASSAGES, type="bridge"),
        question(follow, "in the lower town", WEAVERS, history=turns, type="follow-up"),
        question("Who leads the guild of smiths of Ardel?", "", unanswerable=True, type="unanswerable"),
    ]


def both(questions):
    return contexts([q for q in questions if q.evidence]) | candidates(*PASSAGES)(
        [q for q in questions if not q.evidence]
    )


def test_the_estimate_counts_the_calls_that_are_made_and_makes_none(server, knows):
    cache, verdicts = Memory(), Memory()
    client, questions = client_of(server, cache), mixed(knows)
    estimate = verification.foresee(questions, both, client, verdicts=verdicts)
    assert (server.counts.calls, cache.items, verdicts.items) == (0, {}, {})
    outcomes = verified(server, *questions, of=both, client=client, verdicts=verdicts)
    assert [q.verified_by for q in outcomes] == ["loopback"] * 15, [q.reason for q in outcomes]
    # alone: 2 (ten a call); evidence: 12 facts, bridge, follow-up; left out: 3; candidates: 1
    assert list(estimate.calls.values()) == [2, 14, 3, 1]
    assert estimate.total == server.counts.calls == 20
    assert estimate.prompt_tokens == pytest.approx(client.usage.prompt_tokens, rel=0.3)
    assert estimate.completion_tokens == pytest.approx(client.usage.completion_tokens, rel=0.3)
    again = verification.foresee(questions, both, client, verdicts=verdicts)
    assert (again.total, again.cached) == (18, 18), "what questions are alone is known of each"


# A set


PLACES = ["northern", "southern", "eastern", "western"]
SENTENCES = [
    f"Pump number {n} of the {place} works was replaced in {1900 + n} by the firm {firm}."
    for n, (place, firm) in enumerate([(place, firm) for place in PLACES for firm in "ABCDEFGHIJKLMNO"])
]


@pytest.fixture
def workspace(with_models) -> Workspace:
    workspace = with_models
    corpus = workspace.store.corpora.add("pumps")
    corpora.add_file(workspace, corpus, "pumps.txt", "\n\n".join(SENTENCES).encode())
    config = IndexConfig(chunk_size=30, embedder="openai:bags", chunker="sentences")
    indexing.build_index(workspace, corpus, "pumps", config)
    return workspace


def pump_set(workspace: Workspace, count: int = 60) -> list[Question]:
    """A set of facts, and a question that nothing answers."""
    corpus = workspace.store.corpora.get("pumps")
    pumps = stored(workspace, corpus, "pumps.txt")
    questions = [
        Question(f"q{n:02}", f"Which words complete “Pump number {n} of the {PLACES[n // 15]} works was …”?",
                 sentence.partition(" was ")[2].rstrip("."), ((span(pumps, sentence),),), "hand", type="fact")
        for n, sentence in enumerate(SENTENCES[:count])
    ]  # fmt: skip
    nothing = Question("none", "Which words complete “Pump number 99 of the lost works was …”?", "", (), "hand",
                       unanswerable=True, type="unanswerable")  # fmt: skip
    q = workspace.store.sets.add(corpus.id, "q")
    workspace.store.questions.put(q.id, [*questions, nothing])
    return workspace.store.questions.all(q.id)


def chats(server: ModelServer) -> list[str]:
    return [json.dumps(body["messages"]) for body in server.chats]


def test_a_set_is_verified_once(workspace, server):
    pump_set(workspace)
    estimate = verifying.foresee_verification(workspace, "q", "pumps")
    assert chats(server) == []
    result = verifying.verify_questions(workspace, "q", "pumps")
    assert (result.verified, result.faulty, result.unverified) == (61, 0, 0)
    assert len(chats(server)) == estimate.total == 60 + 60 + 1 + 7  # evidence, elsewhere, candidates, alone
    assert estimate.paid_calls == 2, "the questions that are searched for were embedded"
    assert result.calls == 128
    stored = workspace.store.questions.all(workspace.store.sets.get("q").id)
    assert {q.verified_by for q in stored} == {"loopback"}
    again = verifying.verify_questions(workspace, "q", "pumps")
    assert (again.verified, len(chats(server))) == (0, 128)
    assert verifying.foresee_verification(workspace, "q", "pumps").total == 0
    versions = workspace.store.versions.all(workspace.store.sets.get("q").id)
    assert [(v.action, v.questions) for v in versions if v.action == "verified"] == [("verified", 61)]
    assert versions[0].author == workspace.settings.person != ""


def test_a_killed_verification_goes_on_and_pays_nothing_twice(workspace, server):
    pump_set(workspace)

    def stop(done, total, unit, message=""):
        if done == 30:
            raise Cancelled("stopped")

    with pytest.raises(Cancelled):
        verifying.verify_questions(workspace, "q", "pumps", progress=stop)
    questions = workspace.store.questions.all(workspace.store.sets.get("q").id)
    assert sum(q.verified_by == "loopback" for q in questions) == 30
    assert all(q.status == "proposed" for q in questions)
    result = verifying.verify_questions(workspace, "q", "pumps")
    assert result.verified == 31
    assert len(set(chats(server))) == len(chats(server)), "no call was made twice"
    rows = [json.loads(body)[-1]["content"] for body in chats(server)]
    alone = [json.loads(row.splitlines()[1])["questions"] for row in rows if '"questions"' in row]
    assert sum(map(len, alone)) == 61, "each question was asked about alone once"


# Changed since


def now(opened: Workspace) -> dict[str, Question]:
    store = opened.store
    return {question.id: question for question in store.questions.all(store.sets.get("q").id)}


def put(opened: Workspace, *questions: Question) -> None:
    opened.store.questions.put(opened.store.sets.get("q").id, list(questions))


def test_a_wrong_answer_that_was_verified_before_is_found(workspace: Workspace, server: ModelServer) -> None:
    pump_set(workspace, 4)
    verifying.verify_questions(workspace, "q", "pumps")
    wrong = {
        i: replace(now(workspace)[i], answer="painted 999 times", status=status, verified_by="")
        for i, status in (("q00", "proposed"), ("q01", "accepted"))
    }
    put(workspace, *wrong.values())
    result = verifying.verify_questions(workspace, "q", "pumps")
    assert (result.verified, result.faulty, result.accepted) == (0, 2, 1)
    assert verifying.summary(asdict(result)).endswith("1 of them stays accepted, as a person decided.")
    after = now(workspace)
    assert (after["q00"].status, after["q01"].status) == ("rejected", "accepted")
    assert after["q00"].reason.startswith("another answer follows from its evidence")
    assert after["q01"].reason.startswith(f"{verification.FAULT}another answer follows from its evidence")
    right = replace(after["q01"], answer=SENTENCES[1].partition(" was ")[2].rstrip("."), verified_by="")
    put(workspace, right)
    result = verifying.verify_questions(workspace, "q", "pumps")
    assert (result.verified, result.faulty, result.accepted) == (1, 0, 0)
    assert (now(workspace)["q01"].reason, now(workspace)["q01"].status) == ("", "accepted")
    assert now(workspace)["q00"].status == "rejected", "what is not asked is not verified"


# What a question rests on: its evidence and what that is about, not the rest of its chunk

PUMPS = "# Pumps\n\nThe Heron pump runs at a maximum pressure of 9 bar. The Kestrel pump was designed by Orla Brandt."
ASKED, SAYS = "What maximum pressure does the Heron pump have?", "The Heron pump runs at a maximum pressure of 9 bar."
WRONG = "The Kestrel pump was designed by Orla Brandt."


def indexed(opened: Workspace, texts: Mapping[str, str]) -> dict[str, Document]:
    """Index documents by name as corpus and index "town", so that each of these short ones is one chunk."""
    corpus = added(opened, "town", texts)
    indexing.build_index(opened, corpus, "town", IndexConfig(chunk_size=200, embedder=""))
    return {name: stored(opened, corpus, name) for name in texts}


def quoting(document: Document, *quotes: str, text: str = ASKED, answer: str = "9 bar", **more: object) -> Question:
    evidence = tuple((span(document, quote),) for quote in quotes)
    return replace(question(text, answer), evidence=evidence, **more)  # type: ignore[arg-type]


def context_of(opened: Workspace, *asked: Question) -> Context:
    return verifying.contexts_of(opened, opened.store.indexes.get("town"))(asked)[asked[0].id]


def test_the_wrong_sentence_of_the_right_chunk_is_no_evidence(workspace, server, knows):
    document = indexed(workspace, {"pumps.md": PUMPS})["pumps.md"]
    knows(ASKED, ["9 bar"], "9 bar")
    right, wrong = quoting(document, "9 bar", id="right"), quoting(document, WRONG, id="wrong")
    assert context_of(workspace, right).passages == (f"Pumps\n\n{SAYS}",), "a word or two are read in their sentence"
    contexts = verifying.contexts_of(workspace, workspace.store.indexes.get("town"))
    told, rejected = verification.verify([right, wrong], contexts, workspace.model)
    assert (told.verified_by, rejected.status) == ("loopback", "rejected")
    assert rejected.reason.startswith("not answerable from its evidence")
    server.bodies[:] = server.chats  # the index was embedded before
    assert {"1": f"Pumps\n\n{WRONG}"} in [texts.get("passages") for texts in sent(server)]


def test_what_a_sentence_refers_to_is_read_unless_it_is_other_evidence(workspace):
    text = "The guild has a hall. It burned down in 1666."
    document = indexed(workspace, {"hall.txt": text})["hall.txt"]
    assert context_of(workspace, quoting(document, "1666")).passages == (f"hall\n\n{text}",)
    both = context_of(workspace, quoting(document, "a hall", "1666")).passages
    assert both == ("hall\n\nThe guild has a hall.", "hall\n\nIt burned down in 1666.")


def test_whole_documents_are_evidence_too_as_far_as_a_call_reads_them(workspace):
    long = " ".join(f"Pump {n} was replaced in the north." for n in range(1, 900))
    short, whole, huge = long[:9000], long[:30000], f"{long} {long}"
    documents = indexed(workspace, {"short.txt": short, "whole.txt": whole, "huge.txt": huge})
    for name in ("short.txt", "whole.txt"):
        passages = context_of(workspace, quoting(documents[name], documents[name].text)).passages
        assert passages == (f"{name[:-4]}\n\n{documents[name].text}",)
    lacking = context_of(workspace, quoting(documents["huge.txt"], documents["huge.txt"].text)).lacking
    assert lacking.startswith(f"its evidence of {len(documents['huge.txt'].text):,} characters is too long for a call")
