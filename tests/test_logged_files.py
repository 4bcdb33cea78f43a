"""Files that other programs left behind: what is read of each, whatever its columns are called."""

import csv
import json
from pathlib import Path

import pandas as pd
import pytest

import ragviz
from ragviz.core.errors import Cancelled, InputError, UsageError
from ragviz.runs import exports, imports
from ragviz.targets import logged_file
from ragviz.targets.logged_item import Passage

SHARED = next(
    (p / "shared" for p in Path(__file__).resolve().parents if (p / "shared" / "data").exists()), Path("shared")
)
IMPORTS = SHARED / "data" / "imports"


def read(value, name="log.json", **roles):
    data = value if isinstance(value, bytes) else json.dumps(value, ensure_ascii=False).encode()
    return logged_file.read(data, name, roles=roles)


def only(value, name="log.json", **roles):
    [log] = read(value, name, **roles).logs
    [item] = log.items
    return item


# By format

FILES = json.loads((Path(__file__).parent / "data" / "logged_files.json").read_text(encoding="utf-8"))
shared = pytest.mark.skipif(not IMPORTS.exists(), reason=f"no real inputs at {IMPORTS}")


@shared
@pytest.mark.parametrize("file", FILES["logs"])
def test_what_a_real_file_holds(file):
    path = IMPORTS / file
    found = []
    for log in logged_file.read(path.read_bytes(), path.name).logs:
        counts, scores = log.counts, {name for item in log.items for name in item.scores}
        contexts = sum(len(item.contexts) for item in log.items)
        told = (counts["items"], counts["answers"], counts["errors"], counts["contexts"], contexts)
        found.append([*told, counts["references"], len(scores)])
    assert found == FILES["logs"][file]


@shared
@pytest.mark.parametrize("file", FILES["question sets"])
def test_questions_and_references_alone_are_a_question_set(file):
    with pytest.raises(InputError, match=r"it is a question set.*`ragviz questions import CORPUS"):
        logged_file.read((IMPORTS / file).read_bytes(), Path(file).name)


@shared
@pytest.mark.parametrize("file", FILES["neither"])
def test_a_corpus_or_a_summary_is_no_log(file):
    with pytest.raises(InputError, match=r"no column that is a question|none with a question"):
        logged_file.read((IMPORTS / file).read_bytes(), Path(file).name)


# By shape


def test_one_row_a_context_is_one_item_with_its_scores_ids_and_documents():
    text = (
        "\ufeffqid;query;chunk;chunk_id;score;source;generated_answer\r\n"
        "a;When?;In 1998.;c1;0.9;x.md;1998 [1]\r\na;When?;Dogs stay.;c2;0.5;y.md;\r\n"
        "b;Who?;Harlow did.;c3;0.7;x.md;Harlow\r\n"
    )
    reading = read(text.encode(), "log.csv")
    [log] = reading.logs
    one, two = log.items
    assert (one.id, one.answer, two.contexts) == ("a", "1998 [1]", (Passage("Harlow did.", "c3", "x.md", 0.7),))
    assert one.contexts == (Passage("In 1998.", "c1", "x.md", 0.9), Passage("Dogs stay.", "c2", "y.md", 0.5))


