import json
from collections.abc import Mapping
from dataclasses import asdict
from functools import partial
from itertools import count
from typing import Any

import pandas as pd
import streamlit as st

from ragviz import sample
from ragviz.core.endpoint_choices import PRESETS, Endpoint
from ragviz.core.fields import fields_of
from ragviz.models import requests
from ragviz.service import corpus_verbs, run_verbs, target_verbs
from ragviz.targets import endpoint, logged_file
from ragviz.targets.logged_item import Log, Reading
from ragviz.text.markup import plain, shortened
from ragviz.ui import address, frame, job_panel, presses, wording
from ragviz.ui.kit import acting, form, heading, notices, table

workspace = frame.begin()
store = workspace.store
corpus = frame.current_corpus()
AT_ONCE = 2_000
"""Items that are imported while the page waits; more are imported by a job."""
FIRST = 5
OFTEN = ("question", "answer", "contexts", "reference")
"""Roles that are offered at once; others are when a column has them, or under More."""
SEVERAL = ("contexts", "scores")
NO_DOCUMENTS, OWN_QUESTIONS = "None", "Its own"


# A file of what a system said


@st.cache_data(show_spinner="Reading the file", max_entries=8)
def reading(file_id: str, name: str, _data: bytes, roles: tuple[tuple[str, str], ...]) -> Reading:
    return logged_file.read(_data, name, roles=dict(roles))


def file_tab() -> None:
    """Draw the import of a file: nothing is stored before its roles are right."""
    file = st.file_uploader(
        "File of what your system answered: a row a question, or a row a passage that it read",
        type=list(logged_file.EXTENSIONS),
        key="log-file",
    )
    if file is None:
        for each in logged_file.FORMATS.values():
            st.caption(plain(each[0].upper() + each[1:]))
        return
    with notices.errors_shown():
        guessed = reading(file.file_id, file.name, file.getvalue(), ())
        left, right = st.columns([3, 2], gap="medium")
        with left:
            heading.section("What is what")
            roles = chosen_roles(guessed, file.file_id)
        found = reading(file.file_id, file.name, file.getvalue(), tuple(roles.items())) if roles else guessed
        log = found.logs[0]
        if len(found.logs) > 1:
            names = [each.system for each in found.logs]
            shown = left.pills("Systems, each a run", names, default=names[0], key=f"system-{file.file_id}")
            log = found.logs[names.index(shown)] if shown else log
        first_items(log)
        with right:
            import_form(file.name, file.file_id, file.getvalue(), found, roles)


def chosen_roles(guessed: Reading, file_id: str) -> dict[str, str]:
    if not guessed.columns:
        return {}
    roles: dict[str, str] = {}
    at_once = [name for name in logged_file.ROLES if name in OFTEN or guessed.roles.get(name)]
    with st.grid(2, min_column_width=180):
        for name in at_once:
            roles |= chosen_column(name, guessed, file_id)
    with st.expander("More"), st.grid(2, min_column_width=180):
        for name in logged_file.ROLES:
            if name not in at_once:
                roles |= chosen_column(name, guessed, file_id)
    return roles


def chosen_column(name: str, guessed: Reading, file_id: str) -> dict[str, str]:
    role, before = logged_file.ROLES[name], guessed.roles.get(name, "")
    known = [before] if before in guessed.columns else [each for each in guessed.columns if each in before.split(", ")]
    most = None if name in SEVERAL else 1
    picked = ", ".join(
        st.multiselect(
            role.label, guessed.columns, known, max_selections=most, help=role.explanation, placeholder="–",
            key=f"role-{name}-{file_id}",
        )
    )  # fmt: skip
    return {name: picked} if picked != before else {}


