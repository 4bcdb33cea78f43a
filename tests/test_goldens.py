"""Goldens: what commands and reports said of the sample before the code moved is what they say now.

`RAGVIZ_GOLDENS=write python -m pytest tests/test_goldens.py` renews them: only files that differ are written. Values
are equal to the last digit, except those that an embedding decides (`EMBEDDED`): torch adds in an order that depends on
the machine, so they are equal within a millionth, of the value or of 1. What is printed is kept in short:

- What is empty, times, durations, addresses, and what `NOISE` names, is left out.
- Ids have the names of what they stand for, else "id1", "id2" … in order of appearance in their file.
- Sentences (more than four words) are the numbers in them, as "~ 45 12 2"; texts of people and documents are their
  first characters, with length and digest.
"""

import hashlib
import io
import json
import math
import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import redirect_stderr, redirect_stdout
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from ragviz import cli, sample
from ragviz.core.settings import Settings
from tests.model_server import ModelServer

pytestmark = pytest.mark.timeout(1800)

FOLDER = Path(__file__).parent / "goldens"
CORPUS, SET, EXPERIMENT = sample.NAME, "sample-questions", "sample-experiment"
KNN, HYBRID, ANSWERED = sample.RUNS
ASKED = "How long does it take to close the dome by hand?"
GRID = ("--chunk-size", "120", "--chunker", "recursive", "--retriever", "bm25,knn,hybrid", "-k", "10")
JUDGED = ("--index", "sample-tokens-200", "--questions", "few", "--answerer", "model", "--metrics", "all")

SAMPLE = {
    "corpus_list": ("corpus", "list"),
    "corpus_show": ("corpus", "show", CORPUS),
    "index_list": ("index", "list"),
    "index_preview": ("index", "preview", CORPUS, "--chunker", "sentences", "--chunk-size", "80", "--overlap", "10"),
    "index_search_knn": ("index", "search", "sample-tokens-200", ASKED, "--retriever", "knn"),
    "index_search_bm25": ("index", "search", "sample-recursive-120", ASKED, "--retriever", "bm25"),
    "index_search_hybrid": ("index", "search", "sample-recursive-120", ASKED, "--retriever", "hybrid"),
    "questions_list": ("questions", "list"),
    "questions_show": ("questions", "show", SET),
    "questions_health": ("questions", "health", SET),
    "questions_versions": ("questions", "versions", SET),
    "questions_split": ("questions", "split", SET, "--kind", "stratified", "--seed", "7", "--dry-run"),
    "runs_list": ("runs", "list", "--metrics"),
    "runs_questions_answered": ("runs", "questions", ANSWERED),
    "results_knn": ("results", KNN),
    "results_hybrid_at_5": ("results", HYBRID, "-k", "5"),
    "results_answered": ("results", ANSWERED),
    "compare": ("compare", KNN, HYBRID, ANSWERED, "-k", "5"),
    "rescue_knn": ("rescue", KNN, "--stored"),
    "rescue_answered": ("rescue", ANSWERED, "--stored"),
    "what_if_knn": ("what-if", KNN, "-k", "8", "--threshold", "0.3"),
    "what_if_hybrid": ("what-if", HYBRID, "-k", "5", "--rrf-constant", "10"),
    "what_if_answered": ("what-if", ANSWERED, "--budget", "400", "--risk", "0.4"),
    "check": ("check", ANSWERED, "--require", "recall@3>=0.5", "--require", "faithfulness>=0.9"),
    "check_baseline": ("check", HYBRID, "--baseline", KNN),
    "experiments_show": ("experiments", "show", EXPERIMENT),
    "prices_list": ("prices", "list"),
}
LATER = {
    "sweep_estimate": ("sweep", CORPUS, "--questions", SET, "--name", "decided", *GRID, "--dry-run"),
    "sweep": ("sweep", CORPUS, "--questions", SET, "--name", "decided", *GRID, "--primary", "recall@10"),
}
JUDGING = {
    "judged_estimate": ("run", *JUDGED, "--dry-run"),
    "judged_results": ("run", *JUDGED, "--name", "judged"),
    "judged_questions": ("runs", "questions", "judged"),
    "judged_check": ("check", "judged", "--require", "context_recall>=0.5"),
}
REPORTS = {
    "report_run": (ANSWERED,),
    "report_comparison": (KNN, HYBRID),
    "report_experiment": ("decided",),
}
NAMES = ("sample", *SAMPLE, *LATER, *JUDGING, *REPORTS, "settings")

