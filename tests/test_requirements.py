"""`ragviz check`: what an interval decides and leaves open, exit codes, JUnit XML; runs of one name over time."""

import json
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest

from ragviz.analysis.requirements import checked, no_worse, parsed
from ragviz.core.call import Estimate
from ragviz.core.configuration import IndexConfig, RunConfig
from ragviz.core.errors import UsageError
from ragviz.core.ranking import Ranking
from ragviz.index import indexing
from ragviz.questions import exchange
from ragviz.runs import acceptance, history, imports, running
from ragviz.stats.clusters import clusters_of, numbered
from ragviz.stats.differences import paired_difference
from ragviz.targets.logged_item import Log, LoggedItem, Passage
from ragviz.workspace import open_workspace
from tests.builders import added
from tests.test_running import DOCUMENT, ROWS


@pytest.mark.parametrize(
    ("written", "standing", "passed"),
    [
        ("recall@3>=0.74", "met", True),
        ("recall@3>0.74", "undecided", True),
        ("recall@3>=0.83", "undecided", True),
        ("recall@3>0.83", "undecided", False),
        ("recall@3>=0.9", "undecided", False),
        ("recall@3>0.9", "not met", False),
        ("recall@3<=0.9", "met", True),
        ("recall@3<0.9", "undecided", True),
        ("recall@3<=0.8", "undecided", False),
        ("recall@3<0.74", "not met", False),
    ],
)
def test_a_requirement_is_decided_by_its_interval_and_else_by_the_estimate(written, standing, passed):
    outcome = checked(parsed(written, 1), Estimate(0.83, 0.74, 0.90, 80, 12))
    assert (outcome.standing, outcome.passed) == (standing, passed)
    assert "0.830 [0.740, 0.900], n = 80 in 12 clusters of documents" in outcome.message
    assert ("by the estimate" in outcome.message) == (standing == "undecided")


def shifted(loss, spread, n=400, documents=100):
    """A run that loses `loss` on average against its baseline, with this spread, over questions of some documents."""
    change = np.random.default_rng(4).normal(0, spread, n)
    change += -loss - change.mean()
    return paired_difference(np.full(n, 0.5), 0.5 + change, clusters_of([{f"d{i % documents}"} for i in range(n)]))


@pytest.mark.parametrize(
    ("loss", "spread", "standing"),
    [
        (0.0, 0.05, "met"),  # within ± 0.006
        (0.01, 0.05, "met"),  # significantly worse, but by less than what is allowed
        (0.05, 0.05, "not met"),
        (0.05, 1.0, "undecided"),  # a loss that the interval does not show
        (-0.05, 1.0, "undecided"),  # a gain whose interval reaches losses that are not allowed
    ],
)
def test_worse_than_the_baseline_means_that_the_interval_says_so(loss, spread, standing):
    difference = shifted(loss, spread)
    outcome = no_worse("recall@3", difference, "base", 0.02)
    assert outcome.standing == standing
    assert outcome.passed == (standing != "not met")
    assert (difference.low >= -0.02, difference.high < -0.02) == (standing == "met", standing == "not met")
    assert f"n = 400 in 100 clusters of documents; allowed: worse by 0.02. {standing.capitalize()}" in outcome.message


def test_an_interval_of_no_width_decides_only_where_all_are_equal_or_the_test_agrees():
    """Two questions that both lose 1 are an accident in one of two; six are not."""
    two, six, equal = (paired_difference([1.0] * n, [value] * n) for n, value in ((2, 0), (6, 0), (2, 1)))
    assert (two.low, two.high) == (-1, -1)
    assert no_worse("recall@3", two, "base", 0.02).standing == "undecided"
    assert "too few questions" in no_worse("recall@3", two, "base", 0.02).message
    assert no_worse("recall@3", six, "base", 0.02).standing == "not met"
    assert no_worse("recall@3", equal, "base", 0.0).standing == "met"
    nothing = no_worse("recall@3", paired_difference([], []), "base", 0.02)
    assert (nothing.standing, nothing.passed, nothing.mean) == ("undecided", True, None)