@pytest.mark.parametrize(
    ("written", "contexts"),
    [
        (["A b.", "C d."], (Passage("A b."), Passage("C d."))),
        ("['A b.', \"C's d.\"]", (Passage("A b."), Passage("C's d."))),
        ("['A b.'\n 'C d.']", (Passage("A b."), Passage("C d."))),
        ("[array(['A b.', 'C d.'], dtype=object)]", (Passage("A b."), Passage("C d."))),
        ("[{'text': 'A b.', 'score': nan}]", (Passage("A b."),)),
        ("[1] A b.", (Passage("[1] A b."),)),
        ('{"7": {"content": "A b.", "title": "x"}}', (Passage("A b.", "7", "x"),)),
        ({"7": "A b.", "9": "C d."}, (Passage("A b.", "7"), Passage("C d.", "9"))),
        ([{"page_content": "A b.", "metadata": {"source": "x.md"}}], (Passage("A b.", document="x.md"),)),
        ([{"node": {"id_": "n", "text": "A b."}, "score": 0.5}], (Passage("A b.", "n", score=0.5),)),
        ([["A b.", 0.5]], (Passage("A b.", score=0.5),)),
        ("[Document(id=n, content: 'A 'b'.', meta: {'a': 1}, score: 0.5)]", (Passage("A 'b'.", "n", score=0.5),)),
        ("[Document(metadata={'a': 1}, page_content='A b.'), Document(page_content=\"C's d.\")]",
         (Passage("A b."), Passage("C's d."))),
        ([{"chunk_id": "n", "score": 0.5, "rank": 1}], (Passage("", "n", score=0.5),)),
        ("[NodeWithScore(node=TextNode(id_='n', text='A\\nb.'), score=0.5)]", (Passage("A\nb.", "n", score=0.5),)),
        (["Node ID: n\nText: A b.\nScore:  0.500\n"], (Passage("A b.", "n", score=0.5),)),
        ('[{"price": 3}]', (Passage('{"price": 3}'),)),
    ],
)  # fmt: skip
def test_contexts_are_read_however_they_are_written(written, contexts):
    assert only([{"question": "Q?", "answer": "A.", "contexts": written}]).contexts == contexts


def test_numbered_columns_and_lists_beside_are_contexts_too():
    row = {"input": "Q?", "output": "A.", "context_1": "A b.", "context_2": "C d.", "context_3": None}
    assert only([row]).contexts == (Passage("A b."), Passage("C d."))
    beside = {"question": "Q?", "response": "A.", "retrieved_contexts": ["A b.", "C d."], "retrieved_ids": "x; y"}
    assert only([beside | {"retrieval_scores": [2, 1]}]).contexts == (
        Passage("A b.", "x", score=2.0), Passage("C d.", "y", score=1.0),
    )  # fmt: skip
    assert [each.id for each in only([{"question": "Q?", "answer": "A.", "doc_ids": ["x", "y"]}]).contexts] == [
        "x",
        "y",
    ]


@pytest.mark.parametrize(
    ("row", "question", "answer", "reference"),
    [
        ({"question": "Q?", "answer": "A.", "ground_truths": ["R.", "S."], "contexts": ["c"]}, "Q?", "A.", "R."),
        ({"input": "Q?", "actualOutput": "A.", "expectedOutput": "R."}, "Q?", "A.", "R."),
        ({"question": "Q?", "answer": "R.", "generated_answer": "A."}, "Q?", "A.", "R."),
        ({"inputs": {"question": "Q?"}, "outputs": {"answer": "A."}, "reference_outputs": {"answer": "R."}},
         "Q?", "A.", "R."),
        ({"input": '{"question": "Q?"}', "output": '{"text": "A."}', "expectedOutput": "R."}, "Q?", "A.", "R."),
        ({"inputs.query": "Q?", "inputs.response": "A.", "inputs.ground_truth": "R."}, "Q?", "A.", "R."),
        ({"问题": "几点?", "回答": "七点。", "参考答案": "七点"}, "几点?", "七点。", "七点"),
        ({"Frage": "Wann?", "Antwort": "Um 7.", "context": "c"}, "Wann?", None, ""),
        ({"query": "Q?", "response": {"choices": [{"message": {"content": "A."}}]}}, "Q?", "A.", ""),
    ],
)  # fmt: skip
def test_roles_are_told_by_names_in_any_writing(row, question, answer, reference):
    item = only([row])
    assert (item.question, item.answer, item.reference) == (question, answer, reference)


def test_a_conversation_is_its_last_question_and_the_turns_before():
    turns = [("user", "A?"), ("assistant", "B."), ("user", "C?"), ("assistant", "D.")]
    messages = [{"role": role, "content": said} for role, said in turns]
    whole = only([{"messages": messages}])
    assert (whole.question, whole.answer, whole.history) == ("C?", "D.", (("A?", "B."),))
    asked = only([{"input": messages[:3], "predictions": [{"text": "E."}]}])
    assert (asked.question, asked.answer, asked.history) == ("C?", "E.", (("A?", "B."),))
    beside = only([{"question": "C?", "answer": "E.", "chat_history": messages[:2]}])
    assert (beside.question, beside.history) == ("C?", (("A?", "B."),))
    pairs = only([{"question": "C?", "answer": "E.", "history": [{"user": "A?", "bot": "B."}]}])
    assert pairs.history == (("A?", "B."),)