NOISE = re.compile(
    "created|started|finished|(milli)?seconds|fingerprint|provenance|version|prompts|chunking_rules|detail|host"
    r"|by_style|by_type|growth|metric|Latency|made\.\w+"
)
"""Keys left out: by_kind is made as by_type is, `metric` repeats the name above it, growth is a feature that goes."""
TIME = re.compile(r"\d{4}-\d\d-\d\d( \d\d:\d\d)?")
EMBEDDED = re.compile(r"score$|threshold|embedding|answer_relevancy|answer_correctness|aurc|questions\.\d+\.value$")
"""Paths of values that an embedding decides."""
TEXTS = re.compile("text|question|answer|reference_answer|quote|reason")
ID = re.compile(r"\b[0-9a-f]{16}\b")
NUMBER = re.compile(r"(?<!\w)[-+−]?\d+(?:[.,]\d+)*")


def printed(*words: str) -> Any:
    """What a command prints with `--json`, or its error; with its exit code where that is not 0."""
    out, err, code = io.StringIO(), io.StringIO(), 0
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
        patch.setattr("sys.argv", ["ragviz", *words, "--json"])
        try:
            cli.main()
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 0
    value = json.loads(out.getvalue()) if out.getvalue().strip() else err.getvalue()
    return {"exit": code, "printed": value} if code else value


class Facts(HTMLParser):
    """What a report tells, without its markup: {section: its lines, and rows of tables by their first cells}."""

    BLOCKS = frozenset(
        ("p", "li", "dt", "dd", "small", "figcaption", "caption", "tr", "blockquote", "h1", "h2", "h3", "h4", "section")
    )

    def __init__(self, page: str) -> None:
        super().__init__()
        self.told: dict[str, dict[str, Any]] = {}
        self.section, self.cells, self.hidden = "top", [""], False
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.hidden = tag in ("script", "style")
        if tag in self.BLOCKS:
            self.end_line()
        if tag == "section":
            self.section = str(dict(attrs)["id"])
        if tag in ("td", "th"):
            self.cells.append("")

    def handle_endtag(self, tag: str) -> None:
        self.hidden = False
        if tag in self.BLOCKS:
            self.end_line()

    def handle_data(self, data: str) -> None:
        if not self.hidden:
            self.cells[-1] += data

    def end_line(self) -> None:
        cells = [" ".join(cell.split()) for cell in self.cells]
        self.cells = [""]
        kept = self.told.setdefault(self.section, {"lines": [], "rows": {}})
        if len(cells) > 1:
            kept["rows"].setdefault(cells[1], []).append(cells[2:])
        elif any(cells):
            kept["lines"].append(cells[0])


class Names:
    """Names in place of ids: those given, else "id1", "id2" … in order of appearance."""

    def __init__(self, known: Mapping[str, str]) -> None:
        self.known = dict(known)
        self.given = len(known)

    def put_into(self, text: str) -> str:
        return ID.sub(lambda m: self.known.setdefault(m[0], f"id{len(self.known) - self.given + 1}"), text)