@pytest.fixture
def home(tmp_path, monkeypatch):
    """Eight questions about pumps and one that has no answer, asked by the words: seven found, and none of them."""
    monkeypatch.setenv("RAGVIZ_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    workspace = open_workspace()
    corpus = added(workspace, "pumps", {"pumps.txt": DOCUMENT})
    indexing.build_index(workspace, corpus, "words", IndexConfig(chunk_size=20, overlap=0, embedder=""))
    data = "\n".join(map(json.dumps, ROWS)).encode()
    exchange.import_data(workspace, corpus, data, "asked.jsonl", "asked")
    running.run(workspace, "good", RunConfig("words", "asked", "bm25", k=3, depth=8))
    running.run(workspace, "same", RunConfig("words", "asked", "bm25", k=2, depth=8))
    running.run(workspace, "bad", RunConfig("words", "asked", "bm25", k=3, depth=8))
    bad = workspace.store.runs.get("bad")
    questions = workspace.store.rankings.questions(bad.id)
    emptied = [
        (place, question, replace(result, ranking=Ranking((), ())))
        for place, (question, result) in enumerate(zip(questions, workspace.store.rankings.all(bad.id), strict=True))
    ]
    workspace.store.rankings.replace(bad.id, emptied)
    return tmp_path


def test_the_command_line_exits_by_what_it_checked_and_writes_junit(home, command_line):
    asked = ["--require", "recall@3>=0.5", "--require", "mrr > 0.5"]
    code, out, _ = command_line(
        "check", "good", *asked, "--baseline", "same", "--no-worse-than", "0.02", "--junit", "good.xml"
    )
    assert code == 0
    assert out.splitlines()[0] == "Run 'good' passed: 5 of 5 checks."
    suite = ElementTree.parse(home / "good.xml").getroot()
    assert (suite.tag, suite.get("tests"), suite.get("failures")) == ("testsuites", "5", "0")
    assert [case.get("name") for case in suite.iter("testcase")] == [
        "its numbers are reliable", "recall@3 >= 0.5", "mrr > 0.5", "recall@3 no worse than same by more than 0.02",
        "mrr no worse than same by more than 0.02",
    ]  # fmt: skip

    code, out, _ = command_line("check", "bad", *asked, "--baseline", "good", "--junit", "bad.xml", "--json")
    body = json.loads(out)
    assert (code, body["passed"]) == (1, False)
    assert [check["standing"] for check in body["checks"]] == ["met", *["not met"] * 4]
    loss = body["checks"][3]
    assert (loss["mean"], loss["n"], loss["limit"]) == (-7 / 8, 8, -0.02)
    suite = ElementTree.parse(home / "bad.xml").getroot()
    failures = {case.get("name"): case.find("failure").get("message") for case in suite.iter("testcase")
                if case.find("failure") is not None}  # fmt: skip
    assert len(failures) == 4 == int(suite.find("testsuite").get("failures"))
    assert "Recall@3 is 0.000 [0.000, " in failures["recall@3 >= 0.5"]
    interval = f"-0.875 [{loss['low']:+.3f}, {loss['high']:+.3f}], n = 8 in 1 cluster of documents"
    assert interval in failures["recall@3 no worse than good by more than 0.02"]

    code, out, _ = command_line("check", "good", "--json")
    assert (code, json.loads(out)["passed"], json.loads(out)["problems"]) == (0, True, [])


def test_every_k_that_is_required_is_measured_and_compared(home):
    workspace = open_workspace()
    good, same = workspace.store.runs.get("good"), workspace.store.runs.get("same")
    checked = acceptance.check(workspace, good, ["recall@1>=0.5", "recall>=0.5", "recall@8>=0.5"], baseline=same)
    assert [outcome.metric for outcome in checked.outcomes[1:]] == ["recall@1", "recall@3", "recall@8"] * 2
    assert [outcome.limit for outcome in checked.outcomes[4:]] == [-0.02] * 3
    only = acceptance.check(workspace, good, baseline=same)
    assert [outcome.metric for outcome in only.outcomes] == ["", "recall@3"]


def nightly(workspace, corpus, name, right):
    """A run of forty questions, of which the first `right` are answered with the reference."""
    items = [
        LoggedItem(f"q{n}", f"Question {n}?", f"Answer {n}", f"Answer {n}" if n < right else "No.", (Passage("text"),))
        for n in range(40)
    ]
    run = imports.import_run(workspace, corpus, name, Log(tuple(items), (), "file"))
    workspace.store.runs.label(run.id, tags=["nightly"])
    return workspace.store.runs.get(run.id)


def test_the_run_after_which_answers_got_worse_is_named(workspace, command_line):
    corpus = workspace.store.corpora.add("c")
    runs = [nightly(workspace, corpus, f"night {n}", right) for n, right in enumerate([38, 39, 38, 20, 21])]
    found = history.history(workspace, runs[::-1], "exact_match")
    assert [round(mean.mean * 40) for mean in found.means] == [38, 39, 38, 20, 21]
    assert (found.n, found.runs[found.changed].name) == (40, "night 3")
    assert found.difference.mean == pytest.approx((20 + 21) / 80 - (38 + 39 + 38) / 120)
    assert found.difference.high < 0
    steady = history.history(workspace, runs[:3], "exact_match")
    assert (steady.changed, steady.difference) == (None, None)
    with pytest.raises(UsageError, match="two finished runs: there is one"):
        history.history(workspace, runs[:1])
    told = json.loads(command_line("runs", "history", "nightly", "--metric", "exact_match", "--json")[1])
    assert (told["changed"], told["questions"], len(told["runs"])) == ("night 3", 40, 5)


def test_chance_is_rarely_a_change():
    rng, alarms = np.random.default_rng(3), 0
    clusters = numbered(np.repeat(np.arange(20), 3))
    for _ in range(300):
        hard = np.clip(rng.normal(0.6, 0.2, 20).repeat(3)[:, None] + rng.normal(0, 0.1, (60, 1)), 0, 1)
        alarms += history.change_point((rng.random((60, 8)) < hard).astype(float), clusters)[0] is not None
    assert alarms / 300 <= 0.05
