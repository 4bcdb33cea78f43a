"""What an experiment says under its rule, by hand; leaderboards: order, brackets, ties broken, fronts."""

import json
from dataclasses import asdict, replace
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragviz.analysis import leaderboards
from ragviz.analysis.compare import Delta, Pair
from ragviz.analysis.leaderboards import leaderboard
from ragviz.analysis.ties import Choice, Price, brackets, broken, standings
from ragviz.core.configuration import IndexConfig, RunConfig
from ragviz.core.errors import UsageError
from ragviz.core.experiment import Cell, Confirmation, Experiment, ExperimentRule, Guardrail
from ragviz.experiments.conclusion import conclude
from ragviz.stats.differences import Difference
from tests.test_compare import compare, side

POOR = [1] * 15 + [0] * 45
GOOD = [1] * 45 + [0] * 15
"""Ranks of 60 questions on one document: 30 more are found."""


def experiment(*names, guardrails=(), effect=0.05, states=()):
    cells = tuple(
        Cell(name, IndexConfig(), RunConfig("", "q"), state=state)
        for name, state in zip(names, states or ["done"] * len(names), strict=True)
    )
    rule = ExperimentRule("recall@3", effect, names[0], tuple(guardrails))
    return Experiment("e", "c", "chunks", "q", "validation", rule, cells, {}, 0.0, 1.0)


def compared(ranks, **more):
    return compare([side(*each) for each in ranks.items()], primary="recall@3", minimum_effect=0.05, **more)


def concluded(ranks, *, prices=None, refusals=None, test=False, **declared):
    """The conclusion over cells by name → ranks, the first the baseline."""
    comparison = compared(ranks)
    declared = experiment(*ranks, **declared)
    return conclude(declared, comparison, prices or {}, refusals or {}, test=test)


def test_what_beats_the_baseline_is_shipped_with_its_interval():
    conclusion = concluded({"knn": POOR, "hybrid": GOOD})
    assert (conclusion.decision, conclusion.chosen, conclusion.final) == ("ship", "hybrid", True)
    assert conclusion.sentence.startswith("Ship hybrid: hybrid beats knn on Recall@3: +0.50 [+0.")
    assert conclusion.deltas["hybrid"].difference.mean == pytest.approx(0.5)
    assert conclusion.same_questions
    assert not concluded({"knn": POOR, "hybrid": GOOD}, test=True).same_questions


def test_a_verdict_between_retrievers_names_what_a_set_made_without_a_model_does_not_tell():
    ranks, made = {"knn": POOR, "hybrid": GOOD}, {f"q{n}": "extractive" for n in range(45)}
    comparison = compared(ranks, generators=made)
    declared = experiment(*ranks)
    limit = "; but 45 of the 60 questions were made of the documents' own words, which does not tell whether a lexical"
    assert limit not in conclude(declared, comparison, {}, {}).sentence, "both cells retrieve alike"
    first, second = declared.cells
    other = replace(declared, cells=(first, replace(second, run=replace(second.run, retriever="hybrid"))))
    assert limit in conclude(other, comparison, {}, {}).sentence


def test_gold_chunks_are_an_upper_bound_and_never_shipped():
    """The cell that answers from the gold chunks is better; the baseline may be one, to compare with."""
    ranks = {"knn": POOR, "oracle": GOOD}
    comparison = compared(ranks)
    declared = experiment(*ranks)
    first, second = declared.cells
    oracle = replace(declared, cells=(first, replace(second, run=replace(second.run, context="oracle"))))
    assert conclude(declared, comparison, {}, {}).chosen == "oracle"
    conclusion = conclude(oracle, comparison, {}, {})
    assert (conclusion.decision, conclusion.chosen) == ("do not ship", "knn")
    said = "Answered from the evidence, which no retriever knows, and never chosen: oracle."
    assert said in conclusion.notes