def plain(value: Any, names: Names, key: str = "") -> Any:
    """A value without what differs between executions, in short."""
    if isinstance(value, dict):
        kept = {names.put_into(k): v for k, v in value.items() if not NOISE.fullmatch(k) and v not in ("", [], {})}
        return {k: plain(v, names, k) for k, v in sorted(kept.items())}
    if isinstance(value, list):
        return [plain(item, names, key) for item in value]
    if not isinstance(value, str):
        return value
    if TEXTS.fullmatch(key) and len(value) > 60:
        return f"{value[:40]}… ({len(value)} characters, {hashlib.sha256(value.encode()).hexdigest()[:8]})"
    if len(value.split()) > 4 and not TEXTS.fullmatch(key):
        return " ".join(["~", *NUMBER.findall(TIME.sub("", ID.sub("", value)))])
    return names.put_into(value)


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory, loaded_sample: Callable[[Path], str]) -> dict[str, Any]:
    """What all commands and reports say, in one order whatever tests run: sample, sweep, reports, a judged run."""
    folder = tmp_path_factory.mktemp("goldens")
    few = folder / "few.jsonl"
    few.write_bytes(b"".join(sample.questions().splitlines(keepends=True)[::8]))
    with pytest.MonkeyPatch.context() as patch, ModelServer() as server:
        for variable in ("ELASTICSEARCH_URL", *(str(field.alias) for field in Settings.model_fields.values())):
            patch.delenv(variable, raising=False)
        patch.chdir(folder)
        patch.setenv("RAGVIZ_HOME", str(folder / "home"))
        patch.setenv("RAGVIZ_PERSON", "tester")
        told = {"sample": json.loads(loaded_sample(folder / "home"))}
        told |= {name: printed(*words) for name, words in (SAMPLE | LATER).items()}
        for name, words in REPORTS.items():
            printed("report", *words, "--out", f"{name}.html")
            told[name] = Facts(Path(f"{name}.html").read_text(encoding="utf-8")).told
        patch.setenv("OPENAI_BASE_URL", server.url)
        patch.setenv("RAGVIZ_MODEL", "loopback")
        printed("questions", "import", CORPUS, str(few), "--name", "few")
        told |= {name: printed(*words) for name, words in JUDGING.items()}
    known = {each["id"]: f"question {n}" for n, each in enumerate(told["questions_show"], 1)}
    for each in told["runs_questions_answered"]:
        known |= {hit["chunk_id"].partition("-")[0]: hit["document"] for hit in each["hits"]}
    told["settings"] = sorted(str(field.alias) for field in Settings.model_fields.values())
    return {name: plain(value, Names(known)) for name, value in told.items()}


def written(value: Any, indent: int = 0) -> str:
    """JSON with sorted keys, where what fits in a line is one."""
    line = json.dumps(value, ensure_ascii=False, sort_keys=True)
    if len(line) + indent <= 160 or not isinstance(value, (dict, list)):
        return line
    inner, close = " " * (indent + 1), "\n" + " " * indent
    if isinstance(value, dict):
        rows = [
            f"{inner}{json.dumps(k, ensure_ascii=False)}: {written(v, indent + 1)}" for k, v in sorted(value.items())
        ]
        return "{\n" + ",\n".join(rows) + close + "}"
    return "[\n" + ",\n".join(inner + written(item, indent + 1) for item in value) + close + "]"


def differences(expected: Any, got: Any, path: str = "") -> Iterator[str]:
    """Where two values differ, as "path: expected …, got …"."""
    if isinstance(expected, dict) and isinstance(got, dict):
        for key in sorted({*expected, *got}):
            yield from differences(expected.get(key, "nothing"), got.get(key, "nothing"), f"{path}.{key}".strip("."))
    elif isinstance(expected, list) and isinstance(got, list):
        if len(expected) != len(got):
            yield f"{path}: expected {len(expected)} items, got {len(got)}"
        for number, (old, new) in enumerate(zip(expected, got, strict=False)):
            yield from differences(old, new, f"{path}.{number}".strip("."))
    elif expected != got or isinstance(expected, bool) is not isinstance(got, bool):
        numbers = isinstance(expected, float) and isinstance(got, float) and EMBEDDED.search(path)
        tolerance = 1e-5 if path.endswith("design_effect") else 1e-6  # that is a quotient of two small variances
        if not numbers or not math.isclose(expected, got, rel_tol=tolerance, abs_tol=1e-6):
            yield f"{path}: expected {json.dumps(expected)[:80]}, got {json.dumps(got)[:80]}"


@pytest.mark.parametrize("name", NAMES)
def test_it_says_what_it_said(name: str, said: dict[str, Any]) -> None:
    file, got = FOLDER / f"{name}.json", json.loads(json.dumps(said[name]))
    expected = json.loads(file.read_text(encoding="utf-8")) if file.exists() else "nothing"
    found = list(differences(expected, got))
    if found and os.environ.get("RAGVIZ_GOLDENS") == "write":
        file.write_text(written(got) + "\n", encoding="utf-8")
        return
    told = "\n".join(f"  {line}" for line in found[:12])
    assert not found, f"{file.name} differs in {len(found)} places; the first:\n{told}"


def test_each_golden_is_of_something_that_is_said() -> None:
    assert {file.stem for file in FOLDER.glob("*.json")} == set(NAMES)
