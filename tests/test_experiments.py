"""Experiments end to end: grids, declarations, sweeps that are killed and resumed, failing cells, confirmation."""

import csv
import io
import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from functools import partial

import pytest

from ragviz.core.configuration import IndexConfig, RunConfig
from ragviz.core.errors import UsageError
from ragviz.core.settings import Settings
from ragviz.experiments import confirming, declaring, findings, grid, sweeping
from ragviz.index import indexing
from ragviz.library.project import Project
from ragviz.questions import sets
from ragviz.runs import comparisons, exports, measurements, overviews, running
from ragviz.service import experiment_verbs, target_verbs
from ragviz.workspace import Workspace
from tests.builders import added, asking
from tests.model_server import ModelServer
from tests.system_server import SystemServer
from tests.test_pages import address, bare, button, show, visit, words  # noqa: F401 - fixtures

TOPICS = ("pump", "valve", "boiler", "filter", "turbine", "sensor", "gearbox", "compressor")


def filled(workspace):
    """A corpus of eight documents with three questions about each, split into validation and test."""
    asked = ("When was the {} installed?", "How heavy is the {}?", "How often is the {} inspected?")
    texts, rows = {}, []
    for number, topic in enumerate(TOPICS):
        facts = [
            f"The {topic} was installed in {1990 + number}.",
            f"Its weight is {100 + number} kilograms, which the crane can lift.",
            f"The {topic} is inspected every {number + 2} months by the night shift.",
        ]
        padding = " ".join(f"Note {n} on the {topic} concerns paint and labels." for n in range(20))
        texts[f"{topic}.txt"] = "\n\n".join([facts[0], padding, *facts[1:]])
        rows += [(f"{topic}.txt", fact, text.format(topic), fact) for fact, text in zip(facts, asked, strict=True)]
    asking(workspace, added(workspace, "plant", texts), rows)
    return sets.split(workspace, workspace.store.sets.get("asked"), "stratified")


@pytest.fixture
def question_set(workspace):
    return filled(workspace)


def declared(workspace, question_set, name="chunks", *, split="validation", rule=None, **values):
    """An experiment over the product of these values, BM25 without vectors unless they say otherwise."""
    picks = grid.crossed({"embedder": ["none"]} | values)
    planned = grid.planned(workspace, question_set, picks, split=split)
    rule = declaring.rule_of(planned, **{"primary": "recall@1", "minimum_effect": 0.05} | (rule or {}))
    return declaring.declare(workspace, name, question_set, planned, rule, split)


def test_the_product_leaves_out_what_is_impossible_and_has_equal_cells_once(workspace, question_set):
    values = {"embedder": ["none", "all-MiniLM-L6-v2"], "retriever": ["bm25", "hybrid"], "rrf_constant": [10, 60]}
    planned = grid.planned(workspace, question_set, grid.crossed(values), split="validation")
    assert [cell.name for cell in planned.cells] == [
        "no embedder bm25",
        "all-MiniLM-L6-v2 bm25",
        "all-MiniLM-L6-v2 hybrid RRF 10",
        "all-MiniLM-L6-v2 hybrid RRF 60",
    ]
    assert list(planned.left_out) == ["no embedder hybrid RRF 10", "no embedder hybrid RRF 60"]
    assert "built without an embedder" in planned.left_out["no embedder hybrid RRF 10"]
    assert {cell.run.split for cell in planned.cells} == {"validation"}


def test_a_rule_cannot_be_changed_once_a_result_was_seen(workspace, question_set):
    first = declared(workspace, question_set, chunk_size=[20, 40])
    assert declared(workspace, question_set, chunk_size=[20, 40]) == first, "the same again"
    other = declared(workspace, question_set, chunk_size=[20, 40], rule={"minimum_effect": 0.1})
    assert (other.id, other.rule.minimum_effect) == (first.id, 0.1), "no result was seen yet"
    sweeping.sweep(workspace, other)
    for changed in ({"rule": {}}, {"split": ""}, {"chunk_size": [20, 40, 60]}):
        choices = {"chunk_size": [20, 40], "rule": {"minimum_effect": 0.1}} | changed
        with pytest.raises(UsageError, match="was seen: its rule, questions and cells stay"):
            declared(workspace, question_set, **choices)


# Sweeps


