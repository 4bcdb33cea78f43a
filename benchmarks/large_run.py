"""Seconds of script that the pages take for a judged run of 10,000 questions: the first visit, and a rerun.

The run is made up: 200 documents of 50 paragraphs, a question for each paragraph, rankings drawn at random, answers
with claims, verdicts and RAGQuestEval questions, all metrics computed from them; a second run of the same questions is
there to be compared. Each page is visited as Streamlit executes it, without a browser. `first` is with empty caches, as
after the start of a server or a change of the run, `again` the median of reruns, as after every click: each in seconds
of wall time and of processor time, which other programs on the machine lengthen less. `files_s` are the seconds that
the classic files take, which the menu *Download* makes when a button is pressed. Prints one JSON line, with the load of
the machine; exit code 1 when a first visit takes longer than `--most` seconds of processor time. `--home FOLDER` keeps
the runs for the next time.
"""

from __future__ import annotations

import argparse
import cProfile
import gc
import json
import os
import pstats
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import streamlit as st
from streamlit.runtime.scriptrunner import ScriptRunner
from streamlit.runtime.scriptrunner_utils.script_run_context import ScriptRunContext
from streamlit.testing.v1 import AppTest

from ragviz.core.call import Call
from ragviz.core.configuration import IndexConfig, RunConfig
from ragviz.core.document import Chunk, Document, Span
from ragviz.core.question import Question
from ragviz.core.ranking import Ranking, Retrieved
from ragviz.core.recording import Context, Recording
from ragviz.core.verdict import Bank, BankItem, Claim, ClaimVerdict, EvaluatedAnswer, Matrix
from ragviz.metrics import answers as answer_metrics
from ragviz.runs import exports, overviews
from ragviz.store.store import sqlite_url
from ragviz.workspace import Workspace, open_workspace

ROOT = Path(__file__).resolve().parent.parent
DEPTH, K, PARAGRAPHS, BANK, BATCH = 50, 3, 1, 4, 1000
RUNS = ("first", "second")
WORDS = ("pump", "valve", "gate", "tank", "sensor", "motor", "filter", "pipe", "meter", "boiler")
VISITS = {
    "results: Overview": ("results", {"run": "first"}),
    "results: By k and document": ("results", {"run": "first", "tab": "By k and document"}),
    "results: Scores": ("results", {"run": "first", "tab": "Scores"}),
    "results: RAGQuestEval": ("results", {"run": "first", "tab": "RAGQuestEval"}),
    "results: All metrics": ("results", {"run": "first", "tab": "All metrics"}),
    "results: another k": ("results", {"run": "first", "k": "7"}),
    "case": ("inspect", {"run": "first", "question": "q7"}),
    "case: RAGQuestEval": ("inspect", {"run": "first", "question": "q7", "tab": "RAGQuestEval"}),
    "case: Judge calls": ("inspect", {"run": "first", "question": "q7", "tab": "Judge calls"}),
    "runs": ("runs", {}),
    "compare": ("compare", {"runs": ",".join(RUNS)}),
    "case of both": ("inspect", {"runs": ",".join(RUNS), "question": "q7"}),
}
"""What is visited → its page and the parameters of its address."""


# The runs


def paragraph(n: int) -> str:
    """One fact, of which a question is asked."""
    return f"The {WORDS[n % 10]} {n} was built in {1900 + n % 120}. It moves {n * 7 % 997} litres a minute in hall {n}."


def add_documents(workspace: Workspace, corpus_id: str, texts: Sequence[str]) -> list[tuple[str, int, int]]:
    """Store documents of these paragraphs; return document, start and end of each paragraph."""
    cuts = list[tuple[str, int, int]]()
    for place in range(0, len(texts), PARAGRAPHS):
        name, text = f"document-{place // PARAGRAPHS:05d}.md", "\n\n".join(texts[place : place + PARAGRAPHS])
        document_id, start = Document.make_id(name, text), 0
        document = Document(document_id, name, text, (), "en", "text/markdown", name, len(text))
        workspace.store.documents.add(corpus_id, document)
        for part in texts[place : place + PARAGRAPHS]:
            cuts.append((document_id, start, start + len(part)))
            start += len(part) + 2
    return cuts


