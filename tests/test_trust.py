"""Unreliable judges, end to end: refused with the right message, cached nowhere, replaced by a good one."""

import json

import pytest

from ragviz.core.configuration import Run
from ragviz.core.errors import UselessModel
from ragviz.judging import controls
from ragviz.metrics.answers import ANSWER_METRICS
from ragviz.runs import judgements, running
from ragviz.workspace import Workspace
from tests import odd_judges
from tests.test_running import config
from tests.test_running import workspace as answering  # noqa: F401 - a fixture

JUDGED = {name for name, metric in ANSWER_METRICS.items() if metric.judged}


@pytest.fixture
def workspace(answering) -> Workspace:  # noqa: F811
    answering.client("loopback")._backoff = 0.001
    return answering


def run_regardless(workspace: Workspace) -> Run:
    """A run that a person resumes although its judge gave nothing usable."""
    with pytest.raises(UselessModel, match="gave nothing usable"):
        running.run(workspace, "r", config())
    return running.run(workspace, "r", config())


def scored(judgement: judgements.Judgement) -> dict[str, int]:
    return {name: each.statuses.get("ok", 0) for name, each in judgement.metrics.items() if name in JUDGED}


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("empty", "without a claim, though the text says something"),
        ("letters", "single letters or words"),
    ],
)
def test_a_judge_whose_replies_cannot_be_right_is_refused_and_nothing_of_it_is_kept(
    workspace, server, monkeypatch, kind, words
):
    odd_judges.install(monkeypatch, kind)
    run = run_regardless(workspace)
    judgement = judgements.judgement_of(workspace, run)
    assert len(judgement.failed) >= 8  # all but a refusal, of which nothing is judged
    assert max(scored(judgement).values()) == 0
    evaluated = workspace.store.judgements.all(run.id).values()
    reasons = {reason for judged in evaluated for reason in judged.failures.values()}
    assert any(words in reason for reason in reasons), reasons
    assert any("a reply without a question" in reason or "questions" in reason for reason in reasons)
    assert not judgement.controls.reliable
    assert not judgements.check(workspace, run).passed

    odd_judges.install(monkeypatch, "good")
    rejudged = running.rejudge(workspace, run)
    assert set(rejudged) >= set(judgement.failed)
    after = judgements.judgement_of(workspace, workspace.store.runs.get("r"))
    assert after.failed == []
    assert after.controls.reliable
    assert after.metrics["completeness"].statuses["ok"] == 8
    assert after.metrics["completeness"].estimate.mean == 1
    assert after.metrics["questeval_recall"].estimate.n == 8
    good = judgements.judgement_of(workspace, running.run(workspace, "fresh", config(seed=1)))
    assert scored(after) == scored(good)
    assert judgements.check(workspace, workspace.store.runs.get("r")).passed


def test_a_judge_that_agrees_with_everything_is_marked_and_its_scores_are_not_served_again(
    workspace, server, monkeypatch
):
    odd_judges.install(monkeypatch, "agreeable")
    run = running.run(workspace, "r", config())
    judgement = judgements.judgement_of(workspace, run)
    assert judgement.failed == []  # nothing betrays it but the control items
    assert not judgement.controls.reliable
    check = judgements.check(workspace, run)
    assert not check.passed
    assert "This judge cannot be relied on" in check.sentence
    assert "another question's answer: equivalent instead of not equivalent" in check.sentence
    calls = server.counts.calls
    assert running.rejudge(workspace, run) == []  # still the same judge: only its control items are asked anew
    assert server.counts.calls - calls <= 4
    assert not judgements.judgement_of(workspace, workspace.store.runs.get("r")).controls.reliable

    odd_judges.install(monkeypatch, "good")
    assert len(running.rejudge(workspace, workspace.store.runs.get("r"))) == 9
    after = judgements.judgement_of(workspace, workspace.store.runs.get("r"))
    assert after.controls.reliable
    good = judgements.judgement_of(workspace, running.run(workspace, "fresh", config(seed=1)))
    for name in JUDGED:
        assert after.metrics[name].estimate.mean == good.metrics[name].estimate.mean, name
    calls = server.counts.calls
    running.run(workspace, "third", config())
    assert server.counts.calls == calls  # the good judge's replies are kept
    assert running.rejudge(workspace, workspace.store.runs.get("r")) == []
    assert server.counts.calls == calls


def test_the_command_line_checks_a_run_and_names_its_judge(command_line, workspace, monkeypatch):
    odd_judges.install(monkeypatch, "agreeable")
    running.run(workspace, "bad", config())
    code, out, _ = command_line("check", "bad", "--json")
    assert (code, json.loads(out)["passed"], json.loads(out)["controls"]["reliable"]) == (1, False, False)
    assert "judged by loopback at 127.0.0.1" in command_line("results", "bad")[1]
    body = json.loads(command_line("results", "bad", "--json")[1])
    assert (body["judge"]["model"], body["answerer"]["model"]) == ("loopback", "loopback")
    assert body["judge"]["prompts"]["comparison"]
    assert body["judge"]["controls"]["accuracy"] < controls.RELIABLE
    question = workspace.store.rankings.questions(workspace.store.runs.get("bad").id)[0].id
    assert "This judge cannot be relied on" in command_line("inspect", "bad", question)[1]
    assert json.loads(command_line("inspect", "bad", question, "--json")[1])["judge_reliable"] is False
    odd_judges.install(monkeypatch, "good")
    command_line("rejudge", "bad")
    assert command_line("check", "bad")[0] == 0
