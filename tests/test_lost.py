"""Where questions are lost: one hand-made case per cause, what counts as right; counts that add up, the verdict."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragviz.analysis import diagnose, outcomes, run_verdict
from ragviz.analysis.diagnose import Ruling, attribute_failures, cause, is_right
from ragviz.analysis.run_verdict import Measured, answers_of, verdict
from ragviz.core.configuration import IndexConfig, Run, RunConfig
from ragviz.core.document import Chunk, Span
from ragviz.core.question import Question
from ragviz.core.ranking import Ranking, Retrieved
from ragviz.core.recording import Context, Recording
from ragviz.documents import corpora
from ragviz.index import indexing
from ragviz.metrics import rank_metrics
from ragviz.questions import staleness
from ragviz.report import run_report
from ragviz.retrieval.gold import gold_chunks
from ragviz.runs import judgements, running
from ragviz.stats import intervals
from tests.builders import added, asking
from tests.test_formats_in import lines
from tests.test_ingest import zipped

A, B = "a" * 16, "b" * 16
K = 2


# Both documents are cut every hundred characters.
A0, A1, A2, A3 = (Chunk.make_id(A, start, start + 100) for start in (0, 100, 200, 300))
B0, B1, B2 = (Chunk.make_id(B, start, start + 100) for start in (0, 100, 200))
CUTS = {
    A: [(A0, 0, 100), (A1, 100, 200), (A2, 200, 300), (A3, 300, 400)],
    B: [(B0, 0, 100), (B1, 100, 200), (B2, 200, 300)],
}


def question(*groups, answer="May 1974", language="en"):
    return Question("q", "When was it opened?", answer, groups, "hand", "accepted", language=language)


def retrieved(item, *ids):
    gold = gold_chunks(item.evidence, lambda document: CUTS.get(document, []))
    return Retrieved("q", Ranking(ids, tuple(1.0 - i / 10 for i in range(len(ids)))), gold)


def answered(*context, text="In May 1974 [1].", status="answered", cut=()):
    return Recording(
        "q",
        answer=text,
        status=status,
        origin="extractive",
        contexts=tuple(Context(chunk_id=each) for each in context),
        cut=cut,
    )


CLOSED = RunConfig("i", "s", context="none").knows
INSIDE = (Span(A, 120, 180),)
ACROSS = (Span(A, 160, 240),)
ELSEWHERE = (Span(B, 10, 50),)
OUTSIDE = (Span("c" * 16, 0, 40),)


def find(item, ids, answer=None, right=None, **more):
    return cause(item, retrieved(item, *ids), K, answer, Ruling(right), **more)


# One case per cause


def test_evidence_that_was_handed_over_without_an_answer_was_not_answered():
    for silent in (
        answered(A1, text="The passages do not tell.", status="refused"),
        answered(A1, text=" "),
        answered(A1, text="", status="failed"),
    ):
        assert find(question(INSIDE), [A1], silent, None) == "not_answered"
        assert find(question(INSIDE), [A1], silent, False) == "not_answered"


def test_a_right_answer_is_fine_whatever_was_missed():
    assert find(question(INSIDE), [A1], answered(A1), True) == "fine"
    for evidence in (OUTSIDE, ACROSS, ELSEWHERE):
        assert find(question(INSIDE, evidence), [A1, A0], answered(A1, A0), True) == "fine"


def test_an_unanswerable_question_should_be_refused():
    unanswerable = question(answer="")
    assert find(unanswerable, [A1], answered(A1, text="…", status="refused"), True) == "fine"
    assert find(unanswerable, [A1], answered(A1), False) == "wrong"
    assert find(unanswerable, [A1], answered(A1), True) == "wrong"
    assert find(unanswerable, [A1], answered(A1, text="", status="failed"), None) == "not_answered"
    assert find(unanswerable, [A1]) == "fine"


# Which comes first


def test_the_earliest_stage_of_any_group_is_the_cause():
    lost = {
        "not_parsed": OUTSIDE,
        "not_retrieved": (Span(B, 110, 150),),
        "below_k": (Span(B, 210, 250),),
        "split": ACROSS,
        "cut_by_budget": ELSEWHERE,
    }
    ids, answer = [A2, B0, B2], answered(A2, cut=(B0,))
    names = list(lost)
    for first, name in enumerate(names):
        groups = [lost[other] for other in reversed(names[first:])]
        assert find(question((Span(A, 210, 220),), *groups), ids, answer, False) == name
        assert find(question(*groups), ids, answer, None) == name


def test_a_cause_of_the_evidence_comes_before_a_refusal():
    refused = answered(A0, A2, text="The passages do not tell.", status="refused")
    assert find(question(INSIDE), [A0, A2, A1], refused, False) == "below_k"


def test_any_member_of_a_group_is_enough():
    assert find(question((*OUTSIDE, *INSIDE)), [A1], answered(A1), False) == "wrong"
    assert find(question((*ACROSS, *ELSEWHERE)), [A1, B0], answered(A1, B0), False) == "wrong"
    assert find(question((*ACROSS, *ELSEWHERE)), [A1, A0, B0], answered(A1, A0), False) == "split"
    assert find(question((*ACROSS, Span(B, 110, 150))), [A1, A0], answered(A1, A0), False) == "split"
    stale = replace(INSIDE[0], stale=True)
    assert find(question((*ACROSS, stale)), [A1, A0], answered(A1, A0), False) == "split"


def test_one_character_more_than_the_chunk_is_split():
    assert find(question((Span(A, 120, 200),)), [A1], answered(A1), False) == "wrong"
    assert find(question((Span(A, 120, 201),)), [A1], answered(A1), False) == "split"
    assert find(question((Span(A, 99, 180),)), [A1], answered(A1), False) == "split"


def test_a_closed_book_only_answers():
    assert find(question(OUTSIDE), [], answered(), False, knows=CLOSED) == "wrong"
    assert find(question(INSIDE), [], answered(status="refused"), False, knows=CLOSED) == "not_answered"
    assert find(question(INSIDE), [], answered(), True, knows=CLOSED) == "fine"


# Right or wrong


@pytest.mark.parametrize(
    ("scores", "expected"),
    [
        ({"equivalence": 1.0, "factual_recall": 0.0, "token_f1": 0.0}, Ruling(True, "equivalence")),
        ({"equivalence": 0.5, "factual_recall": 1.0, "token_f1": 1.0}, Ruling(False, "equivalence")),
        ({"equivalence": 0.0}, Ruling(False, "equivalence")),
        ({"factual_recall": 0.5, "completeness": 0.0}, Ruling(True, "factual_recall")),
        ({"factual_recall": 0.49, "token_f1": 1.0}, Ruling(False, "factual_recall")),
        ({"completeness": 0.6}, Ruling(True, "completeness")),
        ({"completeness_direct": 0.4, "token_f1": 1.0}, Ruling(False, "completeness_direct")),
        ({"extractive_questeval_recall": 0.5, "token_f1": 0.1}, Ruling(True, "extractive_questeval_recall")),
        ({"extractive_questeval_recall": 0.4, "token_f1": 0.5}, Ruling(True, "token_f1")),
        ({"token_f1": 0.1}, Ruling(True, "reference_in_answer")),
        ({"rouge_l": 0.9}, Ruling(True, "reference_in_answer")),
    ],
)
def test_the_most_reliable_score_decides_what_is_right(scores, expected):
    assert is_right(question(INSIDE), answered(A1), scores) == expected


@pytest.mark.parametrize(
    ("reference", "said"),
    [
        ("The harbour fee is 35 euros.", "The harbour fee is 3.5 euros."),
        ("The harbour fee is 3.5 euros.", "The harbour fee is not 3.5 euros."),
        ("It opened in May 1974.", "It opened in May 1947."),
        ("港口费为35欧元。", "港口费为3.5欧元。"),
        ("周日开放。", "周日不开放。"),
    ],
)
def test_without_a_judge_another_number_or_a_denial_is_not_right(reference, said):
    asked = question(INSIDE, answer=reference)
    assert is_right(asked, answered(A1, text=said), {"token_f1": 0.9}) == Ruling(None)
    assert is_right(asked, answered(A1, text=f"{reference} [1]"), {"token_f1": 0.9}) == Ruling(True, "token_f1")
    assert is_right(asked, answered(A1, text=said), {"equivalence": 1.0}).right is True


# A whole run


def test_where_a_run_lost_its_questions():
    by_name = {
        "right": question(INSIDE),
        "wrong": question(INSIDE),
        "unjudged": question(INSIDE),
        "missed": question(ELSEWHERE),
        "cut": question(INSIDE),
        "unanswered": question(INSIDE),
        "中文": question(ACROSS, language="zh"),
    }
    questions = [replace(q, id=name) for name, q in by_name.items()]
    rankings = {"missed": [A0, A1], "中文": [A1, A0]}
    results = [replace(retrieved(q, *rankings.get(q.id, [A1])), question_id=q.id) for q in questions]
    answers = {q.id: replace(answered(A1), question_id=q.id) for q in questions if q.id != "unanswered"}
    answers["cut"] = replace(answers["cut"], cut=(A1,))
    rulings = {name: Ruling(False, "equivalence") for name in by_name} | {
        "right": Ruling(True, "equivalence"),
        "unjudged": Ruling(None, "judge_failed"),
    }
    gone = Retrieved("gone", Ranking((), ()), ())
    causes = attribute_failures(questions, [*results, gone], K, answers, rulings)
    assert list(causes.items()) == [
        ("right", "fine"),
        ("wrong", "wrong"),
        ("unjudged", "not_judged"),
        ("missed", "not_retrieved"),
        ("cut", "cut_by_budget"),
        ("unanswered", "fine"),
        ("中文", "split"),
    ]
    assert attribute_failures(questions, results, K) == {
        name: {"missed": "not_retrieved", "中文": "split"}.get(name, "fine") for name in by_name
    }
    closed = attribute_failures(questions, results, K, answers, rulings, knows=CLOSED)
    assert closed["missed"] == "wrong"


def test_the_worst_question_first_by_hand():
    """Lost ones by stage, a missing score worst of all; then one without a cause; then the right ones."""
    by_hand = [  # id, cause, score, rank
        ("missed", "not_retrieved", 0.9, 0),
        ("deepest", "below_k", None, 40),
        ("deep", "below_k", None, 4),
        ("deep, scored", "below_k", 0.0, 50),
        ("refused", "not_answered", None, 1),
        ("wrong, 0.1", "wrong", 0.1, 1),
        ("wrong, 0.4, rank 3", "wrong", 0.4, 3),
        ("wrong, 0.4, rank 1", "wrong", 0.4, 1),
        ("no verdict", "not_judged", None, 2),
        ("reference only", "", 0.0, None),
        ("right, 0.5", "fine", 0.5, 2),
        ("right, 1", "fine", 1.0, 30),
        ("rightly refused", "fine", None, None),
    ]
    expected = [name for name, *_ in by_hand]
    causes, scores, ranks = ({row[0]: row[place] for row in by_hand} for place in (1, 2, 3))
    assert diagnose.worst_first(sorted(expected), causes, scores, ranks) == expected
    errors = {name: None if score is None else 1 - score for name, score in scores.items()}
    assert diagnose.worst_first(expected[::-1], causes, errors, ranks, higher_is_better=False) == expected
    assert diagnose.worst_first(["b", "a"], {}, {}, {}) == ["b", "a"], "what is equal keeps its order"


DEPTH = 6
CHUNKS = "abcdef"


def asked(name: str, *groups: str) -> Question:
    evidence = tuple((Span("d", 10 * i, 10 * i + 5, "words"),) for i in range(len(groups)))
    return Question(name, "When?", "In May.", evidence, "hand", "accepted")


def found(name: str, ranked: str, *groups: str) -> Retrieved:
    return Retrieved(
        name, Ranking(tuple(ranked), tuple(1 - i / 10 for i in range(len(ranked)))), tuple(map(tuple, groups))
    )


@given(
    st.lists(
        st.tuples(
            st.permutations(CHUNKS + "xyz"), st.lists(st.sampled_from([*"abcdefg", "ab", ""]), min_size=1, max_size=3)
        ),
        min_size=1,
        max_size=12,
    ),
    st.integers(1, DEPTH),
)
def test_the_causes_of_loss_are_the_outcomes_of_the_ranking_at_every_k(drawn, k):
    """Two independent computations agree: outcomes by arrays of ranks, causes question by question from the chunks."""
    results = [found(f"q{i}", "".join(ids[:DEPTH]), *groups) for i, (ids, groups) in enumerate(drawn)]
    questions = [asked(f"q{i}", *groups) for i, (_, groups) in enumerate(drawn)]
    table = rank_metrics.measure(rank_metrics.read(results, DEPTH))
    counts = outcomes.count(rank_metrics.ranks(table), k)
    causes = list(diagnose.attribute_failures(questions, results, k).values())
    assert counts.total == len(results)
    assert counts.missed == causes.count("not_parsed") + causes.count("not_retrieved")
    assert counts.below == causes.count("below_k")
    assert counts.found == causes.count("fine") + causes.count("split")


def a_run(**config: object) -> Run:
    return Run("r", "c", "run", RunConfig("i", "s", **config), "f", {}, "done", 0.0, 0.0)  # type: ignore[arg-type]


def test_causes_follow_k_and_answers_are_told_of_at_their_own_k_only():
    questions = [asked("one", "a"), asked("two", "d")]
    results = [found("one", "abcd", "a"), found("two", "abcd", "d")]
    own = {"one": "wrong", "two": "below_k"}
    answering = a_run(k=3, answerer="extractive")
    at = {k: judgements.causes_at(answering, own, questions, results, k) for k in (1, 3, 4)}
    assert at == {1: {"one": "fine", "two": "below_k"}, 3: own, 4: {"one": "fine", "two": "fine"}}
    assert [judgements.answered_at(answering, k) for k in (1, 3)] == [False, True]
    closed = a_run(k=3, answerer="extractive", context="none")
    assert judgements.causes_at(closed, own, questions, results, 1) is own
    assert judgements.answered_at(closed, 1)
    assert diagnose.about("fine", k=4, depth=50, answered=False).title == "Found at 4, not split"
    assert diagnose.about("fine", k=4, depth=50).title == "Correct"
    titles = [step.title for step in diagnose.waterfall(["below_k"], k=4, depth=50)]
    assert titles[2:4] == ["Not in top 50", "Ranked below 4"]


def of(ranks: list[int], causes: list[str], k: int = 3, **more: object) -> Measured:
    found_at_k = [0 < rank <= k for rank in ranks]
    by_id = {str(place): cause for place, cause in enumerate(causes)}
    lost = run_verdict.count(by_id, dict.fromkeys(by_id, "single" if ranks else "reference"))
    return Measured(k, np.array(ranks, dtype=int), intervals.estimate(found_at_k) if ranks else None, lost, **more)  # type: ignore[arg-type]


RANKING_LOST = of([1] * 60 + [7] * 12 + [15] * 3 + [0] * 5, ["fine"] * 60 + ["below_k"] * 15 + ["not_retrieved"] * 5)


def test_the_verdict_says_the_share_its_interval_and_the_greatest_loss():
    knn = verdict(RANKING_LOST, RunConfig("i", "s"))
    assert knn == (
        "3 in 4 questions (60 of 80) find their evidence in the first 3 chunks [0.65, 0.83]. Most of the loss is "
        "ranking (15 of 20 lost)."
    )
    split = of([1] * 37 + [7] * 18 + [0] * 3, ["fine"] * 25 + ["split"] * 12 + ["below_k"] * 18 + ["not_retrieved"] * 3)
    said = verdict(split, RunConfig("i", "s"))
    assert "12 of them in parts only, which count as lost" in said
    assert "(18 of 33 lost)" in said, "58 less the 37 found, and the 12"
    low, high = knn.split("[")[1].split("]")[0].split(", ")
    assert (low, high) == (f"{RANKING_LOST.found.low:.2f}", f"{RANKING_LOST.found.high:.2f}")


# 22 questions worked by hand: 19 with evidence, 2 unanswerable, 1 of which only the reference is known.
KINDS = ["single"] * 19 + ["unanswerable"] * 2 + ["reference"]
CAUSES_AT_3 = (
    ["fine"] * 10 + ["below_k"] * 4 + ["not_answered"] * 2 + ["wrong"] * 3 + ["fine", "wrong"] + ["wrong"]
)  # fmt: skip
RANKS = [1] * 10 + [7, 7, 9, 11] + [1] * 5
BY_ID = {f"q{place}": cause for place, cause in enumerate(CAUSES_AT_3)}
KIND_OF = {f"q{place}": kind for place, kind in enumerate(KINDS)}


def test_what_is_lost_and_what_is_right_are_all_questions():
    """11 of 22 are right, so 11 are lost, those without evidence among them."""
    found = intervals.estimate([rank <= 3 for rank in RANKS])
    lost = run_verdict.count(BY_ID, KIND_OF)
    measured = Measured(3, np.array(RANKS), found, lost, answers_of(BY_ID, 3))
    said = verdict(measured, RunConfig("i", "s", answerer="extractive"))
    assert "11 of 22 are answered correctly" in said
    assert "ranking (4 of 11 lost)" in said


def test_the_waterfall_at_another_k_ends_with_the_ranking_of_the_ranked_questions():
    run, ranked = a_run(k=3, depth=50, answerer="extractive"), [f"q{place}" for place in range(19)]
    own, wide = (SimpleNamespace(k=k, question_ids=ranked) for k in (3, 11))
    own = judgements.AtK(run, own, None, BY_ID, {}).steps
    assert [(s.title, s.count) for s in own if s.count] == [
        ("Questions", 22), ("Ranked below 3", 4), ("Abstained", 2), ("Incorrect answer", 5), ("Correct", 11),
    ]  # fmt: skip
    causes = dict.fromkeys(ranked, "fine") | {"q19": "fine", "q20": "fine", "q21": ""}
    steps = judgements.AtK(run, wide, None, causes, {}).steps
    assert [(s.title, s.count) for s in steps if s.count] == [("Questions", 19), ("Found at 11, not split", 19)]
    assert judgements.made_at(run, 11) == "Answers made at k = 3"
    assert judgements.made_at(run, 3) == judgements.made_at(a_run(k=3), 11) == ""


RULES = [f"Rule {n} of the {name} office holds on day {n}." for n, name in enumerate(["north", "south", "east"], 20)]


def test_a_run_on_an_index_behind_its_documents_says_so(workspace, command_line, monkeypatch):
    store = workspace.store
    corpus = added(workspace, "rules", dict.fromkeys(("one.md", "two.md"), "\n\n".join(RULES)))
    question_set = asking(workspace, corpus, [("one.md", rule, rule, "day") for rule in RULES for _ in range(2)])
    config = IndexConfig(embedder="", chunk_size=30, chunker="sentences")
    indexing.build_index(workspace, corpus, "index", config)
    with staleness.refreshing(workspace, corpus):
        corpora.add_file(workspace, corpus, "one.md", "\n\n".join(["Preface.", *RULES]).encode(), replace=True)
    choice = RunConfig(store.indexes.get("index").id, question_set.id, "bm25", k=2)
    behind = running.run(workspace, "behind", choice)
    assert set(judgements.judgement_of(workspace, behind).causes.values()) == {"not_parsed"}
    assert "Not in the index" in command_line("inspect", "behind", "q0")[1]
    page = run_report.report(workspace, behind).decode()
    assert "parsing, or an index behind its documents" in page
    assert "update the index and make the run again" in page
    indexing.build_index(workspace, corpus, "index", config)
    now = running.run(workspace, "now", choice)
    assert set(judgements.judgement_of(workspace, now).causes.values()) == {"fine"}


def test_a_judged_document_is_not_lost_by_chunking(workspace, command_line, monkeypatch, tmp_path):
    """BEIR: each document is two chunks long; that one of them is found is all that its judgement asks for."""
    filler = "This part tells of other matters, at some length and in other words."
    entries = [
        {"_id": f"d{n}", "title": f"Office {name}", "text": f"The {name} office opens at {n}. {filler}"}
        for n, name in enumerate(["northern", "southern", "eastern", "western", "upper", "lower"], 7)
    ]
    queries = [{"_id": f"q{e['_id']}", "text": e["text"].partition(".")[0]} for e in entries]
    rows = ["query-id\tcorpus-id\tscore", *(f"q{e['_id']}\t{e['_id']}\t1" for e in entries)]
    members = {"corpus.jsonl": lines(entries), "queries.jsonl": lines(queries), "qrels/test.tsv": "\n".join(rows)}
    (tmp_path / "beir.zip").write_bytes(zipped(members))
    code, _, err = command_line("questions", "import", "beir", tmp_path / "beir.zip", "--name", "judged")
    assert code == 0, err
    store = workspace.store
    corpus, question_set = store.corpora.get("beir"), store.sets.get("judged")
    indexing.build_index(workspace, corpus, "index", IndexConfig(embedder="", chunk_size=16, chunker="sentences"))
    cuts = store.indexes.cuts(store.indexes.get("index").build, store.indexes.get("index").documents)
    assert {len(of) for of in cuts.values()} == {2}, "each document is two chunks"
    run = running.run(workspace, "run", RunConfig(store.indexes.get("index").id, question_set.id, "bm25", k=1))
    assert set(judgements.judgement_of(workspace, run).causes.values()) == {"fine"}
