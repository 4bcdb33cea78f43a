"""Checks of a question set: each with a case that it must catch and one that it must leave; effects by hand."""

import json
import random
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from ragviz.analysis import pooled
from ragviz.analysis.evaluate import summarise
from ragviz.core.configuration import IndexConfig, RunConfig
from ragviz.core.document import Chunk, Span
from ragviz.core.errors import UsageError
from ragviz.core.person import Person
from ragviz.core.question import Question
from ragviz.core.question_set import Edit
from ragviz.core.ranking import Ranking, Retrieved
from ragviz.core.recording import Recording
from ragviz.core.score import Score
from ragviz.core.verdict import EvaluatedAnswer
from ragviz.health import duplicates, effects, examination, material, quarantine
from ragviz.health.material import Material, subject_of
from ragviz.health.set_checks import CHECKS
from ragviz.health.word_weights import Weights, content, weights_of
from ragviz.index import indexing
from ragviz.questions import exchange
from ragviz.runs import running
from tests.builders import added

VALVE = "The north valve of the boiler was replaced in 2021 by the firm Halden."
TEA = "Tea is served in the canteen at noon."
CHINESE = "北阀门于2021年更换，检修周期为三十天，负责人是王芳。"


def question(number, text, answer="", *passages, **more):
    """A question whose evidence is these passages, each a document of its own, at its beginning."""
    evidence = tuple((Span(f"d{number}-{place}", 0, len(each), each),) for place, each in enumerate(passages))
    return Question(f"q{number}", text, answer, evidence, more.pop("generator", "hand"), "accepted", **more)


def subjects(*questions, gold=()):
    groups = [*gold, *[()] * (len(questions) - len(gold))]  # the gold chunks of each
    return tuple(
        subject_of(q, lambda span: (span.text, span.text), own) for q, own in zip(questions, groups, strict=True)
    )


def material_of(*questions, **more):
    gold = more.pop("gold", ())
    common = [content(text, "en") for text in (VALVE, TEA, "The boiler is old.", "The boiler is warm.", "Paint.")]
    return Material(subjects(*questions, gold=gold), weights_of(common), "index", **more)


def found(check, read):
    return {finding.question_id: finding for finding in CHECKS[check].find(read).findings}


def test_weights_are_those_of_bm25():
    weights = weights_of([frozenset({"a", "b"}), frozenset({"a"}), frozenset({"a"})])
    assert weights.of("a") == pytest.approx(np.log(1 + 0.5 / 3.5))
    assert weights.of("b") == pytest.approx(np.log(1 + 2.5 / 1.5))
    assert weights.of("never") == pytest.approx(np.log(1 + 3.5 / 0.5))
    rare, all_of_it = weights.of("b"), weights.of("a") + weights.of("b")
    assert weights.share(frozenset("ab"), frozenset("b")) == pytest.approx(rare / all_of_it)
    assert weights.share(frozenset(), frozenset("b")) is None
    assert Weights().share(frozenset("ab"), frozenset("a")) == 0.5


# Each check catches, and leaves


@pytest.mark.parametrize(
    ("copy", "passage", "own"),
    [
        (
            "When was the north valve of the boiler replaced by the firm Halden?",
            VALVE,
            "In which year did they fit a new one?",
        ),
        ("北阀门的检修周期是多少天？", CHINESE, "多久要检查一次那个零件？"),
    ],
)
def test_copied_words(copy, passage, own):
    language = "zh" if passage is CHINESE else "en"
    asked = [question(n, text, "2021", passage, language=language) for n, text in enumerate((copy, own))]
    read = material_of(*asked, gold=(("c0",), ("c1",)), lexical={"q0": ("c0", "x"), "q1": ("x", "c1")})
    caught = found("copies", read)
    assert set(caught) == {"q0"}
    assert caught["q0"].value >= 0.8
    assert caught["q0"].words.endswith("BM25 ranks it first by its words alone")
    assert CHECKS["copies"].find(read).note == "BM25 alone ranks the evidence of 1 of 2 questions first."