def first_items(log: Log) -> None:
    heading.section(f"The first {min(FIRST, len(log.items))} of {wording.counted(len(log.items), 'item')}")
    rows = [
        {
            "Question": item.question,
            "Answer": item.answer if item.answer is not None else item.error,
            "Contexts": len(item.contexts),
            "First context": shortened(item.contexts[0].text, 300) if item.contexts else "",
            "Reference": item.reference,
            "Scores": ", ".join(f"{name} {value:g}" for name, value in item.scores.items()),
        }
        for item in log.items[:FIRST]
    ]
    frame = pd.DataFrame(rows)
    texts = {name: table.text("medium") for name in ("Question", "Answer", "First context", "Reference")}
    empty = [name for name in ("First context", "Reference", "Scores") if not frame[name].any()]
    table.draw(
        frame.drop(columns=empty), "first-items", alt="First items", columns=texts | {"Contexts": 70}, most=FIRST
    )
    if log.lacks:
        st.warning(log.told[0])
    if log.problems:
        with st.expander(f":orange[▲] {wording.counted(len(log.problems), 'item')} incomplete or left out"):
            problems = pd.DataFrame({"Reason": log.problems})
            table.draw(problems, "problems", alt="Problems", columns={"Reason": table.text("large")}, most=10)


@st.cache_data(max_entries=8, show_spinner=False)
def told_of(key: object, _found: Reading) -> tuple[dict[str, int], run_verbs.Judging]:
    return _found.counts, run_verbs.foresee_log(workspace, _found.logs)


def import_form(file_name: str, file_id: str, data: bytes, found: Reading, roles: Mapping[str, str]) -> None:
    heading.section("What is known")
    settings, prices = workspace.settings, tuple(sorted(store.prices.all().items()))
    key = file_id, tuple(sorted(roles.items())), settings.openai_base_url, settings.model, settings.judge, prices
    counts, judging = told_of(key, found)
    total = counts.pop("items")
    whole = [name for name, count in counts.items() if count == total]
    st.markdown(f"All {total:,} items have {', '.join(whole)}." if whole else f"{total:,} items.")
    if some := [f"{count:,} have {name}" for name, count in counts.items() if 0 < count < total]:
        st.markdown(f"Of them {', '.join(some)}.")
    st.caption(f"Not known, and not shown: {', '.join(name for name, count in counts.items() if not count)}.")
    cost = "" if judging.cost is None else f", {requests.dollars(judging.cost)}"
    st.caption(f"Judging them later takes at most {wording.counted(judging.calls, 'call')} of a model{cost}.")
    name = form.suggested_name("Name of the run", "imported-name", file_name.rpartition(".")[0] or file_name)
    corpora = [NO_DOCUMENTS, *(each.name for each in store.corpora.all() if each.name != sample.NAME)]
    documents = st.selectbox(
        "Its documents",
        corpora,
        corpora.index(corpus.name) if corpus is not None and corpus.name in corpora else 0,
        key="imported-corpus",
        help="With the documents that the system answers from, its contexts are found in them: evidence has a rank, "
        "and a passage opens in its document. Without them answers and contexts are judged all the same.",
    )
    of_set = ""
    if documents != NO_DOCUMENTS:
        of = store.corpora.get(documents)
        chosen = st.selectbox(
            "Questions", [OWN_QUESTIONS, *(each.name for each in store.sets.all(of.id))],
            key=f"imported-set-{documents}",
            help="Items are joined with the questions of a set, so that the run stands beside others about them.",
        )  # fmt: skip
        of_set = chosen if chosen != OWN_QUESTIONS else ""
    label = f"Import as {len(found.logs)} runs" if len(found.logs) > 1 else "Import"
    if not st.button(label, type="primary", key=presses.key("import-run"), disabled=not name or acting.off()):
        return
    corpus_name = "" if documents == NO_DOCUMENTS else documents
    if total > AT_ONCE:
        given = {"corpus": corpus_name, "questions": of_set, "roles": roles}
        job_panel.submit_files(
            "import-run",
            [(file_name, data)],
            lambda folder, staged, upload: run_verbs.import_run(
                workspace, staged[0], name, folder=folder, upload=upload, **given
            ),
        )
    ensured = corpus_verbs.ensured(workspace, corpus_name or name)
    with presses.once("import-run"), st.spinner("Importing"), ensured as into:
        runs = run_verbs.import_reading(workspace, into, name, found, store.sets.get(of_set) if of_set else None)
    page, shown = ("results", {"run": runs[0].name}) if len(runs) == 1 else ("runs", {})
    address.go_to(page, corpus=into.name, k=None, **shown)