def test_a_tie_of_two_better_ones_is_broken_by_what_they_read_and_says_so():
    ranks = {"knn": POOR, "long": GOOD, "short": [2] * 45 + [0] * 15}
    prices = {"knn": Price(600.0), "long": Price(1200.0), "short": Price(400.0)}
    conclusion = concluded(ranks, prices=prices)
    assert (conclusion.decision, conclusion.chosen) == ("ship", "short")
    assert conclusion.tied == ("long", "short")
    assert conclusion.notes == (
        "long and short cannot be told apart. The tie is broken by tokens read: short takes 400 a question, the next "
        "1,200.",
    )
    unknown = concluded(ranks)
    assert unknown.chosen == "long"
    assert unknown.notes[0].endswith(
        "as far as they are known, do not break the tie. long is the first that was declared."
    )


def test_every_undecided_one_is_counted_and_what_became_of_it_is_said():
    """Three find 5 more or 3 more of 60: all undecided, one reads too much; no tie is broken, nor by Compare."""
    some, other = [1] * 10 + [0] * 5 + [1] * 10 + [0] * 35, [1] * 12 + [0] * 3 + [1] * 6 + [0] * 39
    ranks = {"knn": POOR, "a": some, "b": other, "c": some}
    prices = {"knn": Price(600.0), "a": Price(500.0), "b": Price(400.0), "c": Price(2000.0)}
    conclusion = concluded(ranks, prices=prices, guardrails=[Guardrail("tokens", 1000.0)])
    assert [delta.verdict for delta in conclusion.deltas.values()] == ["undecided"] * 3
    assert conclusion.sentence.startswith(
        "Undecided, knn stays: none of 3 configurations is shown to differ from it, or to be equivalent; 1 of them is "
        "excluded by a guardrail. The best mean of the others, a: +0.08 ["
    )
    comparison = compare([side(*each) for each in ranks.items()], minimum_effect=0.05)
    assert (conclusion.tied, leaderboard(comparison, "recall@3", prices).tied) == ((), ("knn",))


def test_one_that_is_equal_and_reads_less_is_shipped_for_that():
    ranks = {"long": GOOD, "short": GOOD}
    conclusion = concluded(ranks, prices={"long": Price(1200.0), "short": Price(400.0)})
    assert (conclusion.decision, conclusion.chosen, conclusion.choice.by) == ("ship", "short", "tokens")
    assert conclusion.sentence.endswith("for each of 60 questions, and takes less (tokens read).")
    same = concluded(ranks, prices={"long": Price(400.0), "short": Price(400.0)})
    assert (same.decision, same.chosen) == ("do not ship", "long")


def test_an_undecided_verdict_names_the_best_and_a_next_step_that_can_be_taken():
    ranks = {"knn": [1, 0] * 30, "hybrid": [0, 1] * 10 + [1, 1, 0, 1] + [1, 0] * 18, "bm25": [0, 1] * 10 + [1, 0] * 20}
    conclusion = concluded(ranks)
    first, best = conclusion.sentence.split(". ")
    assert (conclusion.decision, conclusion.chosen, conclusion.candidate) == ("undecided", "knn", "hybrid")
    assert first.startswith("Undecided, knn stays: none of 2 configurations is shown to differ from it")
    assert best.startswith("The best mean, hybrid: +0.02 [")  # 31 of 60 against 30
    assert "more than these documents can give: take the baseline, or decide by cost" in best
    assert max(len(words.split()) for words in (first, best)) < 35


