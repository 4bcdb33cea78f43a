import pandas as pd
import streamlit as st

from ragviz.core.event import Event, Wanted
from ragviz.service import audit_verbs
from ragviz.ui import address, frame, wording
from ragviz.ui.kit import heading, notices, table

workspace = frame.begin()
SIZE = 50


def row(event: Event) -> tuple[object, ...]:
    done, when = f"{event.verb} {event.noun}", pd.Timestamp(event.time, unit="s").floor("s")
    details = ", ".join(f"{name} {value}" for name, value in event.details.items())
    return (when, event.person, event.role, done, event.name, details)


heading.header("Audit", "Who did what, when. Entries are only ever added; the command “ragviz audit” prints all.")
with notices.errors_shown():
    with st.container(horizontal=True):
        since = st.text_input("Since (UTC)", placeholder="2026-11-27", **address.bound("since", "", str, "a day"))
        person = st.text_input("Person", **address.bound("person", "", str, "a name"))
        verb = st.text_input("Verb", placeholder="delete", **address.bound("verb", "", str, "a word"))
    wanted = Wanted(audit_verbs.since(since), person.strip(), verb.strip())
    count = audit_verbs.count(workspace, wanted)
    start, end = table.page(count, SIZE, "page")
    found = audit_verbs.newest(workspace, wanted, start, end)
    columns = ["When (UTC)", "Person", "Role", "What", "Name", "Details"]
    time_column = st.column_config.DatetimeColumn(width=140, format="YYYY-MM-DD HH:mm:ss")
    widths = {"When (UTC)": time_column, "What": 160, "Details": 400}
    table.draw(
        pd.DataFrame([row(event) for event in found], columns=columns), "events", alt="What was done", most=14,
        above=wording.counted(count, "event"), file="audit", columns=widths,
    )  # fmt: skip
