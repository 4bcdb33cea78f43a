"""Rows of questions, answers and contexts under whatever names, as the items of each system."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ragviz.core.errors import InputError
from ragviz.core.question import LONGEST_ID
from ragviz.documents.tables_in import REFUSED, structured
from ragviz.targets import logged_guess, ragchecker
from ragviz.targets.logged_content import Content, Row, missing, number, plain
from ragviz.targets.logged_item import Log, LoggedItem, Passage, Reading, gathered
from ragviz.targets.logged_tables import SAMPLE, cell, columns_of
from ragviz.targets.logged_values import passages_in, text_in, texts_in, turns_in, whole_in
from ragviz.text.counts import counted

MAKERS: Mapping[str, frozenset[str]] = {
    "deepeval": frozenset({"actualoutput"}),
    "tonic_validate": frozenset({"llmanswer", "llmcontext"}),
    "autorag": frozenset({"retrievalf1", "generatedlogprobs", "generationgt", "retrievalgt"}),
    "ragchecker": frozenset({"gtanswer", "retrieved2answer", "retrieved2response"}),
    "promptfoo": frozenset({"gradingresult", "promptidx"}),
    "azure": frozenset({"gptgroundedness", "gptrelevance", "outputsgroundednessgroundedness"}),
    "haystack": frozenset({"trueanswers", "predictedanswers"}),
    "open_rag_eval": frozenset({"queryrun"}),
    "trulens": frozenset({"maininput", "appid", "recordid"}),
    "langfuse": frozenset({"observations", "htmlpath", "totalcost"}),
    "phoenix": frozenset({"metadataspankind", "exampleid"}),
    "ragas": frozenset({"userinput", "retrievedcontexts", "answerrelevancy", "contextprecision", "metricinput"}),
}
"""Columns, as `plain` writes them, any of which shows which program wrote a file."""


def read(content: Content, given: Mapping[str, str], shape: str) -> Reading:
    """Read rows, which were made from a file of another `shape`; `given` are columns by role, instead of the guessed.

    Raises:
        InputError: there is no such role or column; there are neither answers nor contexts; no row can be read.

    """
    tables = logged_guess.tables_of(content)
    columns = columns_of(tables)
    chosen, guessed = logged_guess.chosen(given, columns, content.name), logged_guess.guessed(tables, columns)
    taken = logged_guess.parts_of(chosen)
    left = {role: ", ".join(c for c in each.split(", ") if c not in taken) for role, each in guessed.items()}
    roles = {role: column for role, column in (left | chosen).items() if column}
    if not roles.keys() & {"question", "history", "answer"} and not logged_guess.lists_contexts(tables, roles):
        there = f"its columns: {', '.join(columns)[:300]}" if columns else "it has no rows of objects"
        raise InputError(
            f"'{content.name}' holds no column that is a question, an answer or contexts ({there}): name them, as "
            "--map question=COLUMN."
        )
    said = roles.get("question", roles.get("history", ""))
    turns = [turns_in(cell(row, said)) for _, row in tables[0].rows[:SAMPLE]] if said else []
    talks = any(each[-1][1] for each in turns if each)
    holds = talks or roles.keys() & {"answer", "contexts", "context_ids", "documents"}
    if not holds and ("reference" in roles or "scores" not in roles):
        raise InputError(
            f"'{content.name}' holds questions, but no answers and no contexts of a system: it is a question set. "
            f"Import it with `ragviz questions import CORPUS {content.name} --name SET`, or say which column is the "
            f"answer: --map answer=COLUMN (its columns: {', '.join(columns)[:300]})."
        )
    names = {plain(each) for column in columns for each in (column, column.rpartition(".")[2])}
    maker = next((maker for maker, shown in MAKERS.items() if names & shown), "file")
    origin = maker if shape == "rows" else shape
    made = [_Rows(each, roles, content.name, origin, is_only=len(tables) == 1) for each in tables]
    logs = [log for each in made for log in each.logs()]
    # A question has one id, so that systems are compared by it, whatever its rows are called.
    ids = {item.question: item.id for log in reversed(logs) for item in log.items}
    same = [tuple(replace(item, id=ids[item.question]) for item in log.items) for log in logs]
    if all(len({item.id for item in items}) == len(items) for items in same):
        logs = [replace(log, items=items) for log, items in zip(logs, same, strict=True)]
    return Reading(shape, columns, roles, tuple(logs))


class _Rows:
    def __init__(self, table: Content, roles: Mapping[str, str], name: str, origin: str, *, is_only: bool) -> None:
        self.table, self.roles, self.name, self.origin = table, roles, name, origin
        self.system = "" if is_only else table.name
        columns = roles.get("contexts", "")
        self.contexts = columns.split(", ") if columns else []
        self.scores = roles["scores"].split(", ") if "scores" in roles else []
        last = {column: _GENERIC.sub("", column).rpartition(".")[2] for column in self.scores}
        named = Counter(last.values())
        self.called = {column: name if named[name] == 1 else column for column, name in last.items()}
        self.separator = "|" if plain(roles.get("answer", "")) == "actualoutput" else ""  # as DeepEval writes CSV
        self.milliseconds = bool(re.search(r"ms$|milli", plain(roles.get("seconds", ""))))

    def logs(self) -> list[Log]:
        refused: list[tuple[str, LoggedItem | str]] = []
        items: list[tuple[str, str, LoggedItem]] = []
        several = 0
        for called, row in self.table.rows:
            several += len(texts_in(self.value(row, "reference"))) > 1
            try:
                items.append((called, self.text(row, "system"), self.item(called, row)))
            except ValueError as error:
                refused.append((called, str(error)))
        asked: dict[tuple[str, str], set[str]] = {}
        for _, system, item in items:
            asked.setdefault((item.id if item.id and not item.question else "", item.question), set()).add(system)
        systems = list(dict.fromkeys(system for _, system, _ in items))
        if len(systems) > 1 and max(map(len, asked.values())) == 1:  # no question was put to several of them
            systems = [""]
        places = {called: n for n, (called, _) in enumerate(self.table.rows)}
        told = (f"{counted(several, 'row', 'has')} several references: the first was kept.",) if several else ()
        logs = []
        for system in systems or [""]:
            of_system = [(c, item) for c, named, item in items if named == system or len(systems) <= 1]
            rows, used = list(refused), Counter[str]()
            for called, item in self._joined(of_system):  # the file's id, with a number where it comes again
                own = item.id if item.id and len(item.id) <= LONGEST_ID - 8 else called.rpartition(" ")[2]
                used[own] += 1
                rows.append((called, replace(item, id=own if used[own] == 1 else f"{own}#{used[own]}")))
            rows.sort(key=lambda each: places[each[0]])
            log = gathered(rows, self.name, self.origin, system or self.system)
            logs.append(replace(log, problems=log.problems + told))
        return logs

    def value(self, row: Row, role: str) -> Any:
        column = self.roles.get(role)
        found = cell(row, column) if column else None
        return None if missing(found) else found

    def text(self, row: Row, role: str) -> str:
        return text_in(self.value(row, role), role).strip()

    def item(self, called: str, row: Row) -> LoggedItem:
        """Return a row as an item; ValueError says why it is none."""
        if REFUSED in row:
            raise ValueError(row[REFUSED])
        asked, before = self.value(row, "question"), turns_in(self.value(row, "history"))
        turns = before if asked is None else turns_in(asked)
        question = turns[-1][0] if turns else text_in(asked, "question").strip()
        history = turns[:-1] if turns else [turn for turn in before if turn[0] != question]
        if "question" in self.roles and not question:
            raise ValueError("it has no question that is a text")
        said = self.value(row, "answer")
        answer = text_in(said, "answer") or whole_in(said)
        if turns and "answer" not in self.roles:
            answer = turns[-1][1]
        seconds, error = number(self.value(row, "seconds")), _error(row, self.text(row, "error"), answer)
        reference = texts_in(self.value(row, "reference"))
        prompt, completion = (number(self.value(row, role)) for role in ("prompt_tokens", "completion_tokens"))
        passages = self.passages(row)
        return LoggedItem(
            self.text(row, "id"),
            question,
            reference[0] if reference else "",
            None if error or not answer.strip() else answer,
            passages,
            ragchecker.matrix_of(row, len(passages), answered=bool(answer.strip())),
            scores=dict(self._scores(row)),
            reference_contexts=tuple(
                each.text for each in passages_in(self.value(row, "reference_contexts"), self.separator)
            ),
            history=tuple(turn for turn in history if turn[0] and turn[1]),
            seconds=seconds / 1000 if seconds is not None and self.milliseconds else seconds,
            prompt_tokens=None if prompt is None else int(prompt),
            completion_tokens=None if completion is None else int(completion),
            cost=number(self.value(row, "cost")),
            error=error,
        )

    def passages(self, row: Row) -> tuple[Passage, ...]:
        found = [each for column in self.contexts for each in passages_in(cell(row, column), self.separator)]
        ids, names, scores = (_listed(self.value(row, role)) for role in ("context_ids", "documents", "context_scores"))
        if not found and "contexts" not in self.roles:
            found = [Passage("") for each in ids or names if not missing(each)]
        if len(ids) == len(found):
            found = [replace(each, id=each.id or text_in(given, "id")) for each, given in zip(found, ids, strict=True)]
        if len(names) == len(found):
            named = zip(found, names, strict=True)
            found = [replace(each, document=each.document or text_in(given, "documents")) for each, given in named]
        if len(scores) == len(found):
            found = [replace(each, score=number(given)) for each, given in zip(found, scores, strict=True)]
        return tuple(found)

    def _scores(self, row: Row) -> Iterator[tuple[str, float]]:
        for column in self.scores:
            value = cell(row, column)
            if missing(value):
                continue
            if (given := number(value)) is None:
                yield from logged_guess.named_scores(value).items()
            else:
                yield self.called[column], given

    def _joined(self, items: Sequence[tuple[str, LoggedItem]]) -> Sequence[tuple[str, LoggedItem]]:
        """Join rows of one context each to items: those of a question whose answer is the same, or told once."""
        most = max((len(item.contexts) for _, item in items), default=0)
        if most != 1 or self.origin == "spans":  # a trace is an item
            return items
        ids = Counter(item.id for _, item in items)
        by_id = all(item.id for _, item in items) and max(ids.values(), default=0) > 1
        joined: list[tuple[str, LoggedItem]] = []
        latest: dict[tuple[str, str], int] = {}
        for called, item in items:
            key = item.id if by_id else "", item.question
            first, before = joined[latest[key]] if key in latest else ("", item)
            if not first or not item.contexts or (before.answer and item.answer not in (None, before.answer)):
                latest[key] = len(joined)
                joined.append((called, item))
            else:
                contexts, answer = before.contexts + item.contexts, before.answer or item.answer
                joined[latest[key]] = first, replace(before, contexts=contexts, answer=answer)
        return joined


def _listed(value: Any) -> list[Any]:
    """Return the values of a list, of a text with "; " between them, or one alone."""
    found = structured(value)
    if isinstance(found, list):
        return found
    if isinstance(found, str) and "; " in found:
        return found.split("; ")
    return [] if found is None else [found]


_GENERIC = re.compile(r"\.(?:score|value|result|output|metric_output)$")
"""What a score is called whose metric is the name of what it is in."""
_SAID = re.compile(r"^\W*(?:(?:[A-Z0-9]+_)*ERROR\b|Traceback \(most recent|Error code: \d{3})")


def _error(row: Row, said: str, answer: str) -> str:
    """Return why a row has no answer, where it says so: in a column, by a status of HTTP, or in its place."""
    if said and number(said) is None:
        return said
    status = next((code for column in _STATUS if (code := number(cell(row, column))) is not None), 0)
    if status >= 400:
        return f"HTTP {status:.0f}: {answer}".strip(": ")
    return answer if _SAID.match(answer) else ""


_STATUS = ("status_code", "http_status", "response.metadata.http.status", "metadata.http.status", "response.status")