@pytest.mark.parametrize(
    ("guardrail", "sentence"),
    [
        (Guardrail("tokens", 1000.0), "Guardrail on tokens read (at most 1,000) broken by hybrid (1,200)."),
        (
            Guardrail("tokens", 1.5, relative=True),
            "Guardrail on tokens read (at most 900, 1.5 times the baseline's) broken by hybrid (1,200).",
        ),
        (Guardrail("refusals", 0.1), "Guardrail on refusals (at most 10 %) broken by hybrid (12.5 %)."),
        (Guardrail("seconds", 2.0), "Guardrail on latency cannot be checked for hybrid: not known."),
    ],
)
def test_a_guardrail_holds_back_what_is_better(guardrail, sentence):
    prices, refusals = {"knn": Price(600.0, 0.0, 1.0), "hybrid": Price(1200.0, 0.0)}, {"knn": 0.0, "hybrid": 0.125}
    ranks = {"knn": POOR, "hybrid": GOOD}
    conclusion = concluded(ranks, prices=prices, refusals=refusals, guardrails=[guardrail])
    assert (conclusion.decision, conclusion.chosen) == ("do not ship", "knn")
    assert conclusion.notes == (sentence,)
    assert [breach.cell for breach in conclusion.breaches] == ["hybrid"]
    kept = concluded(ranks, prices=prices, refusals=refusals, guardrails=[Guardrail("tokens", 2.0, relative=True)])
    assert (kept.decision, kept.breaches) == ("ship", ()), "exactly the limit does not break it"


def test_nothing_is_decided_while_cells_wait_and_failures_are_told():
    comparison = compared({"knn": POOR, "hybrid": GOOD})
    going = experiment("knn", "hybrid", "bm25", states=["done", "done", "waiting"])
    conclusion = conclude(going, comparison, {}, {})
    assert (conclusion.decision, conclusion.final, conclusion.chosen) == ("undecided", False, "hybrid")
    assert conclusion.notes == ("2 of 3 cells are done: the verdict comes when all are.",)
    failed = replace(going, cells=(*going.cells[:2], replace(going.cells[2], state="failed", reason="Out of disk.")))
    conclusion = conclude(failed, comparison, {}, {})
    assert (conclusion.decision, conclusion.notes) == ("ship", ("bm25 failed: Out of disk.",))
    assert json.loads(json.dumps(asdict(conclusion)))["chosen"] == "hybrid"


def test_an_experiment_is_stored_as_it_was_declared(workspace):
    store = workspace.store
    corpus = store.corpora.add("notes")
    declared = replace(
        experiment("knn", "hybrid", states=["waiting"] * 2, guardrails=[Guardrail("tokens", 2.0, relative=True)]),
        corpus_id=corpus.id,
        left_out={"knn on words": "no vectors"},
        seen=None,
    )
    assert store.experiments.add(declared) == declared == store.experiments.get("chunks") == store.experiments.all()[0]
    with pytest.raises(UsageError, match="already an experiment"):
        store.experiments.add(replace(declared, id="f"))
    other = replace(declared, rule=replace(declared.rule, minimum_effect=0.1), cells=declared.cells[:1])
    assert store.experiments.replace(other) == other
    before = store.revisions("e")
    store.experiments.put_cell("e", replace(declared.cells[0], state="failed", reason="No disk."))
    assert store.experiments.get("e").seen is None, "a failure is no result"
    store.experiments.put_cell("e", replace(declared.cells[0], state="done", run_id="r"))
    seen = store.experiments.get("e")
    assert (seen.cells[0].run_id, seen.seen is None, store.revisions("e") > before) == ("r", False, True)
    with pytest.raises(UsageError, match="its rule, questions and cells stay"):
        store.experiments.replace(declared)
    confirmation = Confirmation("hybrid", "b", "w", 5.0)
    assert store.experiments.confirm("e", confirmation)
    assert not store.experiments.confirm("e", replace(confirmation, chosen="knn"))
    assert store.experiments.get("e").confirmation == confirmation
    store.corpora.delete(corpus.id)
    assert (store.experiments.all(), store.revisions("e")) == ([], (0,))


PRICES = {"base": Price(900, 0.0, None), "first": Price(600, 0.002, 0.5), "second": Price(300, 0.004, 0.5)}


