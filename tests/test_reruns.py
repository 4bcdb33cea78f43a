"""Two requests for one page at almost the same time, in a real browser: none of them undoes or delays the other."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, WebSocketRoute, expect
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

from ragviz.store.opening import open_store
from tests.test_browser import (
    ROOT,
    Server,
    browser,  # noqa: F401 - a fixture
    drawn,
    going_elsewhere,
    has_param,
    page,  # noqa: F401 - a fixture
    serving,
)

pytestmark = [pytest.mark.browser, pytest.mark.timeout(420)]

HELD = """
import threading
from streamlit.runtime.scriptrunner_utils.script_run_context import ScriptRunContext
from streamlit.runtime.state.query_params import QueryParams

written = threading.Event()
reset, from_dict = ScriptRunContext.reset, QueryParams.from_dict

def late_reset(self, *args, fragment_ids_this_run=None, **values):
    if fragment_ids_this_run:  # a poll begins only after an address was written by another run, if one is going on
        written.clear()
        written.wait(0.5)
    reset(self, *args, fragment_ids_this_run=fragment_ids_this_run, **values)

def from_dict_noted(self, *args):
    from_dict(self, *args)
    written.set()

ScriptRunContext.reset, QueryParams.from_dict = late_reset, from_dict_noted
"""
"""What the server runs before anything else: it makes a poll begin late."""


@pytest.fixture(scope="module")
def server(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:  # noqa: F811
    folder = tmp_path_factory.mktemp("reruns")
    (folder / "hooks").mkdir()
    (folder / "hooks" / "sitecustomize.py").write_text(HELD, encoding="utf-8")
    with serving(folder, PYTHONPATH=f"{folder / 'hooks'}:{ROOT}") as started:
        index_words(started, folder)
        yield started


def index_words(server: Server, folder: Path) -> None:
    (folder / "pumps.txt").write_text("The pump is washed twice a year.\n\nThe valve is not.", encoding="utf-8")
    server.ragviz("corpus", "add", "notes", str(folder / "pumps.txt"))
    server.ragviz("index", "build", "notes", "--name", "words", "--embedder", "none")


class Polled:
    """The line between browser and server, on which polls of the jobs come in the moments that are asked for."""

    def __init__(self, page: Page) -> None:  # noqa: F811
        """Send a poll before every press of a button, and one after every change of page, as of the page left."""
        self.sent = 0
        self._fragment = ""
        page.route_web_socket("**/_stcore/stream", self._relay)

    def _relay(self, browser_end: WebSocketRoute) -> None:
        server_end = browser_end.connect_to_server()
        shown = ""  # hash of the page that the browser was told of

        def poll(rerun: BackMsg, page_hash: str) -> None:
            states = rerun.rerun_script.widget_states.widgets
            kept = [state for state in states if not state.trigger_value]
            del states[:]
            states.extend(kept)
            request = rerun.rerun_script
            request.fragment_id, request.is_auto_rerun, request.page_script_hash = self._fragment, True, page_hash
            server_end.send(rerun.SerializeToString())
            self.sent += 1

        def to_server(message: str | bytes) -> None:
            rerun = BackMsg.FromString(message) if isinstance(message, bytes) else BackMsg()
            pressed = any(state.trigger_value for state in rerun.rerun_script.widget_states.widgets)
            elsewhere = rerun.rerun_script.page_script_hash not in ("", shown)
            if pressed and shown:
                poll(rerun, shown)
            server_end.send(message)
            if elsewhere and shown:
                poll(rerun, shown)

        def to_browser(message: str | bytes) -> None:
            nonlocal shown
            received = ForwardMsg.FromString(message) if isinstance(message, bytes) else ForwardMsg()
            if received.HasField("auto_rerun"):
                self._fragment = received.auto_rerun.fragment_id
            if received.HasField("new_session"):
                shown = received.new_session.page_script_hash
            browser_end.send(message)

        browser_end.on_message(to_server)
        server_end.on_message(to_browser)


def test_a_poll_that_begins_late_does_not_undo_a_search(server: Server, page: Page) -> None:  # noqa: F811
    polled = Polled(page)
    page.goto(server.address("index", corpus="notes", index="words"))
    drawn(page)
    page.get_by_label("Query").fill("washed")
    page.get_by_label("Query").press("Enter")
    page.wait_for_url(has_param("query", "washed"))
    drawn(page)
    assert polled.sent == 1
    expect(page.get_by_label("Query")).to_have_value("washed")
    expect(page.locator(".rv-text").filter(has_text="washed").first).to_be_visible()


def test_a_poll_of_the_page_that_was_left_does_not_blank_the_next_one(server: Server, page: Page) -> None:  # noqa: F811
    polled = Polled(page)
    page.goto(server.address("index", corpus="notes", index="words"))
    drawn(page)
    for number, title in enumerate(("Questions", "Runs", "Index", "Documents"), start=1):
        page.get_by_role("link", name=title, exact=True).click()
        expect(page.get_by_role("heading", name=title, exact=True)).to_be_visible()
        drawn(page)
        assert polled.sent == number


@pytest.mark.parametrize("opened", ["by a link", "by a reload"])
def test_the_jobs_are_still_polled(server: Server, page: Page, opened: str) -> None:  # noqa: F811
    """A job that another process starts and ends is shown on a page that nobody touches."""
    page.goto(server.address("runs", corpus="notes"))
    drawn(page)
    if opened == "by a link":
        page.get_by_role("link", name="Index", exact=True).click()
    else:
        page.reload()
    drawn(page)
    store = open_store(server.env["RAGVIZ_DATABASE_URL"])
    going = going_elsewhere(store, "notes")
    expect(page.get_by_text("Build elsewhere")).to_be_visible()
    store.jobs.update(going.id, status="done", finished=time.time())
    expect(page.get_by_role("button", name="Pause")).to_have_count(0)
    expect(page.get_by_role("button", name="Cancel")).to_have_count(0)
