"""The drill of a question set: the button that runs it, what is noticed by fault and strength, and what cannot be."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import pandas as pd
import streamlit as st

from ragviz.core.index_info import IndexInfo
from ragviz.core.question_set import QuestionSet
from ragviz.health import drill, drill_words
from ragviz.health.faults import FAULTS, POINTS
from ragviz.report import drill_plots
from ragviz.retrieval.retrievers import offered
from ragviz.text.markup import plain, visible
from ragviz.ui import cache, job_panel, presses, widgets, wording
from ragviz.ui.kit import figure, heading, notices, saving

WHY = (
    "A drill plants known faults into a copy of the index in memory, and counts what this set and `ragviz check "
    "--baseline` notice. The index, the documents and the runs stay as they are."
)
DIMENSIONS = {"place": "Kind of place", "document": "Document", "type": "Question type", "style": "Style"}


def show(question_set: QuestionSet, indexes: Sequence[IndexInfo]) -> None:
    """Draw the choices of a drill, and what the last one found; `indexes` are those that it can be made on."""
    st.caption(WHY)
    built = [info for info in indexes if info.build]
    if not built:
        st.markdown("Build an index first: a drill alters a copy of it.")
    elif not question_set.asked:
        st.markdown("The set asks no question: accept some first.")
    fact = _stored(cache.state(question_set.id))
    if built and question_set.asked:
        _start(question_set, built, fact)
    if fact is not None:
        _found(question_set, fact)


@st.cache_data(show_spinner=False, max_entries=32)
def _stored(of: cache.State) -> dict[str, Any] | None:
    return drill.stored(cache.workspace(), cache.workspace().store.sets.get(of.ids[0]))


def _start(question_set: QuestionSet, indexes: Sequence[IndexInfo], last: Mapping[str, Any] | None) -> None:
    """Draw the choices, at first those of the `last` drill, and the button; one that is active is shown here too."""
    model = cache.workspace().settings.model_configured
    with st.container(horizontal=True, vertical_alignment="bottom"):
        names = [info.name for info in indexes]
        name = names[0]
        if len(names) > 1:
            name = st.selectbox("Index", names, key=f"drill-index-{question_set.id}", format_func=visible)
        info = next(each for each in indexes if each.name == name)
        retrievers, before = offered(info.config), last or {}
        place = retrievers.index(before["retriever"]) if before.get("retriever") in retrievers else 0
        retriever = st.selectbox("Retriever", retrievers, place, key=f"drill-retriever-{info.id}")
        k = st.number_input(
            "k",
            1,
            50,
            min(before.get("k", 3), 50),
            key=f"drill-k-{question_set.id}",
            help="Chunks that hold the evidence.",
        )
        repetitions = st.number_input(
            "Plantings", 1, 500, drill.REPETITIONS, key=f"drill-many-{question_set.id}",
            help="How often each fault is planted in each strength, in other places each time.",
        )  # fmt: skip
        answerer = st.selectbox(
            "Answers", drill.ANSWERERS if model else drill.ANSWERERS[:2], 1, key=f"drill-answers-{question_set.id}",
            help="Swapped numbers, a cut context and injected instructions show only in what is answered.",
        )  # fmt: skip
        active = job_panel.active_job("drill", question_set.corpus_id, questions=question_set.name)
        label = "Drill it again" if last else "Drill this set"
        kind: Literal["primary", "secondary"] = "secondary" if last else "primary"
        if st.button(label, type=kind, key=presses.key("drill"), disabled=active is not None):
            arguments = {"questions": question_set.name, "index": info.name, "retriever": retriever, "k": int(k)}
            arguments |= {"repetitions": int(repetitions), "answerer": answerer}
            with notices.errors_shown():
                title = f"Drill {question_set.name}"
                job_panel.submit("drill", "drill", title, question_set.corpus_id, arguments)
                st.rerun()
    if active is not None:
        share, words = job_panel.job_words(active, time.time(), None)
        st.progress(share, text=words)


def _found(question_set: QuestionSet, fact: Mapping[str, Any]) -> None:
    older = question_set.version - fact["set_version"]
    most = max((found["repetitions"] for found in fact["faults"]), default=0)
    since = f", {wording.counted(older, 'version')} of the set ago" if older > 0 else ""
    st.caption(
        f"Drilled {wording.ago(fact['date'])}{since}: {fact['metric']} by {fact['retriever']} on "
        f"{plain(fact['index'])}, {wording.counted(fact['questions'], 'question')} about "
        f"{wording.counted(fact['documents'], 'document')}, {wording.counted(fact['chunks'], 'chunk')}; "
        f"{wording.counted(most, 'planting')} of a fault and size at most."
    )
    noticed = drill_words.noticed_words(fact)
    st.markdown(f"**{plain(noticed[0])}**")
    for line in noticed[1:]:
        st.markdown(plain(line))
    left, right = st.columns([3, 2], gap="medium")
    with left, notices.errors_shown():
        heading.section("What is noticed")
        titles = {name: fault.title.capitalize() for name, fault in FAULTS.items() if not fault.cuts}
        figure.draw(drill_plots.noticed(fact, titles, POINTS), f"drill-{question_set.id}")
    with right, notices.errors_shown():
        heading.section("What it cannot notice")
        st.markdown("\n".join(f"- {plain(line)}" for line in drill_words.cannot_words(fact)))
    with notices.errors_shown():
        _faults(fact)
    with notices.errors_shown():
        _parts(fact)


def _faults(fact: Mapping[str, Any]) -> None:
    """Draw the table of faults and strengths, the unaltered index last."""
    rows = pd.DataFrame([_fault_row(each) for each in fact["faults"]] + [_alarm_row(fact)])
    with widgets.above_table("drill-faults"):
        heading.section("By fault and strength")
        saving.button(rows, f"{fact['set']}-drill", "drill-csv")
    shown: dict[str, Any] = {
        name: st.column_config.ProgressColumn(min_value=0, max_value=1, format="percent", width=101) for name in _SHARES
    }
    shown |= {name: st.column_config.TextColumn(width=width) for name, width in (("Fault", 135), ("Strength", 75))}
    shown |= {
        "Evidence altered": st.column_config.NumberColumn(
            format="%.1f points", width=105, help="Points of recall that the altered chunks carry, by counting."
        ),
        "Change": st.column_config.NumberColumn(format="%+.1f points", width=95, help="Measured change of recall."),
        "Plantings": st.column_config.NumberColumn(width=70),
    }
    widgets.table(
        rows.drop(columns="Note"),
        "drill-faults",
        columns=shown,
        height="content",
        alt="Faults planted, and what is noticed",
    )
    for note in dict.fromkeys(f"{row['Fault']}: {row['Note']}" for _, row in rows.iterrows() if row["Note"]):
        st.caption(f"{plain(note)}.")
    st.caption(plain(" · ".join(f"{fault.title.capitalize()}: {fault.help}" for fault in FAULTS.values())))
    st.caption(
        "Evidence altered: of evidence removed it may be more than the strength, because chunks that move up answer "
        "some of the questions; more is taken until recall has changed by that much. "
        "Called worse: by the comparison, with the questions in their own words: nothing but the fault differs. "
        "With noise: each side asks the questions in other wordings, as systems differ in more than one fault; of the "
        "index that was not altered, that is the rate of false alarms. Answers worse, gate on answers: the same two "
        "decisions about the token F1 of the answers, for faults that no ranking shows."
    )


_SHARES = ("Called worse", "Gate stops", "Worse with noise", "Gate with noise", "Answers worse", "Gate on answers")


def _fault_row(found: Mapping[str, Any]) -> dict[str, Any]:
    fault, of, noisy, answers = FAULTS[found["fault"]], found["repetitions"], found["noisy"], found["answers"]
    counts = [found["worse"], found["stopped"], noisy["worse"], noisy["stopped"]]
    told = [None] * 4 if fault.cuts or not of else [count / of for count in counts]
    of_answers = [answers["worse"] / of, answers["stopped"] / of] if answers and of else [None, None]
    strength = f"{100 * found['strength']:.0f} % left" if fault.cuts else drill_words.points(found["strength"])
    return {
        "Fault": fault.title.capitalize(),
        "Strength": strength,
        "Evidence altered": 100 * found["points"] if of and not fault.cuts else None,
        "Change": 100 * found["change"] if of and not fault.cuts else None,
        **dict(zip(_SHARES, [*told, *of_answers], strict=True)),
        "Plantings": of,
        "Note": f"not planted, {found['reason']}" if found["reason"] else "",
    }


def _alarm_row(fact: Mapping[str, Any]) -> dict[str, Any]:
    alarms = fact["false_alarms"]
    of = alarms["repetitions"]
    told = dict(zip(_SHARES, [0.0, 0.0, alarms["worse"] / of, alarms["stopped"] / of, None, None], strict=True))
    row = {"Fault": "Not altered", "Strength": "", "Evidence altered": 0.0, "Change": 0.0, **told, "Plantings": of}
    return row | {"Note": ""}


def _parts(fact: Mapping[str, Any]) -> None:
    """Draw the table of parts: whether a loss of all evidence in each is noticed."""
    rows = pd.DataFrame(
        {
            "By": [DIMENSIONS[row["by"]] for row in fact["where"]],
            "Part": [row["name"] for row in fact["where"]],
            "Chunks": pd.array([row["chunks"] or None for row in fact["where"]], dtype="Int64"),
            "Questions": [row["questions"] for row in fact["where"]],
            "Change": [row["change"] for row in fact["where"]],
            "All of it lost": [_lost_words(row) for row in fact["where"]],
        }
    )
    with widgets.above_table("drill-parts"):
        heading.section("By where")
        saving.button(rows, f"{fact['set']}-drill-parts", "drill-parts-csv")
    columns = {"Change": st.column_config.NumberColumn(format="%+.3f", help="Of recall, when all evidence is lost.")}
    height = widgets.height_of(len(rows), 12)
    widgets.table(rows, "drill-parts", columns=columns, height=height, alt="Parts, and whether their loss is noticed")


def _lost_words(row: Mapping[str, Any]) -> str:
    if not row["questions"]:
        return "never noticed: nothing is asked"
    if not row["worse"]:
        return "not noticed"
    if row["stopped"]:
        return "called worse, stopped by the gate"
    return "called worse; passes the gate: its interval reaches the loss that is allowed"
