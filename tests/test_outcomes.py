"""One vocabulary of being found: its rule, its words, counts that add up, causes that follow k, and the verdict."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragviz.analysis import diagnose, losses, outcomes
from ragviz.analysis.verdict import Answers, Measured, Verdict, answers_of, verdict
from ragviz.core.configuration import RunConfig
from ragviz.core.question import Question
from ragviz.core.ranking import Ranking, Retrieved
from ragviz.core.recording import Context, Recording
from ragviz.core.run_info import Run
from ragviz.core.span import Span
from ragviz.metrics import ranking
from ragviz.report import plots, rank_plots
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
    table = ranking.measure(ranking.read(results, DEPTH))
    counts = outcomes.count(ranking.ranks(table), k)
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
        contexts=(
            Context(chunk_id="a"),
            Context(chunk_id="b"),
            Context(chunk_id="c"),
        ),
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


# The verdict


def of(ranks: list[int], causes: list[str], k: int = 3, **more: object) -> Measured:
    found_at_k = [0 < rank <= k for rank in ranks]
    by_id = {str(place): cause for place, cause in enumerate(causes)}
    lost = losses.count(by_id, dict.fromkeys(by_id, "single" if ranks else "reference"))
    return Measured(k, np.array(ranks, dtype=int), intervals.estimate(found_at_k) if ranks else None, lost, **more)  # type: ignore[arg-type]


RANKING_LOST = of([1] * 60 + [7] * 12 + [15] * 3 + [0] * 5, ["fine"] * 60 + ["below_k"] * 15 + ["not_retrieved"] * 5)


def test_the_verdict_says_the_share_its_interval_the_greatest_loss_and_the_next_step():
    knn = verdict(RANKING_LOST, RunConfig("i", "s"))
    assert knn == Verdict(
        "3 in 4 questions (60 of 80) find their evidence in the first 3 chunks [0.65, 0.83]. Most of the loss is "
        "ranking (15 of 20 lost): try hybrid, or k = 7, which finds 12 of the 15 ranked below 3.",
        "below_k",
    )
    low, high = knn.sentence.split("[")[1].split("]")[0].split(", ")
    assert (low, high) == (f"{RANKING_LOST.found.low:.2f}", f"{RANKING_LOST.found.high:.2f}")


def test_the_verdict_never_advises_what_the_run_does_already():
    hybrid = verdict(RANKING_LOST, RunConfig("i", "s", retriever="hybrid")).sentence
    assert "try another embedder, or other chunks, or k = 7" in hybrid
    assert "try hybrid" not in hybrid
    bare = verdict(replace(RANKING_LOST, embedder=False), RunConfig("i", "s", retriever="bm25")).sentence
    assert "try hybrid, on an index with an embedder" in bare


def test_a_larger_k_is_advised_with_more_context_where_that_is_full_already():
    ranks, causes = [1] * 20 + [4] * 3 + [6, 9], ["fine"] * 18 + ["cut_by_budget"] * 2 + ["below_k"] * 5
    answers = Answers(3, 18, 25)
    full = verdict(of(ranks, causes, answers=answers), RunConfig("i", "s", context_tokens=800, answerer="extractive"))
    assert "or k = 4, which finds 3 of the 5 ranked below 3 (with more than 800 tokens of context" in full.sentence
    assert "context, which 2 questions exceed already)." in full.sentence
    elsewhere = verdict(of(ranks, causes, answers=replace(answers, k=5)), RunConfig("i", "s", answerer="extractive"))
    assert "which finds 3 of the 5 ranked below 3." in elsewhere.sentence, "other chunks than these were handed over"
    deep = of([1] * 20 + [101] * 5, ["fine"] * 20 + ["below_k"] * 5)
    assert "try hybrid." in verdict(deep, RunConfig("i", "s")).sentence


def test_one_cause_is_blamed_when_it_is_the_greatest_of_enough_losses():
    def blames(causes: str) -> str:
        of_letter = {"r": "below_k", "a": "not_answered", "f": "fine"}
        return losses.count(
            by_id := {str(n): of_letter[c] for n, c in enumerate(causes)}, dict.fromkeys(by_id, "single")
        ).blames

    assert [blames(each) for each in ("rrraaf", "rrraa", "rraa", "rrraaa", "f", "rrrrf")] == [
        "below_k",
        "below_k",
        "",
        "",
        "",
        "",
    ]


@pytest.mark.parametrize(
    ("measured", "sentence"),
    [
        (of([], []), ""),
        (
            of([1] * 30, ["fine"] * 30),
            "All 30 questions find their evidence in the first 3 chunks [0.89, 1.00]. "
            "Nothing is lost in retrieval at k = 3.",
        ),
        (
            of([1], ["fine"]),
            "The only question finds its evidence in the first 3 chunks [0.21, 1.00]. "
            "Nothing is lost in retrieval at k = 3.",
        ),
        (
            of([1] * 6 + [9, 0], ["fine"] * 6 + ["below_k", "not_retrieved"]),
            "6 of 8 questions find their evidence in the first 3 chunks [0.41, 0.93], an interval as wide as 8 "
            "questions make it. Only 2 questions are lost, too few to blame one stage: look at each.",
        ),
        (
            of([], ["fine"] * 5 + ["wrong"] * 6 + ["not_answered"] * 4, answers=Answers(3, 5, 15), claims=True),
            "5 of 15 questions are answered correctly. Most of the loss is incorrect answers (6 of 10 lost): look at "
            "the claims of these answers, or try a better model.",
        ),
        (of([], ["fine"] * 3, answers=Answers(3, 0, 3, 3)), "Its answers are not judged."),
    ],
    ids=["nothing", "none lost", "one", "few", "imported", "unjudged"],
)
def test_the_verdict_is_honest_with_few_questions_none_lost_and_imported_runs(measured, sentence):
    assert verdict(measured, RunConfig("i", "s", retriever="imported")).sentence == sentence


def test_equal_losses_are_both_named():
    both = of([1] * 20 + [9] * 4 + [0] * 4, ["fine"] * 20 + ["below_k"] * 4 + ["not_retrieved"] * 4)
    assert "The greatest losses are retrieval and ranking, 4 each of 8" in verdict(both, RunConfig("i", "s")).sentence


# 22 questions worked by hand: 19 with evidence, 2 unanswerable, 1 of which only the reference is known.

KINDS = ["single"] * 19 + ["unanswerable"] * 2 + ["reference"]
CAUSES_AT_3 = (
    ["fine"] * 10 + ["below_k"] * 4 + ["not_answered"] * 2 + ["wrong"] * 3 + ["fine", "wrong"] + ["wrong"]
)  # fmt: skip
RANKS = [1] * 10 + [7, 7, 9, 11] + [1] * 5
BY_ID = {f"q{place}": cause for place, cause in enumerate(CAUSES_AT_3)}
KIND_OF = {f"q{place}": kind for place, kind in enumerate(KINDS)}
RULINGS = {i: diagnose.Ruling(cause == "fine", "token_f1") for i, cause in BY_ID.items()}
EXTRACTIVE = RunConfig("i", "s", k=3, answerer="extractive")


def worked(k: int) -> Measured:
    run = a_run(k=3, answerer="extractive")
    ranked = [i for i, kind in KIND_OF.items() if kind == "single"]
    up_to_the_ranking = {i: outcomes_cause(rank, k) for i, rank in zip(ranked, RANKS, strict=True)}
    causes = BY_ID if k == 3 else up_to_the_ranking | dict.fromkeys(["q19", "q20"], "fine") | {"q21": ""}
    found_at_k = intervals.estimate([rank <= k for rank in RANKS])
    lost = judgements.losses_at(run, causes, KIND_OF, ranked, k)
    return Measured(k, np.array(RANKS), found_at_k, lost, answers_of(BY_ID, RULINGS, 3))


def outcomes_cause(rank: int, k: int) -> str:
    return "fine" if rank <= k else "below_k"


def test_the_greatest_loss_is_of_questions_with_evidence_and_the_others_are_said_apart():
    """Five answers are incorrect, but only three had evidence: ranking, which lost four, is blamed."""
    said = verdict(worked(3), EXTRACTIVE)
    assert said.cause == "below_k"
    assert said.sentence == (
        "15 of 19 questions find their evidence in the first 3 chunks [0.57, 0.91], an interval as wide as 19 "
        "questions make it; 11 of 22 are answered correctly. The greatest loss is ranking (4 of 9 lost with evidence): "
        "try hybrid, or k = 7, which finds 2 of the 4 ranked below 3. Without evidence: 1 "
        "unanswerable answered, 1 reference only answered incorrectly."
    )
    lost = worked(3).losses
    assert lost.blamed == {"below_k": 4, "wrong": 3, "not_answered": 2}
    assert lost.split("wrong") == "Of these 5, 3 have evidence, 1 is unanswerable, 1 is reference only."
    assert lost.split("below_k") == ""


def test_at_another_k_the_verdict_tells_of_retrieval_and_of_the_answers_at_their_own_k():
    assert verdict(worked(11), EXTRACTIVE) == Verdict(
        "All 19 questions find their evidence in the first 11 chunks [0.83, 1.00], an interval as wide as 19 questions "
        "make it. Nothing is lost in retrieval at k = 11. The answers were made at k = 3: 11 of 22 are correct."
    )
    at_2 = verdict(replace(worked(3), k=2, losses=worked(2).losses), EXTRACTIVE).sentence
    assert at_2.endswith("The answers were made at k = 3: 11 of 22 are correct.")
    only_answers = Measured(9, np.array([], dtype=int), None, losses.count({}, {}), Answers(3, 1, 4, 2))
    sentence = "The answers were made at k = 3: 1 of 4 are correct, 2 not judged."
    assert verdict(only_answers, EXTRACTIVE).sentence == sentence


def test_a_loss_of_answers_to_unanswerable_questions_alone_is_no_loss_of_a_stage():
    lost = losses.count({"a": "fine", "b": "wrong"}, {"a": "single", "b": "unanswerable"})
    measured = Measured(3, np.array([1]), intervals.estimate([True]), lost, Answers(3, 1, 2))
    assert verdict(measured, EXTRACTIVE).sentence.endswith(
        "No question with evidence was lost. Without evidence: 1 unanswerable answered."
    )
    assert lost.greatest == []


@pytest.mark.parametrize(
    ("claims", "config", "advice"),
    [
        (True, {"answerer": "model", "model": "m", "judge": "j"}, "look at the claims of these answers, or try a"),
        (
            False,
            {"answerer": "model", "model": "m"},
            "compare these answers with their evidence, or have a model judge",
        ),
        (False, {"answerer": "extractive"}, "compare these answers with their evidence, or connect a model."),
    ],
)
def test_the_verdict_advises_only_what_the_run_allows(claims, config, advice):
    wrong = of([1] * 12, ["fine"] * 6 + ["wrong"] * 6, answers=Answers(3, 6, 12), claims=claims)
    assert advice in verdict(wrong, RunConfig("i", "s", k=3, **config)).sentence


def test_the_next_step_of_an_incorrect_answer_is_of_its_kind_and_of_what_was_judged():
    run = a_run(k=3, answerer="extractive")
    unanswerable, reference, single = (
        judgements.meaning_of(run, "wrong", 3, of=kind) for kind in ("unanswerable", "reference", "single")
    )
    assert single.explanation == "The evidence was handed over and the answer is not right."
    assert single.next_step.startswith("Compare the answer with the evidence")
    assert "Abstaining would have been right" in unanswerable.next_step
    assert "handed over and" not in unanswerable.explanation + reference.explanation
    assert reference.next_step.startswith("Compare the answer with the reference")
    judged = judgements.meaning_of(run, "wrong", 3, claims=True, of="single")
    assert judged.next_step.startswith("Look at the claims")
    closed = a_run(k=3, answerer="model", context="none")
    assert "Compare with a run" in judgements.meaning_of(closed, "wrong", 3, claims=True, of="single").next_step
    assert "a run with answers at k = 11" in judgements.meaning_of(run, "fine", 11).next_step
    assert "a run that answers" in judgements.meaning_of(a_run(k=3), "fine", 11).next_step


def test_abstentions_add_up_with_the_causes():
    """Five abstained: q10 and q11 after their evidence was ranked below k, q14 and q15 from it, q19 rightly."""
    abstained = [(KIND_OF[i], BY_ID[i]) for i in ("q10", "q11", "q14", "q15", "q19")]
    assert losses.abstained_words(abstained) == (
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


# The pictures


def test_the_histogram_of_5000_questions_can_be_read():
    ranks = np.repeat(np.arange(1, 51), [3000, 700, 300, 120, 60, 40, *[8] * 44])
    figure = rank_plots.rank_histogram(rank_plots.Ranks("r", ranks, 428), depth=50, k=3)
    assert figure.layout.yaxis.type == "log"
    assert figure.layout.yaxis.range[0] < 0, "a bar of one question has a height"
    assert figure.data[0].text[0] == "3,000"
    few = rank_plots.rank_histogram(rank_plots.Ranks("r", ranks[::100], 4), depth=50, k=3)
    assert few.layout.yaxis.type != "log"


def test_a_bar_of_scores_holds_the_questions_of_its_range():
    values = np.array([0, 0.1, 0.3, 0.30000000000000004, 0.7, 0.95, 1.0])
    bars = plots.score_histogram(values, title="Completeness").data[0]
    for (tenth,), count in zip(bars.customdata, bars.y, strict=True):
        low, high = tenth / 10, (tenth + 1) / 10
        assert count == sum(low <= value and (value < high or high == 1) for value in values.tolist())