def test_what_was_measured_is_kept_and_what_was_judged_is_a_score():
    row = {"question": "Q?", "response": "A.", "faithfulness": "0.5", "gpt_relevance": 4, "passed_check": "PASS"}
    row |= {"answer_length": 3, "latency_ms": 1500, "usage": {"prompt_tokens": 9, "completion_tokens": 2}, "cost": 0.01}
    row |= {"metadata": {"user": "ada", "score": 3}, "metrics_data": [{"name": "GEval", "score": 0.25}], "k": 5}
    item = only([row])
    assert item.scores == {"faithfulness": 0.5, "gpt_relevance": 4.0, "GEval": 0.25} | (
        {"passed_check": 1.0} if "passed_check" in item.scores else {}
    )
    assert (item.seconds, item.prompt_tokens, item.completion_tokens, item.cost) == (1.5, 9, 2, 0.01)
    assert "ada" not in repr(item)


def test_missing_is_told_and_errors_are_no_answers():
    rows = [
        {"question": "Q1?", "answer": "nan", "reference": "R."},
        {"question": "Q2?", "answer": "CHATBOT_ERROR: timed out", "reference": "R."},
        {"question": "Q3?", "answer": "I do not know.", "reference": "N/A"},
        {"question": "Q4?", "answer": "{}", "status_code": 503, "reference": "R."},
        "no object",
        {"question": None, "answer": "A."},
    ]
    [log] = read(rows).logs
    assert [(each.answer, each.error) for each in log.items] == [
        (None, ""), (None, "CHATBOT_ERROR: timed out"), ("I do not know.", ""), (None, "HTTP 503: {}"),
    ]  # fmt: skip
    assert log.told == (
        "Every item has no contexts: what needs it is not known.",
        "Row 1 has no answer: what needs it is not known.",
        "Row 3 has no reference: what needs it is not known.",
        "Row 5: is not a JSON object.",
        "Row 6: it has no question that is a text.",
    )


def test_rows_under_keys_columns_as_lists_and_objects_after_each_other():
    rows = [{"question": "Q1?", "answer": "A."}, {"question": "Q2?", "answer": "B."}]
    columns = {"question": ["Q1?", "Q2?"], "answer": ["A.", "B."], "contexts": [["c"], ["d"]]}
    frame = {"question": {"0": "Q1?", "1": "Q2?"}, "answer": {"0": "A.", "1": "B."}}
    pretty = "\n".join(json.dumps(row, indent=2) for row in rows).encode()
    by_id = {"a": rows[0], "b": rows[1]}
    wrapped = {"summary": {"faithfulness": 0.5}, "results": {"stats": [{"name": "x"}] * 5, "detail": rows}}
    by_text = {"Q1?": {"answer": "A."}, "Q2? And why?": {"answer": "B."}}
    [log] = read(by_text).logs
    assert [each.question for each in log.items] == ["Q1?", "Q2? And why?"]
    split = {"columns": ["question", "answer"], "data": [["Q1?", "A."], ["Q2?", "B."]]}
    for value in (rows, columns, frame, pretty, by_id, wrapped, split):
        [log] = read(value, "log.jsonl").logs
        assert [(each.question, each.answer) for each in log.items] == [("Q1?", "A."), ("Q2?", "B.")]
    broken = pretty.replace(b'"answer": "A."', b'"answer": "A')
    [log] = read(broken, "log.jsonl").logs
    assert [each.question for each in log.items] == ["Q2?"]
    assert log.problems[0].startswith("Row 1: is not JSON that can be read")


