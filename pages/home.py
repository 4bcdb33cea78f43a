import base64
import html
from functools import partial
from pathlib import Path

import streamlit as st

from ragviz import connections, sample
from ragviz.analysis import outcomes
from ragviz.core.configuration import Run
from ragviz.core.document import Corpus
from ragviz.jobs import queue
from ragviz.runs import overviews
from ragviz.service import corpus_verbs
from ragviz.text.markup import plain
from ragviz.ui import (
    address,
    cache,
    compared_runs,
    experiment_view,
    frame,
    job_panel,
    presentation,
    run_rankings,
    run_scores,
    run_table,
    wording,
)
from ragviz.ui.kit import heading, notices, table

workspace = frame.begin()
store = workspace.store
corpus = frame.current_corpus()
runs = store.runs.all(corpus.id) if corpus is not None else []

ABOUT = (
    "ragviz shows at which step each question of a RAG system is lost, and which sentence of which document would have "
    "answered it."
)
PICTURE = Path(__file__).parent.parent / "assets" / "lost.svg"
ORANGE = "#D55E00"
DOORS = (
    (
        "I have a running system",
        "Bring in a file of what it answered, or its endpoint, and see where it loses answers. Documents are not "
        "needed.",
        "targets",
        "Bring in its answers",
    ),
    (
        "I have documents",
        "Upload them, build an index, generate questions, and see what is found and answered.",
        "documents",
        "Add documents",
    ),
    (
        "Show me the sample",
        "12 documents, 100 questions, an experiment: about a minute, without a key or a network.",
        "",
        "Load the sample",
    ),
)
"""The ways in: title, what it takes and gives, page ("": the sample is loaded), verb."""


def picture() -> None:
    """Draw where questions are lost, with its title as alternative text.

    The orange arrows are a picture; all else is a mask over the colour of the text, so that it follows the theme, of
    which the server may not know at the first visit.
    """
    lines = PICTURE.read_text(encoding="utf-8").splitlines()
    arrows, ink = ([line for line in lines if (ORANGE in line) is kept or "svg" in line] for kept in (True, False))
    described = html.escape("".join(lines).partition("<title>")[2].partition("</title>")[0], quote=True)
    st.html(
        f'<div role="img" aria-label="{described}" style="max-width: 60rem; background: {_url(arrows)} 0 / 100%">'
        f'<div style="aspect-ratio: 870 / 160; background: currentColor; mask: {_url(ink)} 0 / 100%"></div></div>'
    )


def _url(drawing: list[str]) -> str:
    encoded = base64.b64encode("".join(drawing).encode()).decode()
    return f"url(data:image/svg+xml;base64,{encoded})"


def sample_button(label: str, *, primary: bool = False) -> None:
    busy, kind = job_panel.active_job("sample", ""), "primary" if primary else "secondary"
    new = partial(corpus_verbs.load_sample, workspace)
    job_panel.button(label, "load-sample", new, active=busy, going="Loading the sample…", kind=kind)


def doors() -> None:
    for column, (title, words, page, verb) in zip(st.columns(3), DOORS, strict=True):
        with column.container(border=True, height="stretch"):
            st.markdown(f"**{title}**")
            st.caption(words)
            if not page:
                sample_button(verb, primary=True)
            elif st.button(verb, type="primary", key=f"door-{page}"):
                address.go_to(page)


def steps(corpus: Corpus) -> None:
    documents = [d for d in store.documents.all(corpus.id) if d.status == "ok"]
    indexes = [i for i in store.indexes.all(corpus.id) if i.status == "ready"]
    questions = sum(question_set.asked for question_set in store.sets.all(corpus.id))
    done = [run for run in runs if run.status == "done"]
    path = [
        ("documents", "Documents", "Add documents", wording.counted(len(documents), "document"), bool(documents)),
        ("index", "Index", "Build an index", wording.counted(len(indexes), "index"), bool(indexes)),
        ("questions", "Questions", "Generate questions", wording.counted(questions, "question"), questions > 0),
        ("run", "Run", "Run the questions", wording.counted(len(done), "run"), bool(done)),
        ("results", "Results", "Look at the results", "ready", bool(done)),
    ]
    first = next((place for place, step in enumerate(path) if not step[4]), len(path))
    builds = any(job.corpus_id == corpus.id and queue.made_by(job, "index") for job in job_panel.active_jobs())
    name = plain(corpus.name)
    if done and not documents:  # what another system answered takes none of these steps
        heading.section(name)
        what_next(corpus, done)
        return
    heading.section(f"Next step for {name}" if first < len(path) else f"{name}: every step is done")
    for place, (column, (page, title, verb, state, is_done)) in enumerate(zip(st.columns(5), path, strict=True)):
        with column.container(border=True, height="stretch", gap="xsmall"):
            waits = place > first and not is_done
            if place == first or waits:
                st.markdown(f"**{place + 1} · {title}**")
            else:
                address.link(page, f"{place + 1} · {title}")
            is_built = page == "index" and builds
            status = "being built" if is_built else "after the previous step" if waits else "next"
            st.caption(f"{state} ✓" if is_done else status)
            if place == first and is_built:
                address.link(page, "See its progress")
            elif place == first and st.button(verb, type="primary", key=f"step-{page}", width="stretch"):
                address.go_to(page)
    if first == len(path):
        what_next(corpus, done)