def test_answerable_without_the_documents():
    known, unknown = question(0, "Capital of France?", "Paris", VALVE), question(1, "Who fitted it?", "Halden", VALVE)
    refused = question(2, "Who was the first?", "", generator="hand")
    closed = {"without": {"q0": True, "q1": False, "q2": True}}
    caught = found("closed-book", material_of(known, unknown, refused, closed=closed))
    assert list(caught) == ["q0"], "an unanswerable question is right without documents"
    assert caught["q0"].words.endswith("in without")
    nothing = CHECKS["closed-book"].find(material_of(known))
    assert "--context none" in nothing.unknown
    verified = CHECKS["closed-book"].find(material_of(replace(known, verified_by="gpt")))
    assert not verified.unknown
    assert "1 of 1" in verified.note
    partly = CHECKS["closed-book"].find(material_of(replace(known, verified_by="gpt"), unknown, refused))
    assert partly.unknown.startswith("Not known of 2 questions: run the set with context “none”")
    assert partly.note.startswith("1 of 3 questions were verified by a model")


def test_unanswerable_questions_that_are_answered():
    """Those that a judged run answered from its passages, or that hold an answer; one that was refused is unknown."""
    questions = [
        question(n, f"Who was number {n}?", answer, generator="hand", unanswerable=True)
        for n, answer in enumerate(("", "", "Halden", "I do not know.", ""))
    ]
    judged = {"run a": {"q0": True, "q1": False}, "run b": {"q0": True, "q2": False}}
    result = CHECKS["answered"].find(material_of(*questions, judged=judged))
    assert [(f.question_id, f.value) for f in result.findings] == [("q0", 2), ("q2", 0)]
    assert result.unknown.startswith("Not known of 2 unanswerable questions")
    answerable = question(5, "Who fitted it?", "Halden", VALVE)
    assert CHECKS["answered"].find(material_of(answerable, judged={"run a": {"q5": True}})).findings == ()


def test_another_chunk_answers_it():
    asked = question(0, "When was the north valve replaced?", "2021", VALVE)
    other, same = Chunk.make_id("e", 0, 90), Chunk.make_id("d0-0", 20, 60)

    def caught(claims, chunk, *supports):
        verdicts = pooled.Verdicts(claims, {chunk: frozenset(supports)})
        return found("elsewhere", material_of(asked, verdicts={"q0": verdicts}, gold=[("g",)]))

    assert caught(2, other, 0, 1)["q0"].value == 1
    assert not caught(2, other, 0), "half of the answer"
    assert not caught(1, same, 0), "a chunk of another cut of the evidence"
    assert "with a judge" in CHECKS["elsewhere"].find(material_of(asked)).unknown


def test_duplicates():
    first = question(0, "When was the north valve replaced?", "2021", VALVE)
    again = replace(question(1, "WHEN was the north valve replaced", "2021", VALVE))
    near = question(2, "When was the north valve of the boiler replaced?", "In 2021", VALVE)
    other = question(3, "When was the south valve replaced?", "1999", "The south valve was replaced in 1999.")
    later = question(4, "When was the north valve replaced?", "2021", VALVE, history=(("Which pump?", "The old one."),))
    caught = found("duplicates", material_of(first, again, near, other, later))
    assert set(caught) == {"q1", "q2"}
    assert caught["q1"].words == "the same words as q0"
    assert caught["q2"].words == "nearly the same as q0"
    contradicting = replace(again, answer="1999")
    assert found("duplicates", material_of(first, contradicting))["q1"].words.endswith("with another answer")


def test_all_pairs_of_near_questions_are_compared_and_few_others():
    """Against all pairs: those with Jaccard of 0.7 or more are among the pairs that are compared."""
    chance = random.Random(5)
    vocabulary = [f"word{n}" for n in range(3000)]
    words = [chance.sample(vocabulary, 8) for _ in range(300)]
    words += [[*own[:7], chance.choice(vocabulary)] for own in words[:60]]
    read = material_of(*(question(n, " ".join(own)) for n, own in enumerate(words)))
    compared = set(duplicates.pairs([subject.words for subject in read.subjects]))
    sets_of = [subject.words for subject in read.subjects]
    near = {
        (a, b)
        for a in range(len(words))
        for b in range(a + 1, len(words))
        if len(sets_of[a] & sets_of[b]) / len(sets_of[a] | sets_of[b]) >= 0.7
    }
    assert len(near) >= 60
    assert near <= compared
    assert len(compared) < 0.02 * len(words) ** 2


