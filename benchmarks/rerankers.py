"""What rerankers gain and cost: recall@3 and MRR by each retriever alone and reranked, and seconds for a question.

The corpus is the sample (90 questions with evidence), or with `--spans FOLDER` two long documents with questions about
spans of them, as in brandonstarxel/chunking_evaluation: `state_of_the_union.md`, `wikitexts.md`, `questions.csv`. Each
question goes through a run as users make them. `gain` is the difference of the means to the retriever alone, with the
95 % interval of the paired difference; `seconds` those that the reranker took for a question, the vectors
of the tokens of every distinct chunk included, which are computed once for all questions. All are measured on the test
half of a stratified split (seed 0) too. Prints one JSON line.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ragviz import sample
from ragviz.core.configuration import IndexConfig, Run, RunConfig
from ragviz.core.settings import Settings
from ragviz.documents import corpora
from ragviz.index import indexing
from ragviz.questions import exchange, sets
from ragviz.runs import comparisons, measurements, running, sample_runs
from ragviz.workspace import Workspace

RETRIEVERS = ("knn", "bm25", "hybrid")
DOCUMENTS = ("state_of_the_union", "wikitexts")
K = 3


def spans(workspace: Workspace, folder: Path) -> tuple[str, str]:
    """Import two documents and the questions about them; return the names of corpus and question set."""
    corpus = workspace.store.corpora.add("spans")
    for name in DOCUMENTS:
        corpora.add_file(workspace, corpus, f"{name}.md", (folder / f"{name}.md").read_bytes())
    exchange.import_data(workspace, corpus, (folder / "questions.csv").read_bytes(), "questions.csv", "spans")
    return corpus.name, "spans"


def measured(run: Run, workspace: Workspace) -> dict[str, Any]:
    """Return means of a run, and the seconds that its reranker took for a question."""
    summary = measurements.summary_of(workspace, run, K, curves=False)
    found = {name: round(summary.metrics[name].mean or 0, 4) for name in (f"recall@{K}", "mrr")}
    took = run.provenance.get("reranking")
    seconds = {"seconds": round(took["seconds"] / took["questions"], 3)} if took else {}
    return found | {"n": summary.metrics["mrr"].n} | seconds


def gain(workspace: Workspace, before: Run, after: Run) -> dict[str, Any]:
    """Return the differences of the means of two runs, with their 95 % intervals."""
    compared = comparisons.compare_runs(workspace, [before, after], K)
    differences = {name: compared.metrics[name].deltas[0].difference for name in (f"recall@{K}", "mrr")}
    return {name: [round(value, 4) for value in (d.mean, d.low, d.high)] for name, d in differences.items()}


def rows(workspace: Workspace, config: RunConfig, rerankers: Sequence[str]) -> list[dict[str, Any]]:
    """Make a run by each retriever, alone and with each reranker."""
    found, side = [], config.split
    for retriever in RETRIEVERS:
        alone = running.run(workspace, f"{retriever} alone {side}", replace(config, retriever=retriever))
        found.append({"ranked by": retriever} | measured(alone, workspace))
        for name in rerankers:
            chosen = replace(config, retriever=retriever, reranker=name)
            run = running.run(workspace, f"{retriever} + {name} {side}", chosen)
            row = {"ranked by": chosen.ranked_by} | measured(run, workspace)
            found.append(row | {"gain": gain(workspace, alone, run)})
            if fit := run.provenance["reranking"].get("fit"):
                found[-1]["fit"] = fit
    return found


def benchmark(workspace: Workspace, options: argparse.Namespace) -> dict[str, Any]:
    """Return what is printed."""
    if options.spans:
        corpus_name, question_set = spans(workspace, options.spans)
    else:
        sample_runs.load_corpus(workspace)
        corpus_name, question_set = sample.NAME, sample_runs.SAMPLE_QUESTIONS
    corpus = workspace.store.corpora.get(corpus_name)
    indexing.build_index(workspace, corpus, "measured", IndexConfig(chunk_size=options.chunk_size))
    index, asked = workspace.store.indexes.get("measured"), workspace.store.sets.get(question_set)
    sets.split(workspace, asked, "stratified", 0.5, 0)
    config, names = RunConfig(index.id, asked.id, k=K, rerank_depth=options.depth), options.rerankers.split(",")
    return {
        "benchmark": "rerankers",
        "corpus": corpus_name,
        "chunk_size": options.chunk_size,
        "chunks": index.chunks,
        "depth": options.depth,
        "all questions": rows(workspace, config, names),
        "test side": rows(workspace, replace(config, split="test"), names),
    }


def main() -> None:
    """Make the runs one after the other."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--spans", type=Path, help="folder of the documents and their questions; else the sample")
    parser.add_argument("--chunk-size", type=int, default=200)
    parser.add_argument("--rerankers", default="maxsim", help="names, with commas between them")
    parser.add_argument("--depth", type=int, default=50, help="chunks that are reranked")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.environ["RAGVIZ_HOME"] = folder
        workspace = Workspace(Settings(_env_file=None, home=Path(folder)))
        print(json.dumps(benchmark(workspace, options)))


if __name__ == "__main__":
    main()
