"""The command line: one JSON value where asked, exit codes, sentences instead of tracebacks; the story end to end."""

import json

import pytest

from ragviz.models import chat
from ragviz.workspace import open_workspace
from tests.model_server import ModelServer


@pytest.fixture
def ragviz(command_line, monkeypatch, tmp_path):
    """Call the command line in this process: (exit code, standard output, standard error)."""
    monkeypatch.setenv("RAGVIZ_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)

    return command_line


@pytest.fixture
def notes(tmp_path):
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "pumps.md").write_text(
        "# Pumps\n\nThe north pump was replaced in May 2023 by Ada Quill. It moves 40 litres a minute.\n\n"
        "The south pump was repaired in June 2022. It moves 25 litres a minute and feeds the upper tank.\n",
        encoding="utf-8",
    )
    (folder / "阀门.txt").write_text("北阀门于2021年更换。检修周期为三十天。负责人是王芳。", encoding="utf-8")
    (folder / "empty.txt").write_bytes(b"")
    return folder


@pytest.mark.parametrize(
    ("words", "code", "sentence"),
    [
        (["corpus", "show", "nope"], 2, "There is no corpus called 'nope'. There is: none yet."),
        (["results", "nope"], 2, "no run called 'nope'"),
        (["corpus", "add", "notes", "absent.txt"], 2, "no file or folder absent.txt"),
        (["jobs", "--cancel", "nope"], 2, "no job 'nope'"),
        (["nonsense"], 2, "No such command"),
        (["run"], 2, "Missing option"),
    ],
)
def test_bad_usage_is_a_sentence_and_exit_2(ragviz, words, code, sentence):
    exit_code, out, err = ragviz(*words)
    assert (exit_code, out) == (code, "")
    assert sentence in " ".join(err.split())
    assert "Traceback" not in err


@pytest.mark.parametrize(
    ("variable", "value", "sentence"),
    [
        ("RAGVIZ_DATABASE_URL", "nonsense", "RAGVIZ_DATABASE_URL cannot be used (it is no URL): write it like"),
        (
            "RAGVIZ_DATABASE_URL",
            "postgresql+psycopg://me:hunter2@h:port/x",
            "(its port is no number from 1 to 65535): write",
        ),
        ("RAGVIZ_DATABASE_URL", "foo://me:hunter2@h/x", "(there is no driver for 'foo' here): write it like"),
        ("RAGVIZ_HOME", "pumps.md", "/pumps.md, which cannot be used as a folder: File exists."),
        ("RAGVIZ_MODEL_TIMEOUT", "soon", "Settings cannot be used: RAGVIZ_MODEL_TIMEOUT"),
    ],
)
def test_a_setting_that_cannot_be_used_is_one_sentence(ragviz, notes, monkeypatch, variable, value, sentence):
    monkeypatch.chdir(notes)
    monkeypatch.setenv(variable, value)
    code, out, err = ragviz("corpus", "list")
    assert (code in (1, 2), out) == (True, "")
    assert sentence in " ".join(err.split())
    assert "Traceback" not in err
    assert "hunter2" not in err
    assert len(err.strip().splitlines()) == 1


def test_the_story_end_to_end(ragviz, notes, tmp_path, monkeypatch):
    """Documents → index → questions → runs → results → comparison → files, with an endpoint's vectors on loopback."""
    with ModelServer(key="sk-loopback-secret") as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        monkeypatch.setenv("OPENAI_API_KEY", "sk-loopback-secret")
        ragviz("corpus", "add", "notes", notes / "pumps.md", notes / "阀门.txt")
        build = ["index", "build", "notes", "--embedder", "openai:loopback", "--chunker", "sentences", "--json"]
        code, out, err = ragviz(*build, "--name", "small", "--chunk-size", "20")
        assert code == 0, err
        built = json.loads(out)
        assert built["chunks"] == built["added"] == built["embedded"] >= 4
        again = json.loads(ragviz(*build, "--name", "small", "--chunk-size", "20")[1])
        assert (again["chunks"], again["added"], again["embedded"]) == (built["chunks"], 0, 0)

        rows = [
            {"question": "When was the north pump replaced?", "answer": "May 2023", "document": "pumps.md"}
            | {"quote": "The north pump was replaced in May 2023"},
            {"question": "谁负责阀门？", "answer": "王芳", "document": "阀门.txt", "quote": "负责人是王芳"},
            {"question": "Who owns the east pump?", "answer": "", "unanswerable": True},
            {"question": "A row whose quote is not there", "document": "pumps.md", "quote": "no such words"},
        ]
        file = tmp_path / "q.jsonl"
        file.write_text("\n".join(json.dumps(row) for row in rows), encoding="utf-8")
        code, out, err = ragviz("questions", "import", "notes", file, "--name", "asked", "--json")
        assert code == 1
        assert json.loads(out)["imported"] == 3
        assert "row 4" in err

        ragviz("run", "--index", "small", "--questions", "asked", "--name", "words", "--retriever", "bm25")
        results = json.loads(ragviz("results", "words", "--json")[1])
        assert (results["run"], results["n"], results["unanswerable"]) == ("words", 2, 1)
        assert results["metrics"]["hit@3"]["mean"] == 1.0

        for wrong in (["-k", "0"], ["-k", "51"]):
            code, out, err = ragviz("results", "words", *wrong)
            assert (code, out) == (2, ""), wrong
            assert err.strip()

        listed = json.loads(ragviz("runs", "questions", "words", "--kind", "single", "--find", "王芳", "--json")[1])
        assert [(row["question"], row["outcome"], row["documents"]) for row in listed] == [
            ("谁负责阀门？", "found", ["阀门.txt"])
        ]
        assert listed[0]["hits"][0]["gold"]
        assert "王芳" in listed[0]["hits"][0]["text"]
        for wrong in (("runs", "questions", "words", "--cause", "bad luck"), ("index", "search", "small", " "),
                      *((*shown, "--document", "gone.md") for shown in (("runs", "questions", "words"),
                                                                        ("questions", "show", "asked")))):  # fmt: skip
            assert ragviz(*wrong)[0] == 2, wrong
        run = ("run", "--index", "small", "--questions", "asked", "--name", "wide", "-k", 4, "--retriever", "bm25")
        code, _, err = ragviz(*run, "--answerer", "extractive", "--metrics", "token_f1,exact_match")
        assert code == 0, err

        assert ragviz("runs", "edit", "wide", "--name", "基线")[:2] == (0, "Run '基线', no tags\n")
        assert json.loads(ragviz("results", "wide", "--json")[1])["run"] == "基线", "by its former name too"
        assert ragviz("runs", "edit", "words", "--name", "基线")[0] == 2, "taken"
        assert ragviz("runs", "edit", "基线", "--note", "three chunks [b]in[/b] the prompt", "--tag", "v1")[0] == 0
        said = ragviz("runs", "edit", "基线", "--tag", "release", "--untag", "v1")[1]
        assert said == "Run '基线', release\nthree chunks [b]in[/b] the prompt\n"
        assert "[b]in[/b]" in ragviz("runs", "list")[1]
        assert [run["run"] for run in json.loads(ragviz("runs", "list", "--tag", "release", "--json")[1])] == ["基线"]

        told = json.loads(ragviz("settings", "test", "store", "index", "model", "--json")[1])
        assert [each["ok"] for each in told] == [True] * 3, told

        assert ragviz("export", "words", tmp_path / "out")[0] == 0
        assert ragviz("questions", "export", "asked", tmp_path / "asked.csv")[0] == 0
        out_files = {f.name for f in (tmp_path / "out").iterdir()}
        assert out_files == {"results.csv", "results.jsonl", "metrics.csv", "qa_dataset.csv", "qa_dataset_answers.csv"}
        for file in (tmp_path / "out" / "qa_dataset.csv", tmp_path / "asked.csv"):
            code, out, _ = ragviz("questions", "import", "notes", file, "--name", file.stem, "--json")
            assert (code, json.loads(out)["imported"], json.loads(out)["problems"]) == (0, 3, [])

    everything = b"".join(path.read_bytes() for path in (tmp_path / "home").rglob("*") if path.is_file())
    assert b"sk-loopback-secret" not in everything