def test_several_systems_are_a_log_each_under_the_same_ids():
    rows = [{"id": n, "question": f"Q{n % 2}?", "answer": f"A{n}.", "model": "ab"[n // 2]} for n in range(4)]
    logs = read(rows).logs
    assert [(log.system, [item.id for item in log.items]) for log in logs] == [("a", ["0", "1"]), ("b", ["0", "1"])]
    keyed = {name: [{"question": "Q?", "answer": f"By {name}."}] for name in ("gpt", "llama")}
    assert [(log.system, log.items[0].answer) for log in read(keyed).logs] == [
        ("gpt", "By gpt."),
        ("llama", "By llama."),
    ]
    deep = {name: {"per_question": rows, "mean": 1} for name, rows in keyed.items()}
    named = [{"name": name, "results": rows} for name, rows in keyed.items()]
    for value in (deep, named):
        assert [log.system for log in read(value).logs] == ["gpt", "llama"]
    once = [{"question": f"Q{n}?", "answer": "A.", "model": "ab"[n]} for n in range(2)]
    assert [log.system for log in read(once).logs] == [""]


def test_roles_can_be_chosen():
    rows = [{"question": "Q?", "answer": "R.", "Text A": "A.", "notes": "c"}]
    item = only(rows, answer="text_a", reference="answer", contexts="notes")
    assert (item.answer, item.reference, item.contexts) == ("A.", "R.", (Passage("c"),))
    assert only(rows, reference="").reference == ""
    with pytest.raises(InputError, match=r"no column 'x' for the answer. Its columns: question, answer, Text A, notes"):
        read(rows, answer="x")
    with pytest.raises(InputError, match="There is no role 'reply': there are question, answer"):
        read(rows, reply="x")
    with pytest.raises(InputError, match="'notes' is given as contexts and as reference"):
        read(rows, contexts="Text A, notes", reference="notes")


SPAN = {"traceId": "t", "startTimeUnixNano": "1700000000000000000", "endTimeUnixNano": "1700000002500000000"}


def attributes(**values):
    return [{"key": key.replace("__", "."), "value": {"stringValue": value}} for key, value in values.items()]


def test_spans_of_a_trace_are_one_item_with_what_its_retrievers_found():
    kind = {"key": "openinference.span.kind", "value": {"stringValue": "RETRIEVER"}}
    document = attributes(
        **{f"retrieval__documents__{n}__document__content": text for n, text in enumerate(["c", "d"])}
    )
    root = SPAN | {"spanId": "1", "name": "ask", "attributes": attributes(input__value="Q?", output__value="A.")}
    inner = {"traceId": "t", "parentSpanId": "1", "spanId": "2", "name": "x", "attributes": [kind, *document]}
    again = inner | {"parentSpanId": "2", "spanId": "3"}
    used = attributes(gen_ai__usage__input_tokens="7", gen_ai__completion__0__content="A.")
    model = {"traceId": "t", "parentSpanId": "1", "spanId": "4", "name": "chat", "attributes": used}
    item = only({"resourceSpans": [{"scopeSpans": [{"spans": [again, inner, model, root]}]}]})
    assert (item.question, item.answer, item.contexts) == ("Q?", "A.", (Passage("c"), Passage("d")))
    assert (item.prompt_tokens, item.id) == (7, "t")
    failed = root | {"attributes": attributes(input__value="Q?"), "status": {"code": 2, "message": "no answer in time"}}
    found = only({"spans": [failed, inner]})
    assert (found.answer, found.error, len(found.contexts)) == (None, "no answer in time", 2)


# Into runs


def written(path, rows):
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    return path


ROWS = [
    {"question": "When?", "answer": "In 1998.", "contexts": "['1998: Harlow.']", "reference": "In 1998.", "care": 1},
    {"question": "Who?", "answer": "I do not know.", "contexts": "[]", "reference": "Harlow", "care": 0},
]


def test_a_log_is_imported_by_the_command_after_a_look_at_it(command_line, tmp_path, monkeypatch):
    monkeypatch.setenv("RAGVIZ_HOME", str(tmp_path / "home"))
    file = written(tmp_path / "log.csv", ROWS)
    code, out, _ = command_line("runs", "import", file, "--dry-run", "--json")
    shown = json.loads(out)
    assert (code, shown["roles"]["answer"], shown["systems"][0]["contexts"]) == (0, "answer", 1)
    assert shown["judging"]["calls"] == 13, "two answers, one context, two comparisons and banks, thrice two references"
    assert command_line("runs", "list", "--json")[1].strip() == "[]", "a dry run stores nothing"
    code, out, err = command_line("runs", "import", file, "--name", "first", "--map", "answer=answer", "--json")
    assert (code, json.loads(out)["run"]) == (0, "first")
    assert "Row 3 has no contexts" in err
    nameless = written(tmp_path / "nameless.csv", [{"answer": "In 1998."}])
    for failing in ((file, "--name", "first", "--corpus", "new"), (nameless, "--name", "new")):
        assert command_line("runs", "import", *failing)[0] != 0
    assert "new" not in command_line("corpus", "list", "--json")[1], "what fails leaves no corpus"
    assert "no role 'reply'" in command_line("runs", "import", file, "--name", "x", "--map", "reply=answer")[2]


def test_a_frame_and_several_systems_are_imported(tmp_path):
    project = ragviz.open(tmp_path / "home")
    run = project.import_run(pd.DataFrame(ROWS).rename(columns={"answer": "said"}), "frame", roles={"answer": "said"})
    assert run.name == "frame"
    several = tmp_path / "two.json"
    several.write_text(json.dumps([row | {"model": model} for model in "ab" for row in ROWS]))
    with pytest.raises(UsageError, match="choose one of a, b"):
        project.import_run(several, "both")
    assert project.import_run(several, "second", system="b").name == "second"


def test_names_of_files_are_documents_and_no_texts():
    [log] = read(b"Question;Answer;Sources\nQ?;A.;a.pdf; b.pdf\n".replace(b"; b", b", b"), "log.csv").logs
    assert log.items[0].contexts == (Passage("", document="a.pdf, b.pdf"),)
    listed = only([{"question": "Q?", "answer": "A.", "sources": ["a.pdf", "https://x.org/b"]}])
    assert [each.document for each in listed.contexts] == ["a.pdf", "https://x.org/b"]
    ids = only([{"question": "Q?", "answer": "A.", "contexts": "doc_1; doc_2"}])
    assert ids.contexts == (Passage("", "doc_1"), Passage("", "doc_2"))


def test_items_without_a_question_are_of_a_set_by_their_place(workspace):
    corpus = workspace.store.corpora.add("c")
    rows = [{"question": f"Q{n}?", "answer": "A."} for n in "ab"]
    asked = imports.import_reading(workspace, corpus, "asked", read(rows))
    reading = read([{"generated_texts": "B."}, {"generated_texts": "C."}])
    with pytest.raises(UsageError, match="names no questions for its 2 items: give the set"):
        imports.import_reading(workspace, corpus, "again", reading)
    question_set = workspace.store.sets.get(asked[0].config.questions)
    [run] = imports.import_reading(workspace, corpus, "again", reading, question_set)
    said = [(case.question.text, case.answer[0]) for case in exports.cases_of(workspace, run)]
    assert said == [("Qa?", "B."), ("Qb?", "C.")]


def test_an_import_of_several_systems_that_is_stopped_goes_on_with_those_that_lack(workspace):
    rows = [{"question": "Q?", "answer": f"By {name}.", "model": name} for name in ("a", "b")]
    reading, corpus = read(rows), workspace.store.corpora.add("c")

    def stop(done, total, unit, message=""):
        if workspace.store.runs.find("x · a") and workspace.store.runs.get("x · a").status == "done":
            raise Cancelled("Stopped.")

    with pytest.raises(Cancelled):
        imports.import_reading(workspace, corpus, "x", reading, progress=stop)
    assert [run.name for run in workspace.store.runs.all()] == ["x · a"]
    first = workspace.store.runs.get("x · a")
    runs = imports.import_reading(workspace, corpus, "x", reading)
    assert [(run.name, run.status) for run in runs] == [("x · a", "done"), ("x · b", "done")]
    assert runs[0].id == first.id
    with pytest.raises(UsageError, match="no system 'c': it has 'a', 'b'"):
        imports.import_reading(workspace, corpus, "y", imports.of_system(reading, "c"))
