"""Where real runs lost their questions: on an index behind its documents, and with whole documents as evidence."""

import json

from ragviz.core.configuration import IndexConfig, RunConfig
from ragviz.documents import corpora
from ragviz.index import indexing
from ragviz.questions import staleness
from ragviz.report import run_report
from ragviz.runs import judgements, running
from tests.builders import added, asking
from tests.test_formats_in import lines
from tests.test_ingest import zipped

RULES = [f"Rule {n} of the {name} office holds on day {n}." for n, name in enumerate(["north", "south", "east"], 20)]


def test_a_run_on_an_index_behind_its_documents_says_so(workspace, command_line, monkeypatch):
    store = workspace.store
    corpus = added(workspace, "rules", dict.fromkeys(("one.md", "two.md"), "\n\n".join(RULES)))
    question_set = asking(workspace, corpus, [("one.md", rule, rule, "day") for rule in RULES for _ in range(2)])
    config = IndexConfig(embedder="", chunk_size=30, chunker="sentences")
    indexing.build_index(workspace, corpus, "index", config)
    with staleness.refreshing(workspace, corpus):
        corpora.add_file(workspace, corpus, "one.md", "\n\n".join(["Preface.", *RULES]).encode(), replace=True)
    choice = RunConfig(store.indexes.get("index").id, question_set.id, "bm25", k=2)
    behind = running.run(workspace, "behind", choice)
    assert set(judgements.judgement_of(workspace, behind).causes.values()) == {"not_indexed"}
    code, out, err = command_line("results", "behind")
    assert code == 0, err
    said = " ".join(err.split())
    assert "Not in the index: 6 questions. The index was behind its documents when the run was made" in said
    assert "parsed" not in out + err
    question = json.loads(command_line("inspect", "behind", "q0", "--json")[1])
    assert question["cause"] == "not_indexed"
    page = run_report.report(workspace, behind).decode()
    assert "an index that is behind its documents" in page
    assert "update the index, and make the run again" in page
    indexing.build_index(workspace, corpus, "index", config)
    now = running.run(workspace, "now", choice)
    assert set(judgements.judgement_of(workspace, now).causes.values()) == {"fine"}
    assert "unindexed" not in now.provenance


def test_a_judged_document_is_not_lost_by_chunking(workspace, command_line, monkeypatch, tmp_path):
    """BEIR: each document is two chunks long; that one of them is found is all that its judgement asks for."""
    filler = "This part tells of other matters, at some length and in other words."
    entries = [
        {"_id": f"d{n}", "title": f"Office {name}", "text": f"The {name} office opens at {n}. {filler}"}
        for n, name in enumerate(["northern", "southern", "eastern", "western", "upper", "lower"], 7)
    ]
    queries = [{"_id": f"q{e['_id']}", "text": e["text"].partition(".")[0]} for e in entries]
    rows = ["query-id\tcorpus-id\tscore", *(f"q{e['_id']}\t{e['_id']}\t1" for e in entries)]
    members = {"corpus.jsonl": lines(entries), "queries.jsonl": lines(queries), "qrels/test.tsv": "\n".join(rows)}
    (tmp_path / "beir.zip").write_bytes(zipped(members))
    code, _, err = command_line("questions", "import", "beir", tmp_path / "beir.zip", "--name", "judged")
    assert code == 0, err
    store = workspace.store
    corpus, question_set = store.corpora.get("beir"), store.sets.get("judged")
    indexing.build_index(workspace, corpus, "index", IndexConfig(embedder="", chunk_size=16, chunker="sentences"))
    cuts = store.indexes.cuts(store.indexes.get("index").build, store.indexes.get("index").documents)
    assert {len(of) for of in cuts.values()} == {2}, "each document is two chunks"
    run = running.run(workspace, "run", RunConfig(store.indexes.get("index").id, question_set.id, "bm25", k=1))
    assert set(judgements.judgement_of(workspace, run).causes.values()) == {"fine"}
