"""The page Targets: a file of another system becomes a run, an endpoint is tried, kept and asked."""

from __future__ import annotations

from pathlib import Path

import pytest

from ragviz.jobs import queue, worker
from ragviz.workspace import open_workspace
from tests.system_server import SystemServer
from tests.test_pages import bare, built, button, checked, home, show, words  # noqa: F401 - fixtures


def test_an_endpoint_is_tried_kept_and_asked(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811
    monkeypatch.setattr(queue, "start", lambda workspace, job: workspace.store.jobs.get(job.id))
    with SystemServer(
        lambda body: {"out": {"said": "20 litres", "hits": [{"body": "Pump 2 moves 20.", "n": 1}]}}
    ) as server:
        app = checked(show("targets", tab="Endpoint"))
        fields = {field.label: field for field in [*app.text_input, *app.text_area]}
        fields["Name"].set_value("bot")
        fields["Address (URL)"].set_value(server.url)
        app = checked(app.run())
        button(app, "Test").click()
        app = checked(app.run())
        values = {field.label: field.value for field in app.text_input}
        assert (values["Answer"], values["Contexts"]) == ("out.said", "out.hits[].body")  # guessed from the reply
        assert "Pump 2 moves 20." in words(app)
        button(app, "Save").click()
        app = checked(app.run())
        stored = open_workspace().store.targets.get("bot")
        assert (stored.answer, stored.contexts, stored.url) == ("out.said", "out.hits[].body", server.url)
        button(app, "Ask").click()
        checked(app.run())
        workspace = open_workspace()
        job = workspace.store.jobs.all()[0]
        assert worker.perform(workspace, job.id).result["run"] == "bot 1"
        run = workspace.store.runs.get("bot 1")
        answers = {each.recording.answer for each in workspace.store.judgements.all(run.id).values()}
        assert answers == {"20 litres"}
        assert len(server.bodies) == 1 + run.provenance["n"]
