"""Traces that arrive over OTLP: as protobuf and JSON over real HTTP, within their bounds."""

import gzip
import json
import math
import urllib.error
import urllib.request

from google.protobuf.json_format import ParseDict
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from ragviz.runs import listening
from ragviz.targets import traffic


def request(*spans):
    return {"resourceSpans": [{"scopeSpans": [{"spans": list(spans)}]}]}


def span(trace, name, parent=""):
    return {"traceId": trace, "spanId": "aa", "name": name, **({"parentSpanId": parent} if parent else {})}


def send(port, body, kind=traffic.JSON, path=traffic.PATH, **headers):
    """Return the status and the body of the reply."""
    asked = urllib.request.Request(f"http://127.0.0.1:{port}{path}", body, {"Content-Type": kind, **headers})
    try:
        with urllib.request.urlopen(asked, timeout=10) as reply:
            return reply.status, reply.read()
    except urllib.error.HTTPError as error:
        return error.code, error.read()


def names(traces, now=math.inf):
    return [[each["name"] for each in trace] for trace in traces.whole(now)]


def test_protobuf_and_json_plain_and_packed_are_taken():
    traces = traffic.Traces()
    asked = request(span("YWFh", "root"), span("YWFh", "retrieve", "cm9v"))
    packed = ParseDict(asked, ExportTraceServiceRequest()).SerializeToString()
    with traffic.listening(0, traces) as port:
        assert send(port, packed, traffic.PROTOBUF) == (200, b"")
        assert names(traces) == [["root", "retrieve"]]
        assert send(port, gzip.compress(json.dumps(asked).encode()), **{"Content-Encoding": "gzip"}) == (200, b"{}")
        assert names(traces) == [["root", "retrieve"]]


def test_what_is_no_trace_is_refused_and_the_next_is_taken():
    traces = traffic.Traces()
    body = json.dumps(request(span("a", "root"))).encode()
    with traffic.listening(0, traces) as port:
        large = b" " * (traffic.LARGEST + 1)
        assert [
            send(port, body, path="/v1/logs")[0],
            send(port, body, Host="evil.example:80")[0],
            send(port, body, "text/plain")[0],  # what a page of the web can send without being asked
            send(port, large)[0],
            send(port, gzip.compress(large), **{"Content-Encoding": "gzip"})[0],
            send(port, b"{")[0],
            send(port, b"[]")[0],
            send(port, b"\xff\xff", traffic.PROTOBUF)[0],
            send(port, b"[" * 200 + b"]" * 200)[0],
        ] == [404, 404, 415, 413, 400, 400, 400, 400, 400]
        assert names(traces) == []
        assert send(port, body)[0] == 200
    assert names(traces) == [["root"]]


def test_a_trace_is_whole_when_its_root_is_there_and_it_is_quiet():
    traces = traffic.Traces()
    traces.add([span("a", "child", "r")], 10, now=0.0)
    traces.add([span("a", "root")], 10, now=5.0)
    traces.add([span("b", "lost", "r")], 10, now=5.0)
    assert names(traces, 6.0) == []
    assert names(traces, 7.0) == [["child", "root"]]
    assert names(traces, 66.0) == []
    assert traces.dropped == 1


def test_memory_is_bounded_and_a_share_is_kept(monkeypatch):
    traces = traffic.Traces()
    for number in range(traffic.OPEN_TRACES + 5):
        traces.add([span(str(number), "root")], 10, now=0.0)
    assert (len(names(traces)), traces.dropped) == (traffic.OPEN_TRACES, 5)
    half = traffic.Traces(0.5)
    for number in range(200):
        half.add([span(str(number), "root", "" if number % 2 else "p")] * 2, 2, now=0.0)
    assert 35 < len(names(half)) < 65  # of 100 with a root
    monkeypatch.setattr(traffic, "HELD", 30)
    for number in range(5):
        traces.add([span(str(number), f"r{number}")], 10, now=0.0)
    assert names(traces) == [["r2"], ["r3"], ["r4"]]


ATTRIBUTES = {
    "root": {"openinference.span.kind": "CHAIN", "input.value": "When was it built?", "output.value": "In 1931."},
    "retrieve": {
        "openinference.span.kind": "RETRIEVER",
        "retrieval.documents.0.document.content": "The dome was built in 1931.",
        "user.name": "Ada Secret",
    },
}


def answered(trace, name, parent=""):
    values = [{"key": key, "value": {"stringValue": value}} for key, value in ATTRIBUTES[name].items()]
    named = {"spanId": f"{trace}-{name}", "attributes": values}
    return span(trace, name, f"{trace}-{parent}" if parent else "") | named


def test_what_arrives_is_a_run_that_grows_and_goes_on(workspace):
    corpus, traces = workspace.store.corpora.add("c"), traffic.Traces()
    for trace in ("t1", "t2", "t3"):
        traces.add([answered(trace, "root"), answered(trace, "retrieve", "root")], 100, now=-9.0)
    traces.add([span("other", "work")], 100, now=-9.0)
    listening.listen(workspace, corpus, "live", traces, most=2, every=0.01)
    run = workspace.store.runs.get("live")
    assert (run.status, run.provenance["n"], run.knows.contexts, run.knows.ranking) == ("done", 2, True, False)
    recorded = workspace.store.judgements.all(run.id)["t1"].recording
    assert (recorded.answer, recorded.status) == ("In 1931.", "answered")
    traces.add([answered("t4", "root")], 100, now=-9.0)
    listening.listen(workspace, corpus, "live", traces, most=3, every=0.01)
    run = workspace.store.runs.get("live")
    assert run.provenance["n"] == 3
    assert [question.id for question in workspace.store.rankings.questions(run.id)] == ["t1", "t2", "t4"]
    assert "Ada Secret" not in str(workspace.store.judgements.all(run.id))