@pytest.mark.parametrize(
    ("text", "answer", "passage", "caught"),
    [
        ("When was it replaced?", "In 1987", VALVE, True),
        ("When was it replaced?", "In 2021", VALVE, False),
        ("How many years before 2030?", "9", VALVE, False),
        ("Was it replaced?", "Yes", VALVE, False),
        ("How many awards?", "Six", "She is a six-time winner of the award.", False),
        ("How many awards?", "Six", "She is a winner of seven awards.", True),
        ("检修周期是多少？", "30天", CHINESE, False),
        ("检修周期是多少？", "45天", CHINESE, True),
    ],
)
def test_answers_that_their_evidence_does_not_support(text, answer, passage, caught):
    read = material_of(question(0, text, answer, passage, language="zh" if text[0] == "检" else "en"))
    assert bool(found("unsupported", read)) == caught


def test_found_by_every_run_or_none():
    asked = [question(n, f"Question {n}?", "2021", VALVE) for n in range(3)]
    runs = {
        "first": {"q0": True, "q1": True, "q2": False},
        "second": {"q0": True, "q1": False, "q2": False},
    }
    caught = found("separates-nothing", material_of(*asked, outcomes=runs))
    assert {i: finding.words for i, finding in caught.items()} == {
        "q0": "found by all 2 runs",
        "q2": "found by none of 2 runs",
    }
    one = CHECKS["separates-nothing"].find(material_of(*asked, outcomes={"first": runs["first"]}))
    assert "one more run" in one.unknown
    assert not one.findings


def test_stale_evidence():
    gone = Question("q0", "When?", "2021", ((Span("d", 0, 4, VALVE, stale=True), Span("d", 9, 12, "2021")),), "hand")
    assert found("stale", material_of(gone))["q0"].words == "1 of 2 passages no longer stand in their documents"
    assert not found("stale", material_of(question(1, "When?", "2021", VALVE)))


def test_the_effect_on_the_score_by_hand():
    """Found, found, lost, lost: 0.5; without a found and a lost question 0.5, without both lost ones 1."""
    asked = [question(n, f"Question {n}?", "2021", VALVE) for n in range(4)]
    chunks, other = [Chunk.make_id(f"d{n}-0", 0, 70) for n in range(4)], Chunk.make_id("x", 0, 70)
    results = [
        Retrieved(q.id, Ranking((chunks[n] if n < 2 else other,), (1.0,)), ((chunks[n],),)) for n, q in enumerate(asked)
    ]
    summary = summarise(results, asked, k=1, depth=1)
    recall = effects.headline(None, SimpleNamespace(name="r"), summary)
    assert effects.effect(recall, {"q0", "q2"}).after.mean == 0.5
    without = effects.effect(recall, {"q2", "q3", "not ranked"})
    assert (without.metric, without.before.mean, without.after.mean, without.removed) == ("recall@1", 0.5, 1.0, 2)
    assert (without.before.n, without.after.n) == (4, 2)
    assert without.after.low <= 1.0 <= without.after.high
    assert effects.effect(recall, {"gone"}).after == summary.metrics["recall@1"]
    assert effects.effect(recall, {q.id for q in asked}).after.mean is None
    assert effects.words(effects.effect(recall, {"q0", "q1", "q2", "q3"})) == "no question is left"


# A set in a store


@pytest.fixture
def workspace_with_set(workspace):
    facts = {
        "valve.md": f"# Valve\n\n{VALVE}\n\n| part | weight |\n|---|---|\n| wheel | 12 kg |\n",
        "tea.md": f"# Tea\n\n{TEA}\n",
        "notes.md": "# Notes\n\nNobody asks about these notes on paint.\n",
    }
    corpus = added(workspace, "plant", facts)
    indexing.build_index(workspace, corpus, "index", IndexConfig(chunk_size=40, embedder=""))
    rows = [
        {"question": "When was the north valve of the boiler replaced by the firm Halden?", "answer": "2021",
         "document": "valve.md", "quote": VALVE, "type": "number"},
        {"question": "At what time can one drink something warm?", "answer": "noon", "document": "tea.md",
         "quote": TEA, "type": "fact"},
        {"question": "At what time can one drink something warm?", "answer": "noon", "document": "tea.md",
         "quote": TEA, "type": "fact", "id": "again"},
    ]  # fmt: skip
    exchange.import_data(workspace, corpus, "\n".join(map(json.dumps, rows)).encode(), "q.jsonl", "asked")
    return workspace


