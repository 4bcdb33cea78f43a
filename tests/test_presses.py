"""Presses of a button that arrive late: they belong to a drawing of it that is gone."""

from __future__ import annotations

from streamlit.proto.WidgetStates_pb2 import WidgetStates
from streamlit.testing.v1 import AppTest

BUTTON = """
import streamlit as st
from ragviz.ui import presses

made = st.session_state.setdefault("made", [])
if st.button("Make", key=presses.key("make")):
    with presses.once("make") as press:
        if st.session_state.get("refuse"):
            raise ValueError("refused")
        made.append(press)
    st.rerun()
"""


def test_a_late_press_of_a_drawing_that_did_its_work_does_nothing() -> None:
    app = AppTest.from_string(BUTTON).run()
    sent = WidgetStates(widgets=[app.button(key="make").click()._widget_state])  # as the browser sends a press
    app._run(sent)
    [first] = app.session_state["made"]
    assert [button.key for button in app.button] == ["make-1"]
    app._run(sent)
    assert app.session_state["made"] == [first]
    app.button(key="make-1").click().run()
    second = app.session_state["made"][1]
    assert second.key != first.key
    assert second.shown > first.shown


def test_a_press_that_was_refused_can_be_repeated() -> None:
    app = AppTest.from_string(BUTTON).run()
    app.session_state["refuse"] = True
    app.button(key="make").click().run()
    assert app.exception
    app.session_state["refuse"] = False
    app.button(key="make").click().run()
    assert len(app.session_state["made"]) == 1