def test_cells_share_indexes_and_rankings_and_have_the_numbers_of_single_runs(workspace, question_set, monkeypatch):
    asked, single = [], running.retriever_of

    def counting(*given, **more):
        retrieve = single(*given, **more)
        return lambda questions, depth: asked.extend(questions) or retrieve(questions, depth)

    monkeypatch.setattr(running, "retriever_of", counting)
    experiment = declared(workspace, question_set, chunk_size=[20, 40], retriever=["bm25"], k=[1, 2])
    assert sweeping.sweep(workspace, experiment) == {"experiment": "chunks", "done": 4, "failed": 0}
    indexes = workspace.store.indexes.all()
    assert [info.name for info in indexes] == ["plant tokens 20 no embedder", "plant tokens 40 no embedder"]
    assert len(asked) == 2 * 12, "each of the 12 validation questions once in each index: no k is a re-run"
    outcome = findings.outcome_of(workspace, workspace.store.experiments.get("chunks"))
    alone = RunConfig(indexes[1].id, question_set.id, "bm25", k=1, split="validation")
    made = running.run(workspace, "alone", alone)
    summary = findings.overviews.summaries(workspace, [made])[made.id]
    row = next(row for row in outcome.rows if row.cell.name == "40 k 1")
    assert row.estimate == summary.estimates["recall@1"]
    tokens = [row.price.tokens for row in outcome.rows]
    assert tokens[0] < tokens[1]
    assert outcome.rows[1].delta.verdict == "equal", "recall@1 does not depend on the k of a run"
    stored = json.loads(json.dumps(findings.to_json(outcome)))
    assert [cell["state"] for cell in stored["cells"]] == ["done"] * 4


def test_a_sweep_over_k_is_decided_by_each_ones_own_k(workspace, question_set):
    """Its estimates are those of the cells' runs, each at its own k; a rule with a k is of that k for all."""
    experiment = declared(workspace, question_set, split="", chunk_size=[20], k=[1, 2, 5], rule={"primary": "recall"})
    assert experiment.rule.primary == "recall@own"
    sweeping.sweep(workspace, experiment)
    experiment = workspace.store.experiments.find("chunks")
    comparison = findings.of_cells(workspace, experiment).comparison
    runs = [*findings.runs_of(workspace, experiment).values()]
    own = [summary.estimates for summary in overviews.summaries(workspace, runs).values()]
    expected = [of[f"recall@{k}"].mean for of, k in zip(own, (1, 2, 5), strict=True)]
    assert [each.mean for each in comparison.rows["recall@own"].estimates] == expected
    assert expected[0] < expected[1] <= expected[2]
    picked, whole = ("\n".join(comparisons.compare_runs(workspace, some).notes) for some in (runs[:2], runs))
    note = "2 of these runs are cells of the experiment 'chunks', which tries 3"
    assert note in picked
    assert note not in whole
    fixed = declared(workspace, question_set, "fixed", chunk_size=[20], k=[1, 2, 5], rule={"primary": "recall@2"})
    assert fixed.rule.primary == "recall@2"
    one = declared(workspace, question_set, "one", chunk_size=[20, 40], k=[2], rule={"primary": "recall"})
    assert one.rule.primary == "recall@2"


def test_the_baseline_is_the_newest_run_that_a_person_made(workspace, question_set):
    """It is a cell of its own, judged and asked as the others; of a cell that equals it the name; and it stays."""
    values = {"embedder": ["none"], "chunk_size": [20, 40], "k": [3]}
    planned = grid.planned(workspace, question_set, grid.crossed(values), split="validation")
    named = partial(experiment_verbs.with_baseline, workspace, "chunks", question_set, planned)
    assert named() == (planned, ""), "there is no run: the first cell"
    corpus = workspace.store.corpora.get("plant")
    indexing.build_index(workspace, corpus, "small", IndexConfig(embedder="", chunk_size=30))
    config = RunConfig(workspace.store.indexes.get("small").id, question_set.id, "bm25", k=5, limit=2)
    running.run(workspace, "mine", config)
    with_mine, baseline = named()
    assert (baseline, [cell.name for cell in with_mine.cells]) == ("as mine", ["as mine", "20", "40"])
    first = with_mine.cells[0]
    assert (first.index.chunk_size, first.run.k, first.run.split, first.run.limit) == (30, 5, "validation", 0)
    assert named("mine") == (with_mine, "as mine")
    assert named("40") == (planned, "40")
    rule = declaring.rule_of(with_mine, primary="recall@1", minimum_effect=0.05, baseline=baseline)
    sweeping.sweep(workspace, declaring.declare(workspace, "chunks", question_set, with_mine, rule, "validation"))
    assert named()[1] == "as mine", "the runs of cells are no baseline, and the declared one stays"
    indexing.build_index(workspace, corpus, "forty", IndexConfig(embedder="", chunk_size=40))
    running.run(workspace, "same", replace(config, limit=0, index=workspace.store.indexes.get("forty").id, k=3))
    other = experiment_verbs.with_baseline(workspace, "another", question_set, planned)
    assert other == (planned, "40"), "an equal cell is the baseline"


