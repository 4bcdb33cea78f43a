"""Which polls of the jobs are passed on, from messages as Streamlit encodes them."""

import asyncio
import time

import pytest
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

from ragviz.ui.server import Runs

INDEX, HOME = "b1d7", "c962"


def rerun(page="", fragment="", auto=False):
    message = BackMsg()
    request = message.rerun_script
    request.page_script_hash, request.fragment_id, request.is_auto_rerun = page, fragment, auto
    return message


def poll(page):
    return rerun(page, "f00d", auto=True)


def began(page):
    message = ForwardMsg()
    message.new_session.page_script_hash = page
    return message


def finished(status=ForwardMsg.FINISHED_SUCCESSFULLY):
    message = ForwardMsg()
    message.script_finished = status
    return message


def admitted(*messages):
    """Which of the browser's messages are passed on, in a line of messages of browser and server."""

    async def run():
        runs, passed = Runs(), []
        for message in messages:
            if isinstance(message, BackMsg):
                passed.append(await runs.admit(message.rerun_script))
            else:
                runs.note_sent(message.SerializeToString())
        return passed

    return asyncio.run(run())


def test_a_poll_of_the_page_shown_is_passed_on():
    assert admitted(rerun(), began(INDEX), finished(), poll(INDEX), finished(), poll(INDEX)) == [True, True, True]


def test_a_poll_during_a_run_is_dropped_until_the_run_ends():
    """A run that is started again by its own script goes on."""
    early, fragment = ForwardMsg.FINISHED_EARLY_FOR_RERUN, ForwardMsg.FINISHED_FRAGMENT_RUN_SUCCESSFULLY
    line = [rerun(), began(INDEX), poll(INDEX), finished(early), poll(INDEX), began(INDEX), finished(fragment)]
    assert admitted(*line, poll(INDEX), finished(), poll(INDEX)) == [True, False, False, False, True]


def test_a_poll_of_the_page_that_was_left_is_dropped_once():
    """A second one of the same page is believed: polls never cease because the pages are taken for others."""
    line = [rerun(), began(INDEX), finished(), rerun(HOME), began(HOME), finished()]
    assert admitted(*line, poll(INDEX), poll(HOME), poll(INDEX)) == [True, True, False, True, True]


@pytest.mark.parametrize("begins", [True, False])
def test_a_click_waits_until_the_poll_before_it_has_begun(begins):
    async def run():
        runs = Runs()
        await runs.admit(rerun().rerun_script)
        for message in (began(INDEX), finished()):
            runs.note_sent(message.SerializeToString())
        assert await runs.admit(poll(INDEX).rerun_script)
        if begins:
            asyncio.get_running_loop().call_later(0.2, runs.note_sent, began(INDEX).SerializeToString())
        started = time.monotonic()
        assert await runs.admit(rerun(INDEX).rerun_script)
        return time.monotonic() - started

    took = asyncio.run(run())
    assert 0.15 < took < 1.5 if begins else took > 1.9