def made(workspace: Workspace, count: int, names: Sequence[str] = RUNS) -> None:
    """Store the corpus, an index's row, the questions and the runs."""
    store = workspace.store
    corpus = store.corpora.add("large")
    cuts = add_documents(workspace, corpus.id, [paragraph(n) for n in range(count)])
    index = store.indexes.add(corpus.id, "cuts", IndexConfig(embedder=""))
    store.indexes.set_status(index.id, "ready")
    questions = [question(n, cut) for n, cut in enumerate(cuts)]
    question_set = store.sets.add(corpus.id, "asked")
    store.questions.put(question_set.id, questions)
    used = {"index": index.name, "questions": "asked", "ragviz": "0", "n": count}
    identity = dict.fromkeys(("corpus", "questions", "index", "embedder", "metrics"), "")
    used |= {"index_config": asdict(index.config), "identity": identity}
    for seed, name in enumerate(names):
        config = RunConfig(
            index.id, question_set.id, "bm25", k=K, depth=DEPTH, answerer="model", model="a-model", judge="a-judge",
            metrics=tuple(answer_metrics.ANSWER_METRICS),
        )  # fmt: skip
        run = store.runs.add(name, corpus.id, config, name, used)
        for start in range(0, count, BATCH):
            batch = range(start, min(start + BATCH, count))
            results = [(n, questions[n], ranked(n, cuts, random.Random(f"{seed} {n}"))) for n in batch]
            store.rankings.put(run.id, results)
            evaluated = [judged(q, result, random.Random(f"{seed} {n} judged")) for n, q, result in results]
            store.judgements.put(run.id, [(each, answer_metrics.scores(each, config.metrics)) for each in evaluated])
        overviews.finish(workspace, run)


def question(n: int, cut: tuple[str, int, int]) -> Question:
    """A question on paragraph `n`; every 50th has no answer in the documents."""
    text = f"When was the {WORDS[n % 10]} {n} built, and how much does it move?"
    if n % 50 == 49:
        return Question(f"q{n}", text, "", (), "a-model", "accepted")
    answer = f"It was built in {1900 + n % 120}. It moves {n * 7 % 997} litres a minute."
    return Question(f"q{n}", text, answer, ((Span(*cut, paragraph(n)),),), "a-model", "accepted")


def ranked(n: int, cuts: Sequence[tuple[str, int, int]], chance: random.Random) -> Retrieved:
    """A ranking in which the paragraph asked about is mostly among the first, and sometimes missing."""
    ids = [Chunk.make_id(*cuts[place]) for place in chance.sample(range(len(cuts)), min(DEPTH, len(cuts)))]
    gold = Chunk.make_id(*cuts[n])
    ids = [chunk_id for chunk_id in ids if chunk_id != gold]
    place = int(chance.expovariate(0.25))
    if place < DEPTH - 5:
        ids.insert(place, gold)
    scores = tuple(round(20.0 - 0.25 * rank, 2) for rank in range(len(ids[:DEPTH])))
    return Retrieved(f"q{n}", Ranking(tuple(ids[:DEPTH]), scores), () if n % 50 == 49 else ((gold,),))


