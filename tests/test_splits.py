"""Splits into validation and test: of questions, of a set in the store, on the command line."""

import json
from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragviz.core.document import Span
from ragviz.core.question import SIDES, Question, Split
from ragviz.questions import exchange, splits
from tests.builders import added

SHARES = st.floats(0.1, 0.9)


def question(name: str, *documents: str, answer: str = "Because.") -> Question:
    """A question that needs a passage of each of the documents."""
    return Question(name, "Why?", answer, tuple((Span(each, 0, 4, "Text"),) for each in documents), "hand")


@st.composite
def sets(draw, most_documents: int = 3):
    evidence = st.lists(st.sampled_from("abcdefgh"), max_size=most_documents)
    rows = draw(st.lists(st.tuples(evidence, st.booleans()), min_size=2, max_size=60))
    return [
        question(f"q{number}", *documents, answer="Because." if answered else "")
        for number, (documents, answered) in enumerate(rows)
    ]


def within_one(taken: int, total: int, share: float) -> bool:
    return abs(taken - share * total) < 1 + 1e-9


@given(sets(), SHARES, st.integers(0, 99), st.randoms())
def test_stratified_divides_every_kind_and_each_documents_questions_of_a_kind_in_proportion(
    questions, share, seed, random
):
    sides = splits.stratified(questions, share, seed)
    assert sides.keys() == {q.id for q in questions}
    assert set(sides.values()) <= set(SIDES)
    for block in (lambda q: "", lambda q: q.kind, lambda q: (q.kind, tuple(sorted(splits.documents_of(q))))):
        totals = Counter(map(block, questions))
        taken = Counter(block(q) for q in questions if sides[q.id] == "validation")
        assert all(within_one(taken[key], totals[key], share) for key in totals)
    shuffled = random.sample(questions, len(questions))
    assert splits.stratified(shuffled, share, seed) == sides


@given(sets(), SHARES, st.integers(0, 99), st.randoms())
def test_grouped_leaves_no_document_on_both_sides(questions, share, seed, random):
    sides = splits.grouped(questions, share, seed)
    assert sides.keys() == {q.id for q in questions}
    divided = [replace(q, split=sides[q.id]) for q in questions]
    assert splits.on_both(divided) == set()
    shuffled = random.sample(questions, len(questions))
    assert splits.grouped(shuffled, share, seed) == sides
    for kind in ("reference", "unanswerable"):
        of_kind = [q for q in questions if q.kind == kind]
        assert within_one(sum(sides[q.id] == "validation" for q in of_kind), len(of_kind), share)


@given(sets(), SHARES, st.integers(0, 99))
def test_grouped_is_as_far_from_the_share_as_its_greatest_group_at_most(questions, share, seed):
    ranked = [q for q in questions if q.evidence]
    sides, groups = splits.grouped(ranked, share, seed), Counter(splits.joined(ranked).values())
    taken = sum(side == "validation" for side in sides.values())
    assert abs(taken - share * len(ranked)) <= max(groups.values(), default=0)
    if len(groups) > 1:
        assert set(sides.values()) == set(SIDES)


@pytest.mark.parametrize("seed", range(5))
def test_worked_by_hand(seed):
    """Four documents: a and b joined by one question (3 + 2 + 1 = 6), c with 4, d with 2, and two without evidence."""
    questions = [question(f"a{n}", "a") for n in range(3)] + [question(f"b{n}", "b") for n in range(2)]
    questions += [question("ab", "a", "b"), *(question(f"c{n}", "c") for n in range(4))]
    questions += [question("d0", "d"), question("d1", "d")]
    questions += [question("u0", answer=""), question("u1", answer="")]
    grouped = splits.grouped(questions, 0.5, seed)
    # 12 with evidence, 6 for each side: the six of a and b on one, then c and d on the other.
    of_ab = {grouped[i] for i in ("a0", "a1", "a2", "b0", "b1", "ab")}
    of_cd = {grouped[i] for i in ("c0", "c1", "c2", "c3", "d0", "d1")}
    assert len(of_ab) == len(of_cd) == 1
    assert of_ab != of_cd
    assert {grouped["u0"], grouped["u1"]} == set(SIDES)
    stratified = splits.stratified(questions, 0.5, seed)
    counts = {name: sum(stratified[q.id] == "validation" for q in questions if q.id.startswith(name)) for name in "cdu"}
    assert counts == {"c": 2, "d": 1, "u": 1}


