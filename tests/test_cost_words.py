"""What the command line says of costs: dollars only where a price was known."""

import pytest

from ragviz.cli import generate, run
from ragviz.judging.forecast import Forecast
from ragviz.workspace import Workspace


@pytest.mark.parametrize(
    ("calls", "dollars", "said"),
    [(0, 0.0, ""), (3, 0.0, "1,200 tokens"), (3, 0.25, "1,200 tokens, $0.25")],
)
def test_the_cost_of_a_kind(calls: int, dollars: float, said: str) -> None:
    row = {"calls": calls, "prompt_tokens": 1000, "completion_tokens": 200, "dollars": dollars}
    assert generate._cost(row) == said


@pytest.mark.parametrize(
    ("calls", "dollars", "said"),
    [
        (0, 0.0, ""),
        (685, 0.0, "Paid for the questions of 'made' so far: 685 model calls."),
        (685, 1.5, "Paid for the questions of 'made' so far: 685 model calls, $1.50."),
    ],
)
def test_what_a_set_has_cost(workspace: Workspace, calls: int, dollars: float, said: str) -> None:
    corpus = workspace.store.corpora.add("notes")
    question_set = workspace.store.sets.add(corpus.id, "made")
    if calls:
        workspace.store.payments.add(question_set.id, calls, dollars)
    assert generate._paid_words(workspace, corpus, "made") == said


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (0.0, ""),
        (2.9, "a few seconds, estimated from this endpoint's own calls"),
        (90.0, "about 1.5 minutes, estimated from this endpoint's own calls"),
        (None, "the endpoint does not answer: the duration is not known"),
    ],
)
def test_the_time_that_a_dry_run_tells(seconds: float | None, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    run.show_forecast(Forecast(4, {"question": 4}, seconds=seconds), as_json=False)
    assert capsys.readouterr().out.partition("$0.00\n")[2].rstrip("\n") == said
