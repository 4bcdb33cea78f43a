"""One vocabulary of being found: its rule, its words, counts that add up, causes that follow k, and the verdict."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ragviz.analysis import diagnose, outcomes, run_verdict
from ragviz.analysis.run_verdict import Measured, answers_of, verdict
from ragviz.core.configuration import Run, RunConfig
from ragviz.core.document import Span
from ragviz.core.question import Question
from ragviz.core.ranking import Ranking, Retrieved
from ragviz.core.recording import Context, Recording
from ragviz.metrics import rank_metrics
from ragviz.runs import judgements
from ragviz.stats import intervals

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
    answer = Recording(
        "one",
        answer="Never.",
        status="answered",
        origin="m",
        contexts=tuple(Context(chunk_id=each) for each in "abc"),
    )
    own = {"one": "wrong", "two": "below_k"}
    assert answer.answer
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


def test_abstentions_add_up_with_the_causes():
    """Five abstained: q10 and q11 after their evidence was ranked below k, q14 and q15 from it, q19 rightly."""
    abstained = [(KIND_OF[i], BY_ID[i]) for i in ("q10", "q11", "q14", "q15", "q19")]
    assert run_verdict.abstained_words(abstained) == (
        "5 abstained: 1 rightly (unanswerable), 2 already lost in ranking, 2 with the evidence in the context"
    )


def test_the_waterfall_at_another_k_ends_with_the_ranking_of_the_ranked_questions():
    run, ranked = a_run(k=3, depth=50, answerer="extractive"), [f"q{place}" for place in range(19)]
    own = judgements.lost_steps(run, BY_ID, ranked, 3)
    assert [(s.title, s.count) for s in own if s.count] == [
        ("Questions", 22), ("Ranked below 3", 4), ("Abstained", 2), ("Incorrect answer", 5), ("Correct", 11),
    ]  # fmt: skip
    causes = dict.fromkeys(ranked, "fine") | {"q19": "fine", "q20": "fine", "q21": ""}
    steps = judgements.lost_steps(run, causes, ranked, 11)
    assert [(s.title, s.count) for s in steps if s.count] == [("Questions", 19), ("Found at 11, not split", 19)]
    assert judgements.made_at(run, 11) == "Answers made at k = 3"
    assert judgements.made_at(run, 3) == judgements.made_at(a_run(k=3), 11) == ""