def test_rankings_are_taken_over_only_where_they_would_be_the_same(workspace, question_set):
    experiment = declared(workspace, question_set, chunk_size=[20, 40])
    sweeping.sweep(workspace, experiment)
    run = workspace.store.runs.get(workspace.store.experiments.get("chunks").cells[0].run_id)
    index = workspace.store.indexes.get(run.config.index)
    questions = workspace.store.rankings.questions(run.id)

    def taken(**changes):
        config = RunConfig(**{"index": index.id, "questions": question_set.id, "retriever": "bm25"} | changes)
        fresh = workspace.store.runs.add(f"r{changes}", run.corpus_id, config, "f", run.provenance)
        return running.take_rankings(workspace, fresh, index, questions)

    assert taken(k=5, split="validation") == len(questions)
    assert taken(k=5, split="validation", rrf_constant=3) == len(questions), "bm25 fuses nothing"
    assert taken(depth=10, split="validation") == taken() == taken(reranker="maxsim", split="validation") == 0
    rebuilt = sweeping.replace(index, built=time.time())
    fresh = workspace.store.runs.add("again", run.corpus_id, run.config, "f", run.provenance)
    assert running.take_rankings(workspace, fresh, rebuilt, questions) == 0, "the index was built since"


# Confirmation


def test_the_test_side_is_asked_once(workspace, question_set, command_line):
    experiment = declared(workspace, question_set, k=[2, 1])
    with pytest.raises(UsageError, match="has not chosen a configuration yet"):
        confirming.check(workspace, experiment)
    sweeping.sweep(workspace, experiment)
    experiment = workspace.store.experiments.get("chunks")
    conclusion = findings.of_cells(workspace, experiment).conclusion
    assert (conclusion.decision, conclusion.chosen, conclusion.choice.by) == ("ship", "k 1", "tokens")
    assert "Confirm it on questions" in command_line("experiments", "show", "chunks")[1]
    assert confirming.confirm(workspace, experiment) == {
        "experiment": "chunks",
        "baseline": "chunks · test · k 2",
        "chosen": "chunks · test · k 1",
    }
    experiment = workspace.store.experiments.get("chunks")
    chosen = workspace.store.runs.get(experiment.confirmation.chosen_run)
    assert (chosen.config.split, chosen.provenance["n"]) == ("test", 12)
    on_test, _ = findings.confirmed(workspace, experiment)
    said = on_test.conclusion
    assert (on_test.comparison.runs, said.same_questions, said.final) == (("k 2", "k 1"), False, True)
    with pytest.raises(UsageError, match="was confirmed on test already"):
        confirming.confirm(workspace, experiment)
    out = command_line("experiments", "show", "chunks")[1]
    assert ("Confirmed on test" in out, "Confirm it on questions" in out) == (True, False)
    workspace.store.runs.delete(chosen.id)
    assert "the test side was seen" in findings.outcome_of(workspace, experiment).lost


def test_a_configuration_is_labelled_that_was_chosen_on_its_own_questions(workspace, question_set):
    project = Project(workspace)
    tried = project.sweep("asked", "chunks", embedder=["none"], k=[2, 1], primary="recall@1", guardrails=["tokens=2x"])
    assert (tried.outcome.conclusion.chosen, list(tried.cells()["state"])) == ("k 1", ["done", "done"])
    baseline, chosen = (
        workspace.store.runs.get(cell.run_id) for cell in workspace.store.experiments.get("chunks").cells
    )
    said = "Experiment 'chunks' chose this configuration on the questions of this run"
    assert measurements.chosen_words(chosen).startswith(said)
    assert measurements.chosen_words(baseline) == ""
    assert chosen.set_name == "asked (validation, chosen on it)"
    for run, mark in ((chosen, "chunks"), (baseline, None)):
        files = exports.export_run(workspace, run) | exports.export_run(workspace, run, ["means"], files=())
        for name in ("metrics.csv", "means.csv", "results.csv"):
            rows = csv.DictReader(io.StringIO(files[name].decode("utf-8-sig")))
            assert {row.get("chosen_by") or None for row in rows} == {mark}, name
        assert {json.loads(line).get("chosen_by") for line in files["results.jsonl"].splitlines()} == {mark}
    assert said in repr(project.open_run(chosen.name))
    assert any(said in note for note in comparisons.compare_runs(workspace, [baseline, chosen]).notes)
    assert "Confirmed on test. Ship k 1" in repr(project.confirm(tried))
    on_test = workspace.store.runs.get(workspace.store.experiments.get("chunks").confirmation.chosen_run)
    assert measurements.chosen_words(on_test) == ""
    with pytest.raises(UsageError, match="chunks is no choice"):
        project.sweep("asked", "other", chunks=[1])


