"""The tabs Review and Versions, as Streamlit runs them."""

from pathlib import Path

import pytest

from ragviz.workspace import open_workspace
from tests.test_pages import bare, built, button, checked, home, show, words  # noqa: F401  # fixtures


@pytest.fixture(autouse=True)
def ann(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAGVIZ_PERSON", "Ann")


def asked():
    store = open_workspace().store
    question_set = store.sets.get("asked")
    return store, question_set, {q.id: q for q in store.questions.all(question_set.id)}


def test_a_decision_is_taken_back_and_versions_are_compared(home: Path) -> None:  # noqa: F811
    before = asked()[1].version
    app = show("questions", set="asked", question="q2")
    button(app, "Reject").click()
    checked(app.run())
    assert (asked()[2]["q2"].status, asked()[1].version) == ("rejected", before + 1)
    app = show("questions", set="asked", tab="Versions")
    [listed] = [d.value for d in app.dataframe if "Asked by" in d.value]
    assert listed["Who"].iloc[0] == "Ann"
    assert "rejected a question" in listed["What"].iloc[0]
    [differing] = [d.value for d in app.dataframe if list(d.value.columns) == ["Question", "What", "Id"]]
    assert list(differing["Id"]) == ["q2"]
    assert differing["What"][0] == "status, reason"
    button(app, "Undo").click()
    app = checked(app.run())
    assert asked()[2]["q2"].status != "rejected"
    assert asked()[1].version == before + 2


def test_questions_are_verified_by_a_job(home: Path) -> None:  # noqa: F811
    app = show("questions", set="asked")
    assert [r.options for r in app.radio if r.label == "Verified by"] == [["Rules, word by word, without a model"]]
    app.button(key="verify-questions").click()
    checked(app.run())
    [job] = [each for each in open_workspace().store.jobs.all() if each.kind == "verify"]
    assert job.arguments["questions"] == "asked"
    assert job.arguments["verifier"] == "rules"
    assert show("questions", set="asked").button(key="verify-questions").disabled