def judged(of: Question, result: Retrieved, chance: random.Random) -> EvaluatedAnswer:
    """An answer with every verdict that a judge gives."""
    context = result.ranking.ids[:K]

    def verdict() -> ClaimVerdict:
        return ClaimVerdict(chance.choices(("supported", "absent", "contradicted"), (6, 3, 1))[0], 0)

    def calls(*steps: str) -> tuple[Call, ...]:
        raw = json.dumps({"said": of.answer, "verdicts": [chance.random() for _ in range(8)]})
        return tuple(Call(step, "a-judge", "3", 900, 120, 1.5, 0.0004, cached=False, raw=raw) for step in steps)

    read = tuple(Context(chunk_id=each) for each in context)
    if chance.random() < 0.05 or not of.answer:
        status = "refused" if of.answer or chance.random() < 0.8 else "answered"
        answer = Recording(of.id, read, "The passages do not say.", status, origin="model", usage=calls("answer")[0])
        return EvaluatedAnswer(of, answer)
    text = f"{of.answer} [1] It stands in the north hall."
    answer = Recording(of.id, read, text, "answered", "", (1,), calls("answer")[0], origin="model")
    said = tuple(Claim(words, n) for n, words in enumerate(("It was built.", "It moves litres.", "It stands north.")))
    wanted = said[:2]
    by_chunk = tuple(tuple(verdict() for _ in context) for _ in said)
    matrix = Matrix(
        context, said, wanted, by_chunk, by_chunk[:2], tuple(verdict() for _ in said),
        tuple(verdict() for _ in wanted), tuple(chance.random() < 0.5 for _ in context),
    )  # fmt: skip
    asked = [(f"key {n}", f"What does {of.id} say of {WORDS[n]}?", f"{n} litres a minute") for n in range(BANK)]
    items = tuple(BankItem(key, words, own if chance.random() < 0.9 else None) for key, words, own in asked)
    replies = tuple(item.answer if chance.random() < 0.6 else None for item in items)
    bank = Bank(items, "en", "a-judge")
    return EvaluatedAnswer(
        of, answer, matrix, ("When was it built?",), False, chance.choice(("equivalent", "partial", "different")),
        "The years are the same.", chance.random(), chance.random(), bank, replies,
        replace(bank, maker="extractive"), replies, chance.random(), (chance.random(),),
        tuple(chance.random() for _ in said), calls=calls("claims", "context", "comparison", "bank", "questeval"),
        shared_words=chance.random(),
    )  # fmt: skip


# The pages


class Script:
    """Wall and processor seconds of every execution of a script, without what AppTest does before and after.

    And the megabytes of messages that a browser would be sent.
    """

    def __init__(self) -> None:
        self.wall = self.processor = self.sent = 0.0
        enqueue = ScriptRunContext.enqueue

        def counted(context: ScriptRunContext, message: Any) -> None:
            self.sent += message.ByteSize() / 2**20
            enqueue(context, message)

        ScriptRunContext.enqueue = counted  # type: ignore[method-assign]
        self.profile: cProfile.Profile | None = None
        self._run = ScriptRunner._run_script  # Streamlit has no measure of its own
        ScriptRunner._run_script = self._timed()  # type: ignore[method-assign]

    def _timed(self) -> Any:
        def timed(runner: ScriptRunner, *arguments: Any) -> None:
            began = time.perf_counter(), time.process_time()
            try:
                if self.profile is None:
                    self._run(runner, *arguments)
                else:
                    self.profile.runcall(self._run, runner, *arguments)
            finally:
                self.wall += time.perf_counter() - began[0]
                self.processor += time.process_time() - began[1]

        return timed

    def taken(self) -> tuple[float, float, float]:
        """Return wall and processor seconds, and megabytes sent, since the last call."""
        taken = self.wall, self.processor, self.sent
        self.wall = self.processor = self.sent = 0.0
        return taken


def visit(page: str, parameters: dict[str, str]) -> AppTest:
    """Visit a page as a session that has seen another one."""
    app = AppTest.from_file(str(ROOT / "frame.py"), default_timeout=600)
    app.session_state["framed"] = False
    app.switch_page(f"pages/{page}.py")
    for name, value in parameters.items():
        app.query_params[name] = value
    return checked(app.run())


def checked(app: AppTest) -> AppTest:
    """Return the page, if nothing went wrong on it."""
    if wrong := [box.value for box in [*app.exception, *app.error]]:
        raise SystemExit(f"The page is not as it should be: {wrong}")
    return app


