"""Question sets from files of any format, and to them: the tab *Import*, what an import did, and the export."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import partial
from typing import Any

import pandas as pd
import streamlit as st

from ragviz.core.document import Corpus
from ragviz.core.job import Job
from ragviz.core.question_set import QuestionSet
from ragviz.questions import exchange
from ragviz.questions.formats import input_file, set_formats
from ragviz.service import question_verbs
from ragviz.text.markup import plain
from ragviz.ui import address, cache, job_panel, presses, wording
from ragviz.ui.kit import acting, form, notices, table

AT_ONCE = 2**20
"""Bytes that are imported while the page waits; more are imported by a job, and the page stays live."""
OWN = """One question a row, as CSV or JSONL: `question`, `answer`, and the location of its evidence, as one of

- `document` and `quote`: words that occur there once
- `quote`, `context` or `passage` alone: looked up in all documents
- `document`, `start` and `end`: characters of the parsed text
- `chunk_id`
- `evidence`: a JSON list of such locations, when a question needs several

A row with an answer and no evidence is reference only: its answer can be judged, its ranking cannot be measured. One
with neither is refused, unless it is marked `unanswerable`. Usual other names are read too, as `ground_truth`."""
FEW_DOCUMENTS = 1_000
"""Documents of a corpus that are read while the page waits; with more of them an import is a job, too."""
_SHOWN = 5_000  # rows of problems that are drawn; the file has all
_MEDIA = {"csv": "text/csv", "jsonl": "application/x-ndjson", "json": "application/json", "zip": "application/zip"}
_DONE = "imported"  # session state: the outcome of the import that was made while the page waited


def show(corpus: Corpus, suggested: str) -> None:
    """Draw the form that imports files, and what can be imported."""
    left, right = st.columns([3, 2], gap="medium")
    with left, st.form("import", clear_on_submit=False):
        uploads = st.file_uploader(
            "Files: one of questions, a .zip or the files of BEIR, topics and qrels of TREC",
            accept_multiple_files=True,
            key="import-files",
        )
        titles = {set_formats.AUTO: "Recognised"}
        titles |= {name: each.title for name, each in set_formats.FORMATS.items()}
        file_format = st.selectbox("Format", list(titles), format_func=titles.__getitem__, key="import-format")
        with st.expander("More"):
            split = st.text_input(
                "Judgements", key="import-split", placeholder="test and dev",
                help="Of BEIR: the name of one file in qrels (train, test …), or all.",
            )  # fmt: skip
        name = form.suggested_name("Set name", "import-name", suggested, used_by=presses.key("import-questions"))
        going = job_panel.active_job("import", corpus.id) is not None
        label = "Importing…" if going else "Import"
        pressed = st.form_submit_button(
            label, type="primary", key=presses.key("import-questions"), disabled=going or acting.off()
        )
        if pressed and uploads and name:
            with notices.errors_shown():
                given = [(upload.name, upload.getvalue()) for upload in uploads]
                _import(corpus, given, {"name": name, "format": file_format, "split": split})
    with right:
        st.markdown(OWN)
        with st.expander("Other formats"):
            for each in list(set_formats.FORMATS.values())[2:]:
                st.markdown(f"**{each.title}**: {each.holds}.")


def _import(corpus: Corpus, given: Sequence[tuple[str, bytes]], chosen: Mapping[str, Any]) -> None:
    workspace, name = cache.workspace(), str(chosen["name"])
    is_small = sum(input_file.unpacked(data) for _, data in given) <= AT_ONCE
    if is_small and workspace.store.corpora.holdings(corpus.id)["documents"] <= FEW_DOCUMENTS:
        brought = [file for each, data in given for file in input_file.from_bytes(each, data)]
        with presses.once("import-questions"):
            outcome = question_verbs.import_now(
                workspace, corpus, brought, name, str(chosen["format"]), str(chosen["split"])
            )
        st.session_state[_DONE] = asdict(outcome)
        st.session_state.pop("import-name-suggested", None)
        if outcome.imported:
            address.put(set=name, question=None)
        st.rerun()
    job_panel.submit_files(
        "import-questions",
        given,
        lambda folder, staged, upload: question_verbs.import_files(
            workspace, corpus, name, staged, chosen, folder, upload
        ),
    )


def outcome(corpus: Corpus, shown: str) -> None:
    """Draw what the last import did to the set `shown`, or that it stored nothing, with every row left out and why."""
    job = job_panel.finished_job("import", corpus.id)
    result = st.session_state.get(_DONE) or (job.result if job else None)
    if not result:
        return
    name = result["questions"]
    if result["imported"] and name != shown:
        return
    with notices.closable("close-import", lambda: _close(job)):
        documents = f" and {wording.counted(result['documents'], 'document')}" if result["documents"] else ""
        title = set_formats.FORMATS[result["format"]].title
        words = f"{wording.counted(result['imported'], 'question')}{documents} imported into {plain(name)}"
        st.markdown(f"**{words}**, from {title}")
        find = "Find their evidence in the documents"
        if result["reference_only"] and st.button(find, type="primary", key="find-imported"):
            address.put(set=name, tab="Find evidence", question=None)
            _close(job)
            st.rerun()
        for note in result["notes"]:
            st.caption(plain(note))
        if not result["key"]:
            return
        rows, left_out = _rows(str(result["key"])), int(result["problems"])
        parts = [f"{wording.counted(left_out, 'row')} skipped"] if left_out else []
        if repaired := int(result["repaired"]):
            parts.append(f"{wording.counted(repaired, 'row')} imported otherwise than written")
        with table.row_above("problems", f":orange[▲] {', '.join(parts)}"):
            table.download(lambda: rows, f"{result['questions']}-import", "problems-csv")
        columns = {"Row": table.number(60), "Reason": table.text("large"), "File": 150}
        table.draw(rows.head(_SHOWN), "problems", alt="Rows skipped or changed", columns=columns, most=4, lines=2)


def _close(job: Job | None) -> None:
    if st.session_state.pop(_DONE, None) is None and job is not None:
        job_panel.dismiss(job)


@st.cache_data(show_spinner=False, max_entries=4)
def _rows(key: str) -> pd.DataFrame:
    problems = exchange.problems_of(cache.workspace(), key)
    rows = {"Row": [p.row for p in problems], "Reason": [p.reason for p in problems]}
    several = len({p.file for p in problems}) > 1
    return pd.DataFrame(rows | ({"File": [p.file for p in problems]} if several else {}))


def export(question_set: QuestionSet) -> None:
    """Draw the popover that exports a set in every format, and says what each cannot carry."""

    def exported(name: str) -> bytes:
        return exchange.export_set(cache.workspace(), question_set, name).data

    with st.popover("Export…"):
        for name, each in set_formats.WRITTEN.items():
            whole = each.lacks.startswith("nothing")
            lacks = "importing the file restores the same questions" if whole else f"lacks {each.lacks}"
            one, two = st.columns([1, 4], vertical_alignment="center")
            one.download_button(
                each.title, partial(exported, name), set_formats.file_name(question_set.name, name),
                _MEDIA[each.extension], key=f"export-{name}", on_click="ignore", width="stretch",
            )  # fmt: skip
            two.caption(plain(lacks.rstrip(".")))
