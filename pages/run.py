from dataclasses import asdict

import streamlit as st

from ragviz import jobs, pipeline, ui
from ragviz.errors import UsageError
from ragviz.markup import plain
from ragviz.records import IndexInfo, QuestionSet, Run, RunConfig
from ragviz.retrieve import RETRIEVERS

WAYS = {
    "knn": "Nearest chunks by the similarity of embeddings: finds meaning, blurs names and numbers.",
    "bm25": "Chunks that share words with the question: exact on names and numbers, blind to paraphrase.",
    "hybrid": "Both, fused by reciprocal rank.",
}

workspace = ui.begin()
store = workspace.store


def form(indexes: list[IndexInfo], sets: list[QuestionSet], earlier: Run | None) -> tuple[str, RunConfig]:
    """All choices of a run; the defaults run with one click."""
    start = earlier.config if earlier else RunConfig("", "")
    with st.container(border=True):
        st.markdown("**Retrieve**")
        left, right = st.columns(2)
        with left:
            index_name = ui.choose("Index", [i.name for i in indexes], "index")
        with right:
            set_name = ui.choose("Question set", [s.name for s in sets], "set")
        index = next(i for i in indexes if i.name == index_name)
        asked = next(s for s in sets if s.name == set_name)
        way = st.segmented_control(
            "Retriever", list(RETRIEVERS), default=start.retriever, required=True, key=f"way-{start.hash()}"
        )
        st.caption(WAYS.get(way, ""))
        one, two, three = st.columns(3)
        k = one.number_input(
            "k",
            1,
            1000,
            start.k,
            key=f"k-{start.hash()}",
            help="Chunks kept of each ranking. Every other k can be looked at later without a new run.",
        )
        depth = two.number_input(
            "Depth",
            1,
            1000,
            max(start.depth, 1),
            key=f"depth-{start.hash()}",
            help="How deep rankings are kept: a target below it counts as missed.",
        )
        seed = three.number_input(
            "Seed", 0, 2**31 - 1, start.seed, key=f"seed-{start.hash()}", help="Of the intervals' resampling."
        )
    with st.container(border=True):
        st.markdown("**Name**")
        suggested = ui.free_name(f"{index.name}-{way}", {run.name for run in store.runs()})
        name = st.text_input("Name", suggested, max_chars=200, label_visibility="collapsed", key=f"name-{suggested}")
    return name.strip(), RunConfig(index.id, asked.id, way, int(k), int(depth), int(seed), start.rrf_constant)


def cost(config: RunConfig) -> None:
    """What the run will take."""
    asked = store.question_set(config.questions)
    n = asked.total - asked.counts.get("rejected", 0)
    index = store.index(config.index)
    st.markdown("**What it takes**")
    one, two = st.columns(2)
    with one:
        ui.tile("Retrievals", f"{n:,}", f"over {ui.counted(index.chunks, 'chunk')}")
    with two:
        ui.tile("Model calls", "0", "nothing to pay")
    wait = 12 if config.retriever != "bm25" else 3
    seconds = wait + n * 0.02
    st.caption(f"About {ui.duration(seconds)}, most of it for loading the embedder." if wait > 3 else "A few seconds.")
    if rejected := asked.counts.get("rejected", 0):
        st.caption(f"{ui.counted(rejected, 'rejected question')} left out.")
    if proposed := asked.counts.get("proposed", 0):
        st.caption(f"{ui.counted(proposed, 'question')} proposed and not reviewed yet; they are asked too.")


def earlier_runs(runs: list[Run]) -> None:
    if not runs:
        return
    st.markdown("**Runs of this corpus**")
    for run in runs[:8]:
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            if run.status == "done":
                ui.link("results", run.name, run=run.name, k=run.config.k)
            else:
                st.markdown(f"{plain(run.name)} ({run.status})")
            st.caption(f"{run.config.retriever}, k = {run.config.k} · {ui.ago(run.created)}")


def outcome() -> None:
    job = ui.finished_job("run", corpus.id)
    if job is None:
        return
    with st.container(border=True, horizontal=True, vertical_alignment="center"):
        st.markdown(f"**Run {plain(job.result['run'])} is done.**", width="stretch")
        if st.button("Open its results", type="primary"):
            ui.put_away(job)
            ui.go_to("results", run=job.result["run"], k=None)
        if st.button("Close", type="tertiary", key="close-run"):
            ui.put_away(job)
            st.rerun()


corpus = ui.need_corpus()
ui.header("Run", f"Ask the questions about {corpus.name}, and keep where their evidence ranks.")
indexes = [i for i in store.indexes(corpus.id) if i.build]
sets = [s for s in store.question_sets(corpus.id) if s.total]
if not indexes or not sets:
    missing = "an index" if not indexes else "questions"
    with ui.nothing(f"A run needs an index and questions; there are no {missing.removeprefix('an ')} yet."):
        ui.link("index" if not indexes else "questions", f"Make {missing}")
    st.stop()
outcome()
runs = store.runs(corpus.id)
left, right = st.columns([3, 2], gap="medium")
with left:
    names = [run.name for run in runs]
    again = st.selectbox("Start from", ["The defaults", *names], key="start-from") if names else None
    name, config = form(indexes, sets, next((run for run in runs if run.name == again), None))
    if st.button("Run", type="primary", disabled=not name):
        with ui.errors_shown():
            pipeline.check_run(config)
            if name in {run.name for run in store.runs()}:
                raise UsageError(f"There is already a run called “{name}”: choose another name.")
            arguments = {"name": name, "config": asdict(config)}
            ui.watch(jobs.submit(workspace, "run", f"Run {name}", corpus.id, arguments))
            st.rerun()
with right:
    cost(config)
    earlier_runs(runs)
