import pandas as pd
import streamlit as st

from ragviz import jobs, sample
from ragviz.metrics.registry import METRICS
from ragviz.records import Corpus, Run
from ragviz.text.markup import plain
from ragviz.ui import address, cache, frame, heading, job_panel, widgets, wording

workspace = frame.begin()
store = workspace.store
corpus = frame.current_corpus()
runs = store.runs()


def load_sample() -> None:
    job_panel.watch(jobs.submit(workspace, "sample", "Load the sample", "", {}))


def sample_is_loading() -> bool:
    return any(job.kind == "sample" for job in job_panel.active_jobs())


def first_visit() -> None:
    with st.container(border=True):
        st.subheader("See where retrieval loses answers", anchor=False)
        st.markdown(
            "Documents are indexed, questions are run against the index, and every question shows at which rank its "
            "evidence was retrieved, if at all. No key, no server and no network are needed."
        )
        with st.container(horizontal=True):
            busy = sample_is_loading()
            if st.button("Loading the sample…" if busy else "Load the sample", type="primary", disabled=busy):
                load_sample()
                st.rerun()
            address.link("documents", "Start with your own documents")
        st.caption("The sample: 12 documents, 100 questions, two indexes and two runs; about a minute.")


def steps(corpus: Corpus) -> None:
    """Draw the steps, with the first one that is not done as the only primary button."""
    documents = [d for d in store.documents(corpus.id) if d.status == "ok"]
    indexes = [i for i in store.indexes(corpus.id) if i.status == "ready"]
    sets = [s for s in store.question_sets(corpus.id) if s.total]
    done = [run for run in runs if run.corpus_id == corpus.id and run.status == "done"]
    path = [
        ("documents", "Documents", "Add documents", wording.counted(len(documents), "document"), bool(documents)),
        ("index", "Index", "Build an index", wording.counted(len(indexes), "index"), bool(indexes)),
        (
            "questions",
            "Questions",
            "Generate questions",
            wording.counted(sum(s.total for s in sets), "question"),
            bool(sets),
        ),
        ("run", "Run", "Run the questions", wording.counted(len(done), "run"), bool(done)),
        ("results", "Results", "Look at the results", "", False),
    ]
    first = next(place for place, step in enumerate(path) if not step[4])
    for place, (column, (page, title, verb, state, is_done)) in enumerate(zip(st.columns(5), path, strict=True)):
        with column.container(border=True, height="stretch", gap="xsmall"):
            st.markdown(f"**{place + 1} · {title}**")
            waits = place > first and not is_done
            st.caption(f"{state} ✓" if is_done else "after the previous step" if waits else "next")
            if place == first:
                if st.button(verb, type="primary", key=f"step-{page}", width="stretch"):
                    address.go_to(page)
            elif not waits:
                address.link(page, "Open")


def recent(runs: list[Run]) -> None:
    names = {c.id: c.name for c in store.corpora()}
    newest = runs[:8]
    rows = []
    for run in newest:
        summary = cache.summary(run) if run.status == "done" else None
        recall = summary.metrics.get(f"recall@{run.config.k}") if summary else None  # imported runs have none
        rows.append(
            {
                "Run": run.name,
                "Recall@k": None if recall is None else recall.mean,
                "k": run.config.k,
                "n": recall.n if recall else None,
                "Retriever": run.config.retriever,
                "Corpus": names.get(run.corpus_id, ""),
                "When": wording.ago(run.created) if run.status == "done" else run.status,
            }
        )
    columns = {
        "Run": st.column_config.TextColumn(width="medium"),
        "Recall@k": st.column_config.ProgressColumn(
            help=METRICS["recall"].explanation, min_value=0, max_value=1, format="%.2f"
        ),
    }

    def opened() -> None:
        name = widgets.selected(st.session_state["recent"], [run.name for run in newest])
        run = next((run for run in newest if run.name == name), None)
        if run is not None:
            st.session_state["open-run"] = (names.get(run.corpus_id), run.name, run.config.k)

    widgets.table(pd.DataFrame(rows), "recent", columns=columns, on_select=opened, alt="Recent runs")
    if target := st.session_state.pop("open-run", None):
        address.go_to("results", corpus=target[0], run=target[1], k=target[2])


@st.cache_data(ttl=20, show_spinner=False)
def checks(*configured: str) -> list[tuple[str, bool, str, str]]:
    """Return the status of what is configured, cached for twenty seconds: checking a server that is down is slow."""
    return [(check.name, check.ok, check.detail, check.fix) for check in cache.workspace().checks()]


def checklist() -> None:
    settings = workspace.settings
    names = (settings.embedder, settings.elasticsearch_url, settings.openai_base_url, settings.model)
    for name, ok, detail, fix in checks(store.address, *map(str, names), str(settings.model_configured)):
        mark = ":blue[●]" if ok else ":orange[▲]"
        with st.container(gap=None):
            st.markdown(f"{mark} **{name}** {'' if ok else 'does not work: '}{plain(detail)}")
            if fix:
                st.caption(plain(fix))


heading.header("Home", "Contents, system status, and the next step.")
corpora = store.corpora()
if not corpora:
    first_visit()
tiles = (
    ("Corpora", len(corpora)),
    ("Indexes", len(store.indexes())),
    ("Question sets", len(store.question_sets())),
    ("Runs", len(runs)),
)
if corpora:
    with widgets.tiles():
        for name, count in tiles:
            widgets.tile(name, f"{count:,}")
if corpus is not None:
    st.subheader(f"Next step for {plain(corpus.name)}", anchor=False)
    steps(corpus)
left, right = st.columns([3, 2], gap="medium")
with left:
    st.subheader("Recent runs", anchor=False)
    if runs:
        with widgets.errors_shown():
            recent(runs)
    else:
        st.caption(
            "No runs yet. A run retrieves chunks for every question of a set and records how its evidence ranks."
        )
with right:
    st.subheader("System status", anchor=False)
    with widgets.errors_shown():
        checklist()
    if corpora and sample.NAME not in {c.name for c in corpora}:
        st.button("Load the sample too", on_click=load_sample, disabled=sample_is_loading())