# Killed and resumed, paid once


ANSWERED = "sweep plant --questions asked --name judged --embedder none --retriever bm25 --chunk-size 20,40,60 -k 1,2 "
ANSWERED += "--answerer model --metrics equivalence,context_precision --primary equivalence --split validation --json"


@pytest.mark.model
def test_a_sweep_that_is_killed_again_and_again_pays_nothing_twice(tmp_path):
    """Six cells judged by a model over HTTP; each kill comes a little later than the one before."""

    def swept(home, kills):
        with ModelServer() as server:
            environment = os.environ | {"RAGVIZ_HOME": str(home), "OPENAI_BASE_URL": server.url}
            environment |= {"OPENAI_API_KEY": "none-needed", "RAGVIZ_MODEL": "loopback"}
            filled(Workspace(Settings(_env_file=None, home=home)))
            command = [sys.executable, "-m", "ragviz", *ANSWERED.split()]
            for calls in kills:
                process = subprocess.Popen(
                    command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
                )
                deadline = time.monotonic() + 60
                while len(server.bodies) < calls and process.poll() is None and time.monotonic() < deadline:
                    time.sleep(0.01)
                process.send_signal(signal.SIGKILL)
                process.wait()
            done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
            asked = [json.dumps(request, sort_keys=True) for request in server.bodies]
        return json.loads(done.stdout), asked

    whole, once = swept(tmp_path / "whole", [])
    killed, asked = swept(tmp_path / "killed", [3, 60, 140])
    numbers = [(cell["name"], cell["estimate"], cell["delta"]) for cell in whole["cells"]]
    assert [(cell["name"], cell["estimate"], cell["delta"]) for cell in killed["cells"]] == numbers
    assert all(cell["estimate"]["n"] for cell in whole["cells"])
    assert set(asked) == set(once)
    assert len(set(once)) == len(once), "control items too are asked once a sweep"
    repeated = len(asked) - len(set(asked))
    assert repeated <= 3 * (8 + 3), "only calls in flight when it was killed are asked again, and 3 control items"


def test_a_running_system_is_a_cell_beside_what_is_built_here(workspace, question_set):
    facts = {each.text: each.answer for each in workspace.store.questions.all(question_set.id)}
    with SystemServer(
        lambda body: {"answer": "See there.", "sources": [facts[body["question"]]], "wrong": ["Bees."]}
    ) as server:
        given = {"url": server.url, "body": '{"id": "{{id}}", "question": "{{question}}"}'}
        target_verbs.add(workspace, "good", given | {"contexts": "sources"})
        target_verbs.add(workspace, "blind", given | {"contexts": "wrong"})
        values = {"system": ["none", "good", "blind"], "retriever": ["bm25"], "k": [1]}
        experiment = declared(workspace, question_set, rule={"baseline": "blind"}, **values)
        assert [cell.name for cell in experiment.cells] == ["tokens 200 bm25", "good", "blind"]
        assert sweeping.sweep(workspace, experiment) == {"experiment": "chunks", "done": 3, "failed": 0}
        assert sweeping.sweep(workspace, workspace.store.experiments.get("chunks"))["done"] == 3
        assert (len(server.paid), set(server.paid.values())) == (12, {2}), "each question once of each system"
        experiment = workspace.store.experiments.get("chunks")
        means = {
            name: overviews.overview(workspace, run).summary.metrics["recall@1"].mean
            for name, run in findings.runs_of(workspace, experiment).items()
        }
        assert (means["good"], means["blind"]) == (1.0, 0.0)
        assert findings.of_cells(workspace, experiment).conclusion.chosen != "blind"
        confirming.confirm(workspace, experiment)
        assert sum(server.paid.values()) >= 24 + 12, "the test side too"