@pytest.fixture
def ragviz(workspace, command_line, monkeypatch):
    """The command line, on a corpus of four documents of three questions each, and one that nothing answers."""
    text = "Pump {} was replaced in May. It moves 40 litres. Its keeper is Ada."
    corpus = added(workspace, "notes", {f"{name}.txt": text.format(name) for name in "abcd"})
    rows = [
        {
            "question": f"{quote}, {name}?",
            "answer": quote,
            "document": f"{name}.txt",
            "quote": quote,
            "id": f"{name}{n}",
        }
        for name in "abcd"
        for n, quote in enumerate(("in May", "40 litres", "Ada"))
    ]
    data = "\n".join(
        json.dumps(row) for row in [*rows, {"question": "Who paid?", "answer": "", "id": "u", "unanswerable": True}]
    ).encode()
    exchange.import_data(workspace, corpus, data, "q.jsonl", "asked")
    return command_line


def said(text: str) -> str:
    return " ".join(text.split())


@pytest.mark.parametrize("file_format", ["csv", "jsonl"])
def test_sides_go_out_and_come_in_with_the_questions(ragviz, workspace, tmp_path, file_format):
    ragviz("questions", "split", "asked", "--kind", "grouped", "--seed", "5")
    file = tmp_path / f"q.{file_format}"
    ragviz("questions", "export", "asked", file)
    before = workspace.store.questions.all(workspace.store.sets.get("asked").id)
    code, _, err = ragviz("questions", "import", "notes", file, "--name", "again")
    again = workspace.store.sets.get("again")
    assert (code, again.split) == (0, Split("imported"))
    assert workspace.store.questions.all(again.id) == before
    assert "split" not in err
    # A set that has a split keeps it: the same file changes nothing, one with other sides neither, and that is said.
    _, _, err = ragviz("questions", "import", "notes", file, "--name", "asked")
    assert "split" not in err
    words = file.read_text(encoding="utf-8-sig").replace("validation", "test")
    file.write_text(words, encoding="utf-8")
    _, _, err = ragviz("questions", "import", "notes", file, "--name", "asked")
    assert "The sides of the split were not kept: 'asked' has a split already." in said(err)
    assert workspace.store.questions.all(workspace.store.sets.get("asked").id) == before


@pytest.fixture
def divided(ragviz):
    """The same, split by documents, with an index of words."""
    ragviz("index", "build", "notes", "--name", "small", "--embedder", "none", "--chunk-size", "20")
    ragviz("questions", "split", "asked", "--kind", "grouped", "--seed", "1")
    return ragviz


def test_a_run_asks_one_side_and_says_so(divided, workspace):
    run = ("run", "--index", "small", "--questions", "asked", "--name")
    for name, side in (("v", "validation"), ("v2", "validation"), ("t", "test"), ("all", "all")):
        assert divided(*run, name, *(("--split", side) if side != "all" else ()))[0] == 0
    store = workspace.store
    asked = {q.id: q for q in store.questions.all(store.sets.get("asked").id)}
    expected = [i for i, q in asked.items() if q.split == "validation"]
    made = store.runs.get("v")
    assert [q.id for q in store.rankings.questions(made.id)] == expected
    assert made.provenance["split"] == {"side": "validation", "of": 13, "kind": "grouped", "share": 0.5, "seed": 1}
    assert {q.id for q in store.rankings.questions(store.runs.get("t").id)} == asked.keys() - set(expected)
    words = f"validation: {len(expected)} of 13 questions"
    for name, told in (("v", (words, "validation")), ("all", ("13 questions", None))):
        body = json.loads(divided("results", name, "--json")[1])
        assert (body["asked"], (body["split"] or {}).get("side")) == told
    compared = json.loads(divided("compare", "all", "v", "--json")[1])
    assert (compared["asked"], "The runs ask different sides of a split" in compared["notes"][0]) == ("", True)
    assert not any("differ in questions" in note for note in compared["notes"])
    code, _, err = divided("compare", "t", "v")
    assert (code, "they ask different sides of a split: t asked test" in said(err)) == (2, True)
    assert f"All runs asked {words}." in said(divided("compare", "v", "v2")[1])