@pytest.mark.parametrize("words", [["results"], ["runs", "questions"], ["index", "preview"], ["settings", "test"]])
def test_help_describes_every_option(ragviz, words):
    code, out, _ = ragviz(*words, "--help")
    assert code == 0
    options = [line for line in out.splitlines() if line.strip().startswith("-")]
    assert options
    assert all(len(line.split()) > 2 for line in options), options


def test_a_server_that_is_down_is_exit_1_with_its_address(ragviz, notes, monkeypatch):
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    monkeypatch.setattr(chat, "LONGEST_PAUSE", 0.01)
    ragviz("corpus", "add", "notes", notes)
    code, out, err = ragviz("index", "build", "notes", "--name", "i", "--embedder", "openai:x")
    assert (code, out) == (1, "")
    assert "127.0.0.1:9" in err
    assert json.loads(ragviz("index", "list", "--json")[1]) == [], "it did not begin"
    [job] = json.loads(ragviz("jobs", "--json")[1])
    assert (job["status"], "127.0.0.1:9" in job["error"]) == ("failed", True)


@pytest.mark.model
def test_chinese_documents_under_the_packaged_embedder_are_searched_by_words(ragviz, tmp_path):
    """Forms and commands propose what a look at the documents says, and say why; what is asked for is done."""
    topics = ("开放时间", "借书费用", "停车规定", "宿舍申请", "安全培训", "访客登记", "设备维护", "会议预订")
    for number, topic in enumerate(topics):
        (tmp_path / f"{number}.txt").write_text(f"关于{topic}：请联系第{number + 3}号办公室办理。", encoding="utf-8")
    rows = [{"question": f"{t}去几号办公室？", "answer": f"{n + 3}", "document": f"{n}.txt", "quote": f"关于{t}"}
            for n, t in enumerate(topics)]  # fmt: skip
    (tmp_path / "q.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    ragviz("corpus", "add", "rules", *(f"{n}.txt" for n in range(len(topics))))
    why = "100% of the text is Chinese, which all-MiniLM-L6-v2 was not trained on"
    code, _, err = ragviz("index", "build", "rules", "--name", "i")
    assert (code, f"{why}: search by bm25, or choose a multilingual embedder." in " ".join(err.split())) == (0, True)
    ragviz("questions", "import", "rules", "q.jsonl", "--name", "asked")
    code, out, err = ragviz("run", "--index", "i", "--questions", "asked", "--name", "r", "--json")
    assert (code, f"Ranked by bm25: {why}." in " ".join(err.split())) == (0, True)
    assert json.loads(out)["metrics"]["recall@3"]["mean"] == 1.0
    code, _, err = ragviz("run", "--index", "i", "--questions", "asked", "--name", "all", "--metrics", "all")
    assert (code != 0, "make no difference to this run: choose an answerer" in err) == (True, True)
    code, _, err = ragviz("run", "--index", "i", "--questions", "asked", "--name", "knn", "--retriever", "knn")
    assert (code, f"{why}: --retriever bm25 may find more." in " ".join(err.split())) == (0, True)
    assert [run.config.retriever for run in open_workspace().store.runs.all()] == ["knn", "bm25"]
