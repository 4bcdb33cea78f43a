"""The health of a question set: what it notices, its checks with their effect and quarantine, plan, drill, coverage."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

import pandas as pd
import streamlit as st

from ragviz.core.configuration import IndexInfo, Run
from ragviz.core.document import Corpus
from ragviz.core.question import Question
from ragviz.core.question_set import QuestionSet
from ragviz.health import contents, effects, examination, material, quarantine, synthetic
from ragviz.health.effects import Effect
from ragviz.health.examination import Examination
from ragviz.health.finding import Found
from ragviz.health.set_checks import CHECKS
from ragviz.questions import staleness
from ragviz.questions.question_types import TYPE_TITLES
from ragviz.service import question_verbs
from ragviz.text.markup import highlighted, plain
from ragviz.ui import address, cache, coverage_view, drill_view, generation_tab, job_panel, passages, wording
from ragviz.ui.kit import acting, heading, notices, table

FOLD = 40
"""Characters around the evidence of the question that is shown, beside the list; the others are folded."""
UNKNOWN = "press the row to see how to know it"
ANCHOR = "questions-found"


def draw(corpus: Corpus, question_set: QuestionSet, index: IndexInfo | None) -> None:
    """Draw what a set can and cannot notice, then the tab that is open."""
    made = _examined(question_set, index)
    runs = material.runs_of(cache.workspace(), question_set)
    newest = material.ways(runs)[:1]
    questions = {question.id: question for question in cache.questions_in(question_set)}
    if made is not None:
        sentences = [escape(sentence) for sentence in contents.verdict(made.contents)]
        st.html(f'<p class="rv-verdict">{" ".join(sentences)}</p>')
        on = f"index {made.index}" if made.index else "no index: rarity of words and other chunks are not known"
        version = f"version {made.version}" if made.version else "before its first edit"
        words = [f"{wording.counted(made.contents.questions, 'question')} of {question_set.name}", version, f"on {on}"]
        types = contents.types_words(made.contents)
        st.caption(plain(f"{', '.join([*words, wording.ago(made.created)])}{f' · {types}' if types else ''}"))
    if index is not None:
        notices.behind(index)
    if note := synthetic.banner([run.config for run in runs], [q.generator for q in questions.values() if q.asked]):
        st.warning(plain(note))
    parts = {
        "Checks": lambda: _checks(corpus, question_set, index, made, newest, questions),
        "Planned and made": lambda: generation_tab.planned_and_made(question_set),
        "Drill": lambda: drill_view.show(question_set, index),
        "Coverage map": lambda: coverage_view.draw(corpus, question_set, index, newest),
    }
    notices.tabs(parts, "health-tab")


def _examined(question_set: QuestionSet, index: IndexInfo | None) -> Examination | None:
    """Return the newest examination; a small set is examined here when it has changed, a large one by a button."""
    opened = cache.workspace()
    made = examination.kept(opened, question_set)
    if made is not None and examination.is_current(opened, question_set, index, made):
        return made
    if examination.is_quick(question_set, index):
        with st.spinner("Checking the questions"):
            return examination.examine(opened, question_set, index)
    new = question_verbs.examine(cache.workspace(), question_set, index)
    going = job_panel.active_job("health", question_set.corpus_id, **new.arguments)
    with st.container(horizontal=True, vertical_alignment="center", gap="small", border=True):
        changed = "Questions, documents, index or runs have changed since the set was checked."
        st.markdown(changed if made else "This set was not checked yet.", width="stretch")
        label = "Check it again" if made else "Check it"
        job_panel.button(label, "examine", lambda: new, active=going, going="Checking…", kind="primary")
    return made


@cache.kept(16, "Measuring without the questions found")
def _effects(run: Run, question_set: QuestionSet, state: str) -> dict[str, Effect]:
    """Return the effects on the headline score of a run of what every check found, or holds in quarantine, by key."""
    opened = cache.workspace()
    made, headline = examination.kept(opened, question_set), effects.headline(opened, run, cache.summary(run))
    if headline is None or made is None or made.state != state:
        return {}
    questions = cache.questions_in(question_set)
    return {
        key: effects.effect(headline, quarantine.concerned(questions, key, found)) for key, found in made.found.items()
    }


def _checks(
    corpus: Corpus,
    question_set: QuestionSet,
    index: IndexInfo | None,
    made: Examination | None,
    runs: Sequence[Run],
    questions: Mapping[str, Question],
) -> None:
    if made is None:
        st.caption("Nothing is known of its questions until they are checked.")
        return
    measured = _effects(runs[0], question_set, made.state) if runs else {}
    found = {key: made.found.get(key, Found()) for key in CHECKS}
    counts = {key: len(_concerned(each, questions)) for key, each in found.items()}
    if index is None:
        with notices.empty(f"{plain(corpus.name)} has no index: how rare words are is not known."):
            address.link("index", "Build an index", corpus=corpus.name)
    rows = pd.DataFrame(
        {
            "Check": check.title,
            "Found": "?" if found[key].unknown else f"{counts[key]:,}",
            "Quarantined": len(quarantine.held_by(questions.values(), key)) or None,
            "Score without them": UNKNOWN
            if found[key].unknown
            else effects.words(measured[key])
            if key in measured and not check.of_outcomes
            else "–",
        }
        for key, check in CHECKS.items()
    )
    whole = next(iter(measured.values()), None)
    table.draw(
        rows,
        "checks",
        alt="Checks of the questions",
        above=plain(effects.head(whole)) if whole else wording.counted(len(rows), "check"),
        file=f"{question_set.name}-checks",
        columns={"Check": 300, "Found": 70, "Quarantined": 90, "Score without them": 400},
        among=list(CHECKS),
        opened=lambda key: address.put(check=key, question=None),
    )
    if not runs:
        with notices.empty("No run has asked this set: what a check does to the scores is not known."):
            address.link("run", "Make a run", set=question_set.name)
    requested = address.readable("check", address.one_of(CHECKS), f"one of {', '.join(CHECKS)}")
    st.html(f"<span id='{ANCHOR}'></span>")
    if requested:
        heading.scroll_into_view(ANCHOR, f"{question_set.id} {requested}")
    if chosen := requested or next((key for key in CHECKS if counts[key]), None):
        _list(corpus, question_set, chosen, found[chosen], questions)


def _concerned(found: Found, questions: Mapping[str, Question]) -> list[Question]:
    listed = [questions[f.question_id] for f in found.findings if f.question_id in questions]
    return [question for question in listed if question.asked or staleness.is_set_aside(question)]


def _buttons(question_set: QuestionSet, key: str, concerned: Sequence[Question], held: int) -> None:
    opened, ids = cache.workspace(), [question.id for question in concerned if question.asked]
    explained = "No run asks them until they are released; the set gets a version, and nothing is deleted."
    with st.container(horizontal=True, gap="xsmall"):
        quarantines = bool(ids) and not CHECKS[key].of_outcomes
        if quarantines and st.button(
            f"Quarantine {len(ids):,}", key=f"quarantine-{key}", help=explained, disabled=acting.off()
        ):
            question_verbs.quarantine(opened, question_set, key, ids)
            st.rerun()
        back = "They are asked again, with the status they had."
        if held and st.button(f"Release {held:,}", key=f"release-{key}", help=back, disabled=acting.off()):
            question_verbs.release(opened, question_set, key)
            st.rerun()
        if aside := len(concerned) - len(ids):
            address.link("questions", f"Mend {aside:,}", set=question_set.name, status="stale", tab="Review")


def _list(corpus: Corpus, question_set: QuestionSet, key: str, found: Found, questions: Mapping[str, Question]) -> None:
    check = CHECKS[key]
    heading.section(plain(check.title))
    st.markdown(f"{check.what} *How:* {plain(check.how)}")
    if said := " ".join(filter(None, (found.unknown, found.note))):
        st.caption(plain(said))
    held = [question.id for question in quarantine.held_by(questions.values(), key)]
    _buttons(question_set, key, _concerned(found, questions), len(held))
    words = dict.fromkeys(held, "put into quarantine by this check")
    words |= {finding.question_id: finding.words for finding in found.findings if finding.question_id in questions}
    if not words:
        st.caption("It found no question.")
        return
    rows = pd.DataFrame(
        {"Question": questions[i].text, "Why": why, "Status": questions[i].status, "Id": i} for i, why in words.items()
    )
    left, right = st.columns([3, 2], gap="medium")
    with left:
        table.draw(
            rows,
            "found",
            alt=f"Questions found by the check: {check.title}",
            above=f"**{wording.counted(len(rows), 'question')}**",
            file=f"{question_set.name}-{key}",
            columns={"Question": 225, "Why": 185, "Status": 85, "Id": 138},
            among=list(words),
            turn=key,
            opened=lambda question_id: address.put(question=question_id),
            most=9,
            lines=2,
        )
    with right, st.container(border=True):
        chosen = address.readable("question", address.one_of(words), "a question that this check found")
        question = questions[chosen or next(iter(words))]
        about = [TYPE_TITLES.get(question.type, "") if question.type else "", question.status, words[question.id]]
        st.caption(plain(" · ".join(filter(None, about))))
        st.markdown(f"**{plain(question.text)}**")
        st.html(highlighted(question.answer or "(no answer given)", language=question.language))
        passages.evidence_groups(corpus.id, question, fold=FOLD)
        address.link("questions", "Edit it", set=question_set.name, edit=question.id)
