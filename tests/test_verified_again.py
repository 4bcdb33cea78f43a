"""Questions that are verified already, verified again: what is paid, what changes, and what stays."""

from __future__ import annotations

from dataclasses import asdict, replace

from ragviz.core.question import Question
from ragviz.generation import verification, verifying
from ragviz.workspace import Workspace
from tests.model_server import ModelServer
from tests.test_verification import (
    chats,
    pump_set,
    workspace,  # noqa: F401 - a fixture
)


def stored(opened: Workspace) -> dict[str, Question]:
    store = opened.store
    return {question.id: question for question in store.questions.all(store.sets.get("q").id)}


def put(opened: Workspace, *questions: Question) -> None:
    opened.store.questions.put(opened.store.sets.get("q").id, list(questions))


def test_again_costs_nothing_where_nothing_changed(workspace: Workspace, server: ModelServer) -> None:  # noqa: F811
    pump_set(workspace, 12)
    first = verifying.verify_questions(workspace, "q", "pumps")
    calls, before = len(chats(server)), stored(workspace)
    assert verifying.foresee_verification(workspace, "q", "pumps").questions == 0
    estimate = verifying.foresee_verification(workspace, "q", "pumps", again=True)
    # 12 of their evidence, 12 of other chunks, 1 of candidates; those about several are kept as verdicts
    assert (estimate.questions, estimate.total, estimate.cached) == (13, 25, 25)
    assert len(chats(server)) == calls
    again = verifying.verify_questions(workspace, "q", "pumps", again=True)
    assert (again.verified, again.calls, again.dollars) == (13, first.calls, first.dollars)
    assert len(chats(server)) == calls
    assert stored(workspace) == before


def test_a_wrong_answer_that_was_verified_before_is_found(workspace: Workspace, server: ModelServer) -> None:  # noqa: F811
    pump_set(workspace, 4)
    verifying.verify_questions(workspace, "q", "pumps")
    wrong = {
        i: replace(stored(workspace)[i], answer="painted 999 times", status=status)
        for i, status in (("q00", "proposed"), ("q01", "accepted"))
    }
    put(workspace, *wrong.values())
    result = verifying.verify_questions(workspace, "q", "pumps", again=True)
    assert (result.verified, result.faulty, result.accepted) == (3, 2, 1)
    assert verifying.summary(asdict(result)).endswith("1 of them stays accepted, as a person decided.")
    after = stored(workspace)
    assert (after["q00"].status, after["q01"].status) == ("rejected", "accepted")
    assert after["q00"].reason.startswith("another answer follows from its evidence")
    assert after["q01"].reason.startswith(f"{verification.FAULT}another answer follows from its evidence")
    right = replace(after["q01"], answer=stored_answer(workspace))
    put(workspace, right)
    result = verifying.verify_questions(workspace, "q", "pumps", again=True)
    assert (result.verified, result.faulty, result.accepted) == (4, 0, 0)
    assert (stored(workspace)["q01"].reason, stored(workspace)["q01"].status) == ("", "accepted")
    assert stored(workspace)["q00"].status == "rejected", "what is not asked is not verified"


def stored_answer(opened: Workspace) -> str:
    """What the passage of the second question says."""
    [[span]] = stored(opened)["q01"].evidence
    return span.text.partition(" was ")[2].rstrip(".")
