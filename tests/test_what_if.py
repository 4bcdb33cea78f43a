"""What-if on stored rankings: numbers worked by hand, second implementations, and runs that are really made."""

import numpy as np
import pytest

from ragviz.analysis import risk_coverage, what_if
from ragviz.analysis.risk_coverage import Cases
from ragviz.analysis.what_if import Choices
from ragviz.core.configuration import IndexConfig, RunConfig
from ragviz.core.ranking import Ranking, Retrieved
from ragviz.index import indexing
from ragviz.metrics import rank_metrics
from ragviz.runs import running
from ragviz.runs import what_if_of_run as what_ifs
from ragviz.stats.clusters import numbered
from ragviz.workspace import Workspace
from tests.builders import sample_with_models

RESULTS = [
    Retrieved("a", Ranking(("x", "g", "y", "z"), (0.9, 0.8, 0.5, 0.1)), (("g",),)),
    Retrieved("b", Ranking(("h", "x", "i"), (0.7, 0.6, 0.6)), (("h",), ("i", "j"))),
    Retrieved("c", Ranking((), ()), (("k",),)),
]
SIZES = {"x": 10, "g": 20, "y": 30, "z": 40, "h": 50, "i": 60}


def test_what_is_kept_and_measured_by_hand():
    read = what_if.reading(rank_metrics.read(RESULTS, 4), SIZES)
    assert what_if.kept(read, Choices(3)).tolist() == [3, 3, 0]
    assert what_if.kept(read, Choices(3, 0.6)).tolist() == [2, 3, 0]
    assert what_if.kept(read, Choices(3, None, 59)).tolist() == [2, 1, 0]  # 10 + 20 fit, + 30 does not; 50, + 10 not
    assert what_if.kept(read, Choices(3, 0.65, 100)).tolist() == [2, 1, 0]
    assert what_if.shortened(read, Choices(3, 0.65, 49)) == 1
    values = what_if.measure(read, Choices(3, 0.65, 100))
    assert values["recall"].tolist() == [1, 0.5, 0]
    assert values["precision"].tolist() == [1 / 2, 1, 0]  # one chunk of three is taken away, two are, none was there
    assert values["f1"].tolist() == [pytest.approx(2 / 3), pytest.approx(2 / 3), 0]
    assert values["mrr"].tolist() == [0.5, 1, 0]
    assert values["tokens"].tolist() == [30, 50, 0]
    assert what_if.measure(read, Choices(3, None, 55))["tokens"].tolist() == [55, 55, 0]  # of 60 and 120 offered
    assert what_if.measure(read, Choices(1, 0.85))["mrr"].tolist() == [0, 0, 0]  # no gold chunk scores 0.85
    assert what_if.measure(read, Choices(1))["mrr"].tolist() == [0.5, 1, 0]  # k does not change it


# Risk and coverage


def cases(seed: int, n: int = 120, ties: bool = True) -> Cases:
    random = np.random.default_rng(seed)
    confidence = random.integers(0, 15, n) / 15 if ties else random.random(n)
    wrong = random.random(n) > confidence
    return Cases(confidence, random.random(n) > 0.2, wrong, numbered(random.integers(0, 40, n)))


@pytest.mark.parametrize("seed", range(4))
def test_the_curve_by_a_loop_over_thresholds(seed):
    stored = cases(seed)
    rows = []
    for threshold in sorted(set(stored.confidence[stored.answered]), reverse=True):
        admitted = [i for i in range(120) if stored.answered[i] and stored.confidence[i] >= threshold]
        rows.append((threshold, len(admitted) / 120, sum(bool(stored.wrong[i]) for i in admitted) / len(admitted)))
    for column, expected in zip(risk_coverage.steps(stored), zip(*rows, strict=True), strict=True):
        assert column == pytest.approx(expected)
    by_threshold = {threshold: risk for threshold, _, risk in rows}
    own = [by_threshold[value] for value in stored.confidence[stored.answered]]
    drawn = risk_coverage.curve(stored)
    assert drawn.aurc == pytest.approx(np.mean(own))
    assert drawn.best <= drawn.aurc
    assert drawn.whole == pytest.approx(stored.wrong[stored.answered].mean())
    assert np.all(drawn.low <= drawn.risk)
    assert np.all(drawn.risk <= drawn.high)
    for most in (0.0, 0.1, 0.2, 0.5):
        allowed = [threshold for threshold, _, risk in rows if risk <= most]
        picked = risk_coverage.chosen(stored, most)
        assert (picked and picked.threshold) == (min(allowed) if allowed else None)


# Against runs that are really made


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Workspace:
    """The sample in an index of small chunks, and runs of its questions that differ in one choice each."""
    with sample_with_models(tmp_path_factory.mktemp("home")) as (workspace, _, corpus):
        indexing.build_index(workspace, corpus, "i", IndexConfig(embedder="openai:bags", chunk_size=60))
        for name, choices in RUNS.items():
            running.run(workspace, name, RunConfig("i", "q", **{"depth": 30} | choices))
        yield workspace


RUNS = {
    "near": {"retriever": "knn"},
    "hybrid": {"retriever": "hybrid"},
    "answered": {"retriever": "knn", "k": 6, "answerer": "extractive"},
    "answered-150": {"retriever": "knn", "k": 6, "answerer": "extractive", "context_tokens": 150},
}


def stored_of(workspace: Workspace, name: str) -> what_ifs.StoredRankings:
    return what_ifs.stored_of(workspace, workspace.store.runs.get(name))


def test_another_budget_is_what_a_run_with_that_budget_hands_over(made):
    stored = stored_of(made, "answered")
    read, run = what_ifs.reading_at(stored, None), made.store.runs.get("answered-150")
    kept = dict(zip(read.table.question_ids, what_if.kept(read, Choices(6, None, 150)).tolist(), strict=True))
    evaluated = made.store.judgements.all(run.id)
    whole = {i: [c for c in each.recording.read if c not in each.recording.cut] for i, each in evaluated.items()}
    assert {i: len(whole[i]) for i in kept} == kept
    assert 0 < sum(kept.values()) < 6 * len(kept)
    effects = what_ifs.effects(stored, Choices(6, None, 150))
    results = {r.question_id: r for r in made.store.rankings.all(run.id) if r.gold}
    recall = [np.mean([bool(set(group) & set(whole[i])) for group in r.gold]) for i, r in results.items()]
    assert effects["recall"].other.mean == pytest.approx(np.mean(recall))
    assert effects["tokens"].other.mean <= 150
    assert effects["tokens"].own.mean > effects["tokens"].other.mean


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["hybrid", "--threshold", 0.1], "A threshold cannot be tried on run 'hybrid'"),
        (["near", "-k", 31], "k = 31 cannot be read off rankings to depth 30"),
        (["near", "--rrf-constant", 5], "ranks by knn alone"),
        (["near", "--risk", 2], "A risk of 2.0 is no share"),
    ],
)
def test_the_command_line_says_what_cannot_be_tried(made, command_line, monkeypatch, words, reason):
    monkeypatch.setenv("RAGVIZ_HOME", str(made.settings.home))
    code, _, error = command_line("what-if", *words)
    assert (code, reason in error) == (2, True), error