def test_a_leaderboard_by_hand():
    """Two good runs that are alike, and one that is worse than both."""
    good = [1] * 36 + [0] * 4
    runs = compare([side("base", [1] * 12 + [0] * 28), side("first", good), side("second", good[::-1])])
    board = leaderboard(runs, "recall@3", PRICES)
    assert board.order == ("first", "second", "base")
    assert board.groups == (("first", "second"),)
    assert board.tied == ("first", "second")
    assert (board.choice.run, board.choice.by) == ("second", "tokens")
    assert leaderboards.tie_words(board).startswith(
        "first and second cannot be told apart. The tie is broken by tokens read: second takes 300"
    )
    assert board.fronts["tokens"].runs == ("second",)
    assert board.fronts["dollars"].runs == ("base", "first")
    assert board.fronts["dollars"].dominated == {"second": ("first",)}
    assert list(board.fronts) == ["tokens", "dollars"], "seconds are the same for all runs that have them"


def test_the_front_by_hand():
    """d costs as much as c and is worse; e is as good as b and costs more; a and f are equal."""
    points = {"a": (1, 0.5), "b": (2, 0.7), "c": (3, 0.9), "d": (3, 0.8), "e": (4, 0.7), "f": (1, 0.5)}
    front = leaderboards.front(points)
    assert front.runs == ("a", "f", "b", "c")
    assert front.dominated == {"d": ("c",), "e": ("b", "c")}
    assert leaderboards.front({}).runs == ()


UNDECIDED = Delta(
    run="", difference=Difference(0.1, -0.1, 0.3, 9, 3, 5, 1, 0.4), test=0, primary=True, margin=0.02, p_adjusted=0.4,
    p_equivalent=0.9, verdict="undecided", needed=None,
)  # fmt: skip


def pairs_of(runs, beats):
    """All pairs of runs, each with the later one as the run; `beats` holds (winner, loser)."""
    for first, second in combinations(runs, 2):
        verdict = "better" if (second, first) in beats else "worse" if (first, second) in beats else "undecided"
        yield Pair(first, replace(UNDECIDED, run=second, verdict=verdict))


def groups(runs, *beats):
    return ["".join(group) for group in brackets(runs, list(pairs_of(runs, set(beats))))]


RUNS = "abcdefg"


@given(st.sets(st.sampled_from(list(combinations(RUNS, 2)))))
def test_brackets_are_the_largest_groups_of_runs_that_are_not_apart(beats):
    """Against every subset: those without a pair that is apart, and not within another such."""

    def together(group):
        return not any(pair in beats for pair in combinations(sorted(group), 2))

    found = [set(group) for size in range(2, 8) for group in combinations(RUNS, size) if together(group)]
    largest = {"".join(sorted(group)) for group in found if not any(group < other for other in found)}
    assert set(groups(RUNS, *beats)) == largest


def test_ranks_are_those_that_no_pair_excludes():
    """Of a to d, b is better than a and than c, and d than a: b may be first or share it with d."""
    found = standings("abcd", list(pairs_of("abcd", {("b", "a"), ("b", "c"), ("d", "a")})))
    assert [(each.low, each.high) for each in found.values()] == [(3, 4), (1, 2), (2, 4), (1, 3)]
    assert standings("ab", list(pairs_of("ab", {("a", "b")}))) == {}


def test_tokens_then_cost_break_a_tie_and_latency_does_not():
    prices = {
        "small": Price(300, 0.002, 1.0),
        "small too": Price(300.5, 0.002, 0.4),
        "large": Price(900, 0.0001, 0.1),
        "unknown": Price(None, 0.0001, 0.1),
    }
    assert broken(["small", "large"], prices) == Choice("small", "tokens", 300, 900)
    assert broken(["small", "small too"], prices) == Choice()
    assert broken(["small", "unknown"], prices) == Choice("unknown", "dollars", 0.0001, 0.002)
    assert broken(["large", "unknown"], prices) == Choice()
    assert broken(["small", "never made"], prices) == Choice()
    assert broken(["one"], prices) == Choice()