# An endpoint


FIELDS = fields_of(Endpoint)
PARTS = ("answer", "contexts", "ids", "scores", "documents", "prompt_tokens", "completion_tokens")
"""Choices of an endpoint that find a part of a reply."""
OFTEN_SET = ("url", "headers", "body", "answer", "contexts")
"""Choices that are offered at once; the others are under More."""
NEW, NO_PRESET = "New", "None"


def endpoint_tab() -> None:
    stored = {each.name: each for each in store.targets.all()}
    with st.container(horizontal=True):
        chosen = address.choose("Endpoint", [NEW, *stored], "endpoint", width=320)
        preset = NO_PRESET
        if chosen == NEW:
            preset = st.selectbox("Preset", [NO_PRESET, *PRESETS], key="endpoint-preset", width=320)
    if preset != NO_PRESET:
        st.caption(PRESETS[preset].explanation)
    known = asdict(stored[chosen]) if chosen in stored else {}
    start = {name: field.default for name, field in FIELDS.items()}
    start |= PRESETS[preset].choices if preset != NO_PRESET else known
    of = f"{chosen}-{preset}"
    turn, changed = st.session_state.get(
        f"parts-{of}", (0, {})
    )  # the form is drawn anew from what was chosen beside it
    left, right = st.columns(2, gap="medium")
    with left:
        name = st.text_input("Name", known.get("name", ""), key=f"name-{of}", max_chars=200, placeholder="support-bot")
        later = [name for name in FIELDS if name not in OFTEN_SET]
        given = form.draw(list(FIELDS.values()), start | changed, f"{of}-{turn}", more=later)
    with right:
        trial(name, given, of)
        keep(name, given, chosen)
    if chosen in stored:
        ask_all(stored[chosen])


def trial(name: str, given: Mapping[str, Any], of: str) -> None:
    said = f"tested-{of}"
    with st.container(horizontal=True, vertical_alignment="bottom"):
        text = st.text_input("Question", target_verbs.TRIAL, key=f"trial-{of}")
        pressed = st.button(
            "Test",
            key="test-endpoint",
            disabled=acting.off(),
            type="secondary" if said in st.session_state else "primary",
        )
    if pressed:
        st.session_state.pop(said, None)
        with notices.errors_shown(), st.spinner("Asking"):
            described = target_verbs.described(name or "the endpoint", given)
            tried = target_verbs.try_out(workspace, described, text)
            st.session_state[said] = tried
            if tried.item.error and (found := endpoint.guessed(endpoint.parts_of(tried.reply))):
                redraw(of, given, found)
                st.rerun()
    tested: endpoint.Tested | None = st.session_state.get(said)
    if tested is None:
        st.caption("A test shows the request and the reply, in which the answer and the contexts are chosen.")
        return
    with notices.errors_shown():
        tested = target_verbs.read_again(workspace, target_verbs.described(name or "the endpoint", given), tested)
    if tested.item.error:
        st.warning(plain(tested.item.error))
    else:
        st.markdown(f"**Answer** {plain(shortened(tested.item.answer or '', 500))}")
        for number, passage in enumerate(tested.item.contexts, 1):
            where = " · ".join(each for each in (passage.document, passage.id) if each)
            st.caption(
                f"Context {number}{plain(f' · {where}' if where else '')}: {plain(shortened(passage.text, 160))}"
            )
        if not tested.item.contexts:
            st.caption("No contexts: what the system read is not known. Choose them below, if its reply has them.")
    parts = endpoint.parts_of(tested.reply)
    if parts:
        of_part = {value: FIELDS[choice].label for choice in PARTS if (value := str(given[choice]))}
        rows = pd.DataFrame(
            [(path, shortened(str(value), 200), of_part.get(path, "")) for path, value in parts.items()],
            columns=["Part of the reply", "Value", "Is"],
        )

        table.draw(
            rows, "parts", alt="Parts of the reply", columns={"Part of the reply": 170, "Value": 240, "Is": 80},
            among=list(parts), opened=lambda path: st.session_state.update({"part": path}), most=8,
        )  # fmt: skip
        if (path := st.session_state.get("part")) in parts:
            st.pills(
                f"`{path}` is the", PARTS, format_func=lambda choice: FIELDS[choice].label, key="part-is",
                on_change=assign, args=(path, given, of),
            )  # fmt: skip
    with st.expander("Request and reply"):
        st.code(tested.request, language="http")
        st.code(
            tested.reply if isinstance(tested.reply, str) else json.dumps(tested.reply, ensure_ascii=False, indent=2)
        )