def measured(page: str, parameters: dict[str, str], script: Script, rounds: int) -> dict[str, list[float]]:
    """Return [wall, processor seconds, megabytes sent] of the first visit, and the medians of reruns."""
    firsts, agains = [], []
    for _ in range(rounds):
        st.cache_data.clear()
        st.cache_resource.clear()
        gc.collect()
        script.taken()
        app = visit(page, parameters)
        firsts.append(script.taken())
        for _ in range(3):
            checked(app.run())
            agains.append(script.taken())
    return {
        name: [round(statistics.median(column), 2) for column in zip(*times, strict=True)]
        for name, times in (("first", firsts), ("again", agains))
    }


def profiled(page: str, parameters: dict[str, str], script: Script) -> None:
    """Write where the time of a first visit and of a rerun goes to stderr."""
    st.cache_data.clear()
    st.cache_resource.clear()
    script.profile = cProfile.Profile()
    app = visit(page, parameters)
    pstats.Stats(script.profile, stream=sys.stderr).sort_stats("cumulative").print_stats(70)
    script.profile = cProfile.Profile()
    app.run()
    pstats.Stats(script.profile, stream=sys.stderr).sort_stats("cumulative").print_stats(60)
    script.profile = None


def files_seconds(workspace: Workspace) -> float:
    """Return the seconds that the classic files of a run take."""
    began = time.perf_counter()
    exports.export_run(workspace, workspace.store.runs.get(RUNS[0]))
    return round(time.perf_counter() - began, 1)


def empty(home: Path) -> Workspace:
    """Open a home by itself, whatever the environment configures."""
    for name in [name for name in os.environ if name.startswith(("OPENAI_", "ELASTICSEARCH_", "RAGVIZ_"))]:
        del os.environ[name]
    os.environ |= {"RAGVIZ_HOME": str(home), "RAGVIZ_DATABASE_URL": sqlite_url(home / "ragviz.db")}
    return open_workspace()


def opened(home: Path, count: int, names: Sequence[str] = RUNS) -> Workspace:
    """Open the home, with the runs in it; they are made where they are not there yet."""
    workspace = empty(home)
    if workspace.store.runs.find(names[-1]) is None:
        made(workspace, count, names)
    return workspace


def chosen(only: str) -> Iterator[tuple[str, tuple[str, dict[str, str]]]]:
    """Yield the visits whose name contains a text."""
    return ((name, visit) for name, visit in VISITS.items() if only.casefold() in name.casefold())


def main() -> None:
    """Measure every page, and print one JSON line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--questions", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--home", type=Path)
    parser.add_argument("--only", default="", help="visit only pages whose name contains this")
    parser.add_argument("--most", type=float, default=2.0)
    parser.add_argument("--profile", action="store_true", help="profile instead of measuring")
    arguments = parser.parse_args()
    os.chdir(ROOT)
    with tempfile.TemporaryDirectory() as folder:
        workspace = opened(arguments.home or Path(folder), arguments.questions)
        script = Script()
        load = os.getloadavg()[0]
        visit("runs", {})  # the imports
        if arguments.profile:
            for name, (page, parameters) in chosen(arguments.only):
                print(f"== {name}", file=sys.stderr)
                profiled(page, parameters, script)
            return
        pages = {n: measured(*visited, script, arguments.rounds) for n, visited in chosen(arguments.only)}
        files = files_seconds(workspace)
        slow = [name for name, taken in pages.items() if taken["first"][1] > arguments.most]
        print(json.dumps({
            "benchmark": "large_run", "questions": arguments.questions, "rounds": arguments.rounds, "pages": pages,
            "files_s": files, "slow": slow, "load_before": round(load, 1), "load_after": round(os.getloadavg()[0], 1),
            "cores": os.cpu_count(),
        }))  # fmt: skip
    sys.exit(bool(slow))


if __name__ == "__main__":
    main()