def test_quarantine_and_release_are_a_version_each_and_bring_the_status_back(workspace_with_set):
    workspace, store = workspace_with_set, workspace_with_set.store
    workspace.person = Person("Ada")
    asked = store.sets.get("asked")
    first, second, third = store.questions.all(asked.id)
    edited = [replace(second, status="rejected", reason="dull"), replace(third, status="proposed")]
    store.questions.put(asked.id, edited)
    before = store.sets.get("asked").version
    ids = [first.id, second.id, third.id, "gone"]
    assert quarantine.quarantine(workspace, asked, "copies", ids) == 2, "one was rejected already"
    [newest, *_] = store.versions.all(asked.id)
    assert (newest.number, newest.author, newest.questions) == (before + 1, "Ada", 2)
    held = quarantine.held_by(store.questions.all(asked.id), "copies")
    assert [q.id for q in held] == [first.id, third.id]
    assert {q.reason for q in held} == {"health: Copies the passage's words"}
    assert not quarantine.held_by(store.questions.all(asked.id), "stale")
    assert store.sets.get("asked").asked == 0
    store.questions.put(asked.id, [replace(held[0], answer="In 2021")], edit=Edit("Bea"))
    assert quarantine.release(workspace, asked, "stale") == 0
    assert quarantine.release(workspace, asked, "copies") == 2
    states = {q.id: (q.status, q.reason, q.answer) for q in store.questions.all(asked.id)}
    assert states[first.id] == ("accepted", "", "In 2021"), "what was edited meanwhile stays"
    assert states[second.id] == ("rejected", "dull", "noon")
    assert states[third.id][:2] == ("proposed", "")
    with pytest.raises(UsageError, match="There is no check 'copied'"):
        quarantine.quarantine(workspace, asked, "copied", ids)
    with pytest.raises(UsageError, match="never cut by its outcomes"):
        quarantine.quarantine(workspace, asked, "separates-nothing", ids)


def test_on_the_command_line(workspace_with_set, command_line, monkeypatch):
    code, out, err = command_line("questions", "health", "asked", "--quarantine", "duplicates")
    assert "1 question was put into quarantine by “Duplicate or nearly”" in err
    assert [q.id for q in workspace_with_set.store.questions.all(
        workspace_with_set.store.sets.get("asked").id) if q.status == "quarantined"] == ["again"]  # fmt: skip
    code, out, err = command_line("questions", "health", "asked", "--release", "duplicates", "--check", "duplicates")
    assert "released from" in err
    assert "the same words as" in out
    code, _, err = command_line("questions", "health", "asked", "--check", "spelling")
    assert (code, "choose one of copies" in err) == (2, True)


def test_a_closed_book_run_is_read(workspace_with_set):
    """What a model answered rightly with context "none", it knew; other runs of the set tell what was found."""
    workspace = workspace_with_set
    config = RunConfig(index="index", questions="asked", retriever="bm25", k=1, depth=3)
    running.run(workspace, "open", config)
    read = material.read_material(workspace, workspace.store.sets.get("asked"), workspace.store.indexes.get("index"))
    assert read.closed == {}
    assert list(read.outcomes) == ["open"]
    assert len(read.lexical) == 3
    assert read.subjects[0].gold
    asked, store = workspace.store.sets.get("asked"), workspace.store
    closed = replace(
        config, index=store.indexes.get("index").id, questions=asked.id, answerer="model", model="m", context="none"
    )
    run = store.runs.add("closed", asked.corpus_id, closed, "f", store.runs.get("open").provenance)
    first, second, third = store.questions.all(asked.id)
    nothing = Ranking((), ())
    store.rankings.put(run.id, [(n, q, Retrieved(q.id, nothing, ((),))) for n, q in enumerate((first, second, third))])
    verdicts = ((first, 1.0), (second, 0.0), (third, 1.0))
    store.judgements.put(
        run.id,
        [
            (
                EvaluatedAnswer(q, Recording(q.id, answer="An answer.", status="answered", origin="model")),
                [Score("equivalence", value)],
            )
            for q, value in verdicts
        ],
    )
    store.runs.set_status(run.id, "done")
    made = examination.examine(workspace, store.sets.get("asked"))
    assert [f.question_id for f in made.found["closed-book"].findings] == [first.id, third.id]
    assert made.found["closed-book"].note == "3 of 3 questions were asked without documents, by closed."