def assign(path: str, given: Mapping[str, Any], of: str) -> None:
    if choice := st.session_state.pop("part-is", None):
        redraw(of, given, {choice: path})
    st.session_state.pop("part", None)


def redraw(of: str, given: Mapping[str, Any], changes: Mapping[str, str]) -> None:
    st.session_state[f"parts-{of}"] = (st.session_state.get(f"parts-{of}", (0,))[0] + 1, {**given, **changes})


def keep(name: str, given: Mapping[str, Any], chosen: str) -> None:
    with st.container(horizontal=True):
        save = st.button("Save" if chosen == NEW else "Save changes", key="save-endpoint", disabled=acting.off())
        if chosen != NEW and st.button("Delete", key="delete-endpoint", type="tertiary", disabled=acting.off()):
            sentence = f"Deletes the target {chosen}; the runs that were recorded of it stay."
            notices.confirm(sentence, "Delete", partial(target_verbs.delete, workspace, chosen))
    if save:
        with notices.errors_shown():
            made = target_verbs.add(workspace, name, given, replaces="" if chosen == NEW else chosen)
            address.put(endpoint=made.name)
            st.rerun()


def ask_all(target: Endpoint) -> None:
    heading.section(f"Ask {plain(target.name)} a set of questions")
    sets = {
        f"{each.name} · {wording.counted(each.asked, 'question')} about {of.name}": each
        for of in store.corpora.all()
        for each in store.sets.all(of.id)
        if each.asked
    }
    with st.container(horizontal=True, vertical_alignment="bottom"):
        title = st.selectbox("Questions", list(sets), key="ask-set", placeholder="none yet: bring in a file of them")
        taken = {run.name for run in store.runs.all()}
        number = next(n for n in count(1) if f"{target.name} {n}" not in taken)
        name = form.suggested_name(
            "Name of the run", "ask-name", f"{target.name} {number}", used_by=presses.key("ask-endpoint")
        )
        repeats = st.number_input(
            "Repeats", 1, target_verbs.MOST_REPEATS, 1, width=110, key="ask-repeats",
            help="Asked more than once, it is seen how far the system disagrees with itself.",
        )  # fmt: skip
        if title is not None:
            new = partial(target_verbs.record, workspace, target.name, sets[title], name, {}, int(repeats))
            job_panel.button("Ask", "ask-endpoint", new, disabled=not name, kind="primary")
    if not sets:
        address.link("questions", "Import questions, or write some")
    for of in store.corpora.all():
        if job := job_panel.finished_job("record", of.id):
            with notices.closable(f"close-{job.id}", partial(job_panel.dismiss, job)):
                failed = job.result["unanswered"]
                lost = f" :orange[▲] {wording.counted(failed, 'question')} got no answer: ask again." if failed else ""
                st.markdown(f"**Run {plain(job.result['run'])} is done.**{lost}")
                address.link("results", "Open results", corpus=of.name, run=job.result["run"], k=None)


FROM_PYTHON = """import ragviz

def answer(question):
    found = search(question)
    return generate(question, found), [passage.text for passage in found]

run = ragviz.open().record(answer, "questions", "my-app")"""


def python_tab() -> None:
    st.markdown("Any function of a question, and objects of LangChain, LlamaIndex and Haystack, are asked from Python:")
    st.code(FROM_PYTHON, language="python")
    st.markdown("or from the command line, by the name of its module:")
    st.code("ragviz runs record questions --target my_app:answer --name my-app", language="bash")


heading.header("Targets", "Bring in what a system of yours answered, or have it asked.")
notices.tabs({"File": file_tab, "Endpoint": endpoint_tab, "Python": python_tab}, "targets-tab")
