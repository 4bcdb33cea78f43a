import pandas as pd
import streamlit as st

from ragviz import corpora, indexing, ingest, jobs, markup, ui
from ragviz.markup import plain
from ragviz.records import Corpus, Document, DocumentInfo, IndexInfo

PART = 20_000  # characters of a document that are drawn at once

workspace = ui.workspace()
store = workspace.store


def create_corpus() -> None:
    """A form that makes a corpus and looks at it."""
    with st.form("new-corpus", border=False):
        name = st.text_input("Name of the new corpus", placeholder="handbook", max_chars=200)
        if st.form_submit_button("Create corpus", type="primary") and name.strip():
            with ui.errors_shown():
                corpus = store.create_corpus(name)
                ui.put(corpus=corpus.name, document=None)
                st.rerun()


def upload(corpus: Corpus) -> None:
    limit = workspace.settings.max_file_mb
    files = st.file_uploader(
        f"Add files: {ingest.FORMATS}. Up to {limit} MB each.",
        accept_multiple_files=True,
        key=f"files-{st.session_state.get('upload', 0)}",
        max_upload_size=limit,
    )
    if files and st.button(f"Add {ui.counted(len(files), 'file')}", type="primary"):
        folder, staged = corpora.stage(workspace, ((file.name, file.getvalue()) for file in files))
        submit(corpus, str(folder), staged, replace=False)
        st.session_state["upload"] = st.session_state.get("upload", 0) + 1
        st.rerun()


def submit(corpus: Corpus, folder: str, files: list[tuple[str, str]], *, replace: bool) -> None:
    arguments = {"corpus": corpus.name, "folder": folder, "files": files, "replace": replace}
    title = f"{'Replace' if replace else 'Read'} {ui.counted(len(files), 'file')}"
    ui.watch(jobs.submit(workspace, "documents", title, corpus.id, arguments))
