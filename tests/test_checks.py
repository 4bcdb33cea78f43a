"""Replies against their texts: what no honest reading yields is refused; unreliable judges, end to end."""

import json

import pytest

from ragviz.core.configuration import Run
from ragviz.core.errors import UselessModel
from ragviz.judging import banks, checks, controls
from ragviz.judging.claims import ClaimsReply, claims_request
from ragviz.metrics.answers import ANSWER_METRICS
from ragviz.runs import judgements, running
from ragviz.workspace import Workspace
from tests import odd_judges
from tests.test_running import config
from tests.test_running import workspace as answering  # noqa: F401 - a fixture

EN = (
    "When was the north pump replaced, and by whom?",
    "Harlow swapped it out in 1998 after it had leaked for 7 weeks.",
)
ZH = ("北阀门是哪一年更换的？", "它于2021年更换，负责人是王芳，费用为三万元。")

GOOD_CLAIMS = [
    (*EN, ["Harlow replaced the north pump in 1998.", "The north pump had leaked for seven weeks."]),
    (*EN, ["Harlow swapped it out in 1998.", "It had leaked for 7 weeks."]),
    (*EN, ["replaced 1998", "replaced by Harlow", "leaked 7 weeks"]),  # terse
    (*EN, ["Harlow replaced it in 1998.", "The old apparatus dripped.", "It had leaked for 7 weeks."]),  # one odd claim
    (*EN, ["The replacement of the north pump by Harlow took place in nineteen ninety-eight."]),
    (*ZH, ["北阀门于2021年更换。", "更换北阀门的负责人是王芳。", "更换北阀门的费用为30000元。"]),
    (*ZH, ["2021年更换", "王芳负责"]),
    ("When was the pump replaced?", "1998", ["The pump was replaced in 1998."]),
    ("When was the pump replaced?", "1998", ["1998"]),
    ("哪一年更换的？", "2021年", ["阀门是2021年更换的。"]),
    ("Is the reservoir open on Sundays?", "No.", ["The reservoir is not open on Sundays."]),
    ("Which country?", "The UK", ["The country is the United Kingdom."]),
    ("数据库用什么？", "MySQL 5.7", ["数据库使用 MySQL 5.7。"]),
    ("What is it?", "Der Behälter fasst 300 Liter Wasser.", ["Der Behälter fasst 300 Liter Wasser."]),
    ("何ですか？", "水槽の容量は三百リットルです。", ["水槽の容量は三百リットルである。"]),
    # Words that name fields of the schema are words of texts too.
    ("Who pays?", "Claims under the key contract are paid by Ada.", ["Ada pays the claims under the key contract."]),
    ("When?", "The passages do not tell when the pump was replaced.", []),
    ("何时？", "文中没有提到更换时间。", []),
]
BAD_CLAIMS = [
    (*EN, [], "without a claim"),
    (*EN, list("Harlow"), "single letters or words"),
    (*EN, ["Harlow", "1998", "weeks"], "single letters or words"),
    (*EN, ["yes"], "single letters or words"),
    (*EN, ["哈洛在1998年更换了水泵。"], "another language"),
    (*EN, ["Dogs stay outside on Sundays.", "Cats may come in."], "does not make"),
    (*EN, ["Harlow swapped it out in 1998."] * 5, "repeat an earlier one"),
    (*EN, ["The full sentence, in the language of the text."], "copied from the schema"),
    (*EN, ["One fact of the text as a full sentence of its own."], "copied from the schema"),
    (*ZH, [], "without a claim"),
    (*ZH, list("它于2021年更换"), "single letters or words"),
    (*ZH, ["The north valve was replaced in 2021.", "Wang Fang was in charge."], "another language"),
    (*ZH, ["狗不许进入餐厅。"], "does not make"),
    ("When was the pump replaced?", "1998", [], "without a claim"),
]


@pytest.mark.parametrize(("question", "text", "claims"), GOOD_CLAIMS)
def test_what_an_honest_judge_says_is_taken(question, text, claims):
    assert checks.claims_problem(claims, text, question, ClaimsReply) == ""


@pytest.mark.parametrize(("question", "text", "claims", "why"), BAD_CLAIMS)
def test_what_no_reading_gives_is_refused(question, text, claims, why):
    assert why in checks.claims_problem(claims, text, question, ClaimsReply)


@pytest.mark.parametrize(
    ("pairs", "reference", "why"),
    [
        ([("Harlow", "Who swapped the pump?"), ("1998", "In which year was it?")], EN[1], ""),
        ([("王芳", "谁负责更换？"), ("2021年", "哪一年更换的？")], ZH[1], ""),
        ([("1998", "In which year was the pump replaced?")], "1998", ""),
        ([], EN[1], "without a question"),
        ([], "…", ""),
        ([(c, c) for c in "Harlow"], EN[1], "single letters or words"),
        ([(c, c) for c in "负责人是王芳"], ZH[1], "single letters or words"),
        ([("red key", "With which key is the valve opened?")], "The valve is opened with the red key.", ""),
        ([("Harlow", "谁更换了水泵？")], EN[1], "another language"),
        ([("yes", "Do dogs stay outside?")], EN[1], "something else"),
        ([("x", "A full question, in the language of the reference.")], EN[1], "copied from the schema"),
        ([("Harlow", "Who was it?")] * 6, EN[1], "repeat an earlier one"),
    ],
)
def test_a_bank_is_about_its_reference(pairs, reference, why):
    problem = checks.bank_problem(pairs, reference, banks.BankReply)
    assert why in problem
    assert bool(problem) == bool(why)


@pytest.mark.parametrize(
    ("answers", "text", "why"),
    [
        ([("Who?", "Harlow"), ("When?", "1998"), ("How long did it leak?", "seven weeks")], EN[1], ""),
        ([("Who?", None), ("When?", "in '98")], EN[1], ""),
        ([("Was it Harlow?", "yes")], EN[1], ""),
        ([("是王芳吗？", "是")], ZH[1], ""),
        ([("Who?", "yes"), ("When?", "yes")], EN[1], "does not hold"),
        ([("Who?", "yes")], "Two eyes see more.", "does not hold"),
        ([("谁？", "是的"), ("何时？", "是的")], "王芳于2021年更换了阀门。", "does not hold"),
        ([], EN[1], "answers none"),
        ([("Who?", None), ("When?", None)], EN[1], "the very text"),
        ([("Which extension is it?", None)], "2222", ""),
    ],
)
def test_answers_occur_in_their_text(answers, text, why):
    problem = checks.answers_problem(answers, text, own=True)
    assert why in problem
    assert bool(problem) == bool(why)


@pytest.mark.parametrize(
    ("text", "evasive"),
    [
        ("Harlow replaced the north pump in 1998, for 40 euros.", False),
        ("王芳于2021年更换了北阀门。", False),
        ("It depends on the model.", True),
        ("I do not know.", True),
        ("请咨询管理员。", True),
        ("无法确定。", True),
    ],
)
def test_a_refusal_must_be_one(text, evasive):
    request = claims_request("When was it replaced?", text)
    reply = ClaimsReply(claims=[], questions=[], noncommittal=True)
    assert ("commits itself" in request.check(reply)) == (not evasive)


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
