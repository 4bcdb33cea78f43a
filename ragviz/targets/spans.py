"""Spans of traces (OpenInference, OpenTelemetry GenAI, OpenLLMetry, TruLens; OTLP, Jaeger, Tempo, Phoenix) as rows.

A row is a trace, or a record of TruLens: the question and the answer from the outermost span that has them, the
contexts from spans that retrieve. Of a trace whose root is not there, each outermost span is a row.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from ragviz.core.errors import InputError
from ragviz.documents.tables_in import structured
from ragviz.targets.logged_content import Content, Row, missing, number
from ragviz.targets.logged_values import passages_in, text_in
from ragviz.text.counts import counted

_OWN, _TRULENS = ("attributes", "tags", "record_attributes"), "ai.observability."
_ASKED = (
    f"{_TRULENS}record_root.input", "gen_ai.input.messages", "gen_ai.prompt", "llm.input_messages", "input.value",
    "traceloop.entity.input", "input", f"{_TRULENS}retrieval.query_text", f"{_TRULENS}call.kwargs.query",
)  # fmt: skip
_SAID = (
    f"{_TRULENS}record_root.output", "gen_ai.output.messages", "gen_ai.completion", "llm.output_messages",
    "output.value", "traceloop.entity.output", "output", f"{_TRULENS}call.return",
)  # fmt: skip
_READ = ("retrieval.documents", f"{_TRULENS}retrieval.retrieved_contexts", "gen_ai.retrieval.documents", "documents")
_RETURNED = ("output.value", f"{_TRULENS}call.return", "traceloop.entity.output", "output")
_GIVEN = tuple(f"{_TRULENS}call.kwargs.{name}" for name in ("context_str", "contexts", "context", "nodes"))
_RERANKED = ("reranker.output_documents",)
_KINDS = ("openinference.span.kind", f"{_TRULENS}span_type", "traceloop.span.kind", "gen_ai.operation.name")
_USED: Mapping[str, Sequence[str]] = {
    "prompt_tokens": (
        "gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens", "llm.token_count.prompt",
        f"{_TRULENS}cost.num_prompt_tokens",
    ),
    "completion_tokens": (
        "gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens", "llm.token_count.completion",
        f"{_TRULENS}cost.num_completion_tokens",
    ),
    "cost": ("llm.cost.total", "gen_ai.usage.cost", f"{_TRULENS}cost.cost"),
}  # fmt: skip
"""Attributes of what a row needs, the likeliest first."""
_NOT_SAID = re.compile(r"retriev|rerank|embed|tool|eval|vector|guardrail")


@dataclass(frozen=True, slots=True)
class _Span:
    key: str
    parent: str
    trace: str
    kind: str
    start: float
    end: float
    failed: str
    has: Mapping[str, Any]

    def first(self, names: Iterable[str]) -> Any:
        """Return the value of the first of these attributes that it has; of numbered ones as a list of objects."""
        for name in names:
            if not missing(self.has.get(name)):
                return structured(self.has[name])
            numbered: dict[int, dict[str, Any]] = {}
            for key, value in self.has.items():
                if match := re.match(rf"{re.escape(name)}\.(\d+)\.(?:message\.)?(.+)$", key):
                    numbered.setdefault(int(match[1]), {})[match[2]] = value
            if numbered:
                return [numbered[place] for place in sorted(numbered)]
        return None


def rows(content: Content) -> tuple[tuple[str, Row], ...]:
    """Return a row a question that was asked; none of a file without spans.

    Raises:
        InputError: no span has a question.

    """
    spans = [_span(each) for each in _found(content.whole if content.rows == () else [row for _, row in content.rows])]
    if not spans:
        return ()
    groups = _groups(spans)
    made = [(f"Trace {place}", _row(group)) for place, group in enumerate(groups, start=1)]
    made = [(called, row) for called, row in made if row["question"]]
    if not any(row["answer"] or row["contexts"] for _, row in made):
        raise InputError(
            f"'{content.name}' holds {counted(len(spans), 'span')}, none with a question and an answer or contexts."
        )
    return tuple(made)


def _found(value: Any) -> Iterator[Mapping[str, Any]]:
    if isinstance(value, list):
        for each in value:
            yield from _found(each)
    elif isinstance(value, dict):
        if _key(value) and any(key in _OWN or key.startswith("attributes.") for key in value):
            yield value
        else:
            for each in value.values():
                if isinstance(each, dict | list):
                    yield from _found(each)


def _key(span: Mapping[str, Any], *names: str) -> str:
    """Return the id of a span, or of its trace or parent, wherever its format keeps it."""
    names = names or ("spanId", "spanID", "span_id", "context.span_id")
    within = [structured(span.get(key)) for key in ("context", "trace")]
    for each in (span, *(inner for inner in within if isinstance(inner, dict))):
        for name in names:
            if not missing(each.get(name)):
                return str(each[name])
    return ""


def _span(span: Mapping[str, Any]) -> _Span:
    has: dict[str, Any] = {
        key.removeprefix("attributes."): value for key, value in span.items() if "attributes." in key
    }
    for key in (*_OWN, "events", "logs"):
        has |= _flat(_attributes(structured(span.get(key))))
    parents = [each for each in span.get("references") or () if isinstance(each, dict)]
    parent = _key(span, "parentSpanId", "parent_id", "parentId", "parent_span_id") or "".join(
        _key(each) for each in parents[:1]
    )
    told = span.get("status")
    status = told if isinstance(told, dict) else {"code": span.get("status_code", told)}
    failed = re.search(r"error|^2$", f"{status.get('code')}", re.IGNORECASE) or has.get("otel.status_code") == "ERROR"
    begun = next(
        (span[key] for key in ("startTimeUnixNano", "startTime", "start_time", "start_timestamp") if key in span), 0
    )
    ended = next((span[key] for key in ("endTimeUnixNano", "endTime", "end_time", "timestamp") if key in span), None)
    start = _seconds(begun)
    end = start + (number(span.get("duration")) or 0) / 1e6 if ended is None else _seconds(ended)
    kinds = [str(has.get(key) or span.get(key) or "") for key in _KINDS]
    name = str(span.get("name") or span.get("operationName") or has.get("name") or "")
    reason = str(status.get("message") or span.get("status_message") or "the span says ERROR") if failed else ""
    kind, trace = " ".join([*kinds, name]).lower(), _key(span, "traceId", "traceID", "trace_id", "context.trace_id")
    return _Span(_key(span), parent, trace, kind, start, end, reason, has)


def _attributes(value: Any) -> dict[str, Any]:
    """Return attributes as an object: of OTLP's and Jaeger's lists of keys and values, and of events those of all."""
    if isinstance(value, dict):
        return value
    made: dict[str, Any] = {}
    for each in value if isinstance(value, list) else []:
        if isinstance(each, dict):
            if "key" in each:
                made[str(each["key"])] = _typed(each.get("value"))
            else:
                made |= _attributes(each.get("attributes") or each.get("fields"))
    return made


def _typed(value: Any) -> Any:
    if not isinstance(value, dict) or len(value) != 1:
        return value
    [(kind, inner)] = value.items()
    if kind == "arrayValue":
        return [_typed(each) for each in inner.get("values", ())]
    return _attributes(inner.get("values")) if kind == "kvlistValue" else inner


def _flat(value: Mapping[str, Any], before: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, each in value.items():
        flat |= _flat(each, f"{before}{key}.") if isinstance(each, dict) else {f"{before}{key}": each}
    return flat


def _seconds(value: Any) -> float:
    """Return a time as seconds: one in nanoseconds, microseconds or milliseconds by its size, one in ISO format."""
    if (found := number(value)) is not None:
        return next((found / unit for least, unit in ((1e17, 1e9), (1e14, 1e6), (1e11, 1e3)) if found > least), found)
    try:
        return datetime.fromisoformat(str(value)).timestamp()
    except ValueError:
        return 0.0


def _groups(spans: Sequence[_Span]) -> list[list[_Span]]:
    """Return spans by what they belong to, the outermost first, then by when they began."""
    by_key = {span.key: span for span in spans}
    rooted = {span.trace for span in spans if not span.parent}
    groups: dict[str, list[tuple[int, float, _Span]]] = {}
    for span in by_key.values():
        top, depth = span, 0
        while top.parent in by_key and depth < len(by_key):
            top, depth = by_key[top.parent], depth + 1
        record = span.has.get(f"{_TRULENS}eval.target_record_id") or span.has.get(f"{_TRULENS}record_id")
        group = str(record or (span.trace if span.trace in rooted else f"{span.trace} {top.key}"))
        groups.setdefault(group, []).append((depth, span.start, span))
    return [[span for *_, span in sorted(group, key=lambda each: each[:2])] for group in groups.values()]


def _row(spans: Sequence[_Span]) -> dict[str, Any]:
    speaking = [span for span in spans if not _NOT_SAID.search(span.kind)]
    asked = next((found for span in [*speaking, *spans] if text_in(found := span.first(_ASKED), "question")), None)
    row: dict[str, Any] = {"id": spans[0].has.get(f"{_TRULENS}record_id") or spans[0].trace, "question": asked}
    row["system"] = " ".join(
        str(each) for key in ("name", "version") if (each := spans[0].has.get(f"{_TRULENS}app_{key}"))
    )
    outermost = [span for span in speaking if span.key == speaking[0].key]
    last = sorted(speaking, key=lambda span: span.end, reverse=True)
    texts = (text_in(span.first(_SAID), "answer") for span in [*outermost, *last])
    row["answer"] = next((text for text in texts if text.strip()), "")
    row["contexts"] = _contexts(spans)
    row["reference"] = next(
        (said for span in spans if (said := span.has.get(f"{_TRULENS}record_root.ground_truth_output"))), None
    )
    parents = {
        span.parent
        for span in spans
        if any(span.first([name]) is not None for names in _USED.values() for name in names)
    }
    for role, names in _USED.items():
        given = [used for span in spans if span.key not in parents and (used := number(span.first(names))) is not None]
        row[role] = sum(given) if given else None
    row["seconds"] = max((span.end for span in spans), default=0) - min(span.start for span in spans) or None
    row["error"] = spans[0].failed if not row["answer"] else ""
    return row


def _contexts(spans: Sequence[_Span]) -> list[dict[str, Any]]:
    """Return what was reranked, else retrieved, else returned by spans that retrieve, else given, else by tools."""
    for names, kind in ((_RERANKED, ""), (_READ, ""), (_RETURNED, "retriev"), (_GIVEN, "")):
        found = [each for span in spans if kind in span.kind for each in passages_in(span.first(names))]
        if found:
            return [
                {"id": p.id, "text": p.text, "document": p.document, "score": p.score} for p in dict.fromkeys(found)
            ]
    texts: dict[str, None] = {}
    for span in spans:
        messages = span.first(("gen_ai.prompt", "llm.input_messages", "gen_ai.input.messages"))
        said = [each for each in messages if isinstance(each, dict)] if isinstance(messages, list) else []
        texts |= dict.fromkeys(text_in(each, "message") for each in said if each.get("role") == "tool")
    return [{"text": text} for text in texts if text]