def what_next(corpus: Corpus, done: list[Run]) -> None:
    tried = next((each for each in store.experiments.all(corpus.id) if len(each.finished) > 1), None)
    if tried is not None:
        with notices.errors_shown():
            outcome = cache.outcome(tried)
            st.html(f'<p class="rv-verdict">{html.escape(outcome.sentence)}</p>')
            if (compared := experiment_view.compared(outcome, outcome.on_test or outcome.measured)) is not None:
                compared_runs.differences(compared)
    else:
        with notices.errors_shown():
            newest, k = done[0], done[0].config.k
            summary = cache.summary(newest, k)
            run_scores.verdict_line(newest, k)
            if (counted := outcomes.count(summary.ranks, k)).total:
                run_rankings.outcome_bar(counted, k, summary.depth)
                st.caption(plain(outcomes.sum_words(counted, k, summary.depth)))
    page, verb, place = "run", "Run another configuration", {}
    if tried is not None:
        page, verb, place = "experiment", f"Experiment {tried.name}", {"experiment": tried.name}
    elif done[0].knows.opaque:
        page, verb, place = "results", f"Results of {done[0].name}", {"run": done[0].name}
    elif len(done) > 1:
        page, verb = "compare", "Compare the runs"
    with st.container(horizontal=True, vertical_alignment="center", gap="medium"):
        if st.button(plain(verb), type="primary", key="next"):
            address.go_to(page, **place)
        if corpus.name == sample.NAME:
            address.link("documents", "Add your own documents", new=1)


def recent(corpus: Corpus) -> None:
    of_experiments = {run_id for each in store.experiments.all(corpus.id) for run_id in cache.runs_of(each)}
    newest = ([run for run in runs if run.id not in of_experiments] or runs)[:8]
    means = overviews.summaries(workspace, newest)
    metrics = run_table.metrics_of(means.values())
    headline = [title for title in run_table.columns_of(metrics) if title in metrics][:2]
    table.draw(
        run_table.rows(
            newest, means, queue.run_statuses(workspace, newest), [*headline, "Made (UTC)", "Status"], metrics
        ),
        "recent",
        alt="Recent runs",
        columns=run_table.column_configs(metrics) | {"Run": 145},
        among=newest,
        goes=lambda run: address.go_to("results", run=run.name, k=run.config.k),
        lines=2,  # a name may need two
        empty="–",
    )
    if len(runs) > len(newest):
        address.link("runs", f"All {len(runs):,} runs")


@st.cache_data(ttl=20, show_spinner=False)
def checks(*configured: str) -> list[connections.Check]:
    """Return the status of what is configured, cached for twenty seconds: checking a server that is down is slow."""
    return connections.checks(cache.workspace())


STATUS = {"works": ":blue[●]", "optional": ":gray[○]", "broken": ":orange[▲]"}
WORDS = {"works": "", "optional": "optional, ", "broken": "does not work: "}


heading.header("Home", ABOUT)
corpora = store.corpora.all()
if not corpora:
    doors()
    picture()
if corpus is not None and not presentation.on():
    steps(corpus)
with st.container(key="beside-runs"):
    left, right = st.columns([3, 2], gap="medium") if corpora else (None, st.container())
if left is not None:
    with left:
        heading.section("Recent runs")
        if corpus is not None and runs:
            with notices.errors_shown():
                recent(corpus)
        else:
            st.caption(
                "No runs yet. A run retrieves chunks for every question of a set and records how its evidence ranks."
            )
with right:
    heading.section("System status")
    with notices.errors_shown():
        settings = workspace.settings
        names = (settings.embedder, settings.elasticsearch_url, settings.openai_base_url, settings.model)
        for check in checks(store.address, *map(str, names), str(settings.model_configured)):
            with st.container(gap=None):
                st.markdown(f"{STATUS[check.status]} **{check.name}** {WORDS[check.status]}{plain(check.detail)}")
                if check.fix:
                    st.caption(plain(check.fix))
    if corpora and sample.NAME not in {c.name for c in corpora}:
        sample_button("Load the sample too")
