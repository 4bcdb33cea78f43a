"""Rows of questions, answers and contexts under whatever names, as the items of each system."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from ragviz.core.errors import InputError
from ragviz.core.question import LONGEST_ID
from ragviz.documents.tables_in import REFUSED
from ragviz.targets import logged_guess, ragchecker
from ragviz.targets.logged_content import Content, Row, as_rows, missing, number, plain, structured
from ragviz.targets.logged_item import Log, LoggedItem, Passage, Reading, gathered
from ragviz.targets.logged_tables import DEEPEST, SAMPLE, Table, cell, columns_of, lists_in, name_of, transposed
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
    tables = _tables(content)
    columns = columns_of(tables)
    chosen, guessed = logged_guess.chosen(given, columns, content.name), logged_guess.guessed(tables, columns)
    roles = {role: column for role, column in guessed.items() if column not in chosen.values()} | chosen
    roles = {role: column for role, column in roles.items() if column}
    systems = {} if given.get("answer") else logged_guess.by_system(tables[0], columns, roles)
    roles |= next(iter(systems.values()), {})
    if not roles.keys() & {"question", "history", "answer"} and not logged_guess.lists_contexts(tables, roles):
        raise InputError(_nothing(content.name, columns))
    talks = _lists_answers(tables[0], roles)
    holds = talks or roles.keys() & {"answer", "contexts", "context_ids", "documents"}
    if not holds and ("reference" in roles or "scores" not in roles):
        raise InputError(
            f"'{content.name}' holds questions, but no answers and no contexts of a system: it is a question set. "
            f"Import it with `ragviz questions import CORPUS {content.name} --name SET`, or say which column is the "
            f"answer: --map answer=COLUMN (its columns: {', '.join(columns)[:300]})."
        )
    origin = _origin(columns) if shape == "rows" else shape
    tables = [Table(system, tables[0].rows) for system in systems] or tables
    names = [table.name for table in tables]
    made = [_Rows(each, roles | systems.get(each.name, {}), content.name, origin, len(tables)) for each in tables]
    logs = [log for each in made for log in each.logs()]
    return Reading(shape, columns, roles, tuple(_aligned(_merged(logs, names) if len(logs) == len(names) else logs)))


def _lists_answers(table: Table, roles: Mapping[str, str]) -> bool:
    """Return whether the answers are the last turns of conversations."""
    column = roles.get("question", roles.get("history", ""))
    turns = [turns_in(cell(row, column)) for _, row in table.rows[:SAMPLE]] if column else []
    return any(each[-1][1] for each in turns if each)


def _nothing(name: str, columns: Sequence[str]) -> str:
    there = f"its columns: {', '.join(columns)[:300]}" if columns else "it has no rows of objects"
    return (
        f"'{name}' holds no column that is a question, an answer or contexts ({there}): name them, as --map "
        "question=COLUMN."
    )


def _origin(columns: Sequence[str]) -> str:
    names = {plain(column) for column in columns} | {plain(column.rpartition(".")[2]) for column in columns}
    return next((maker for maker, shown in MAKERS.items() if names & shown), "file")


_GENERIC = "score|value|result|output|metric_output"
"""What a score is called whose metric is the name of what it is in."""


def _merged(logs: Sequence[Log], names: Sequence[str]) -> list[Log]:
    """Return the logs of tables of these names; those that score the same answers are one, its scores by the names."""
    first = logs[0]
    said = [(item.question, item.answer) for item in first.items]
    same = all([(item.question, item.answer) for item in log.items] == said for log in logs)
    own = {name for log in logs for item in log.items for name in item.scores}
    generic = _GENERIC if len(logs) > 1 else "metric_output"
    answered = same and any(answer for _, answer in said)
    if not answered or not own or not all(re.fullmatch(generic, name) for name in own):
        return list(logs)
    together = zip(*(log.items for log in logs), strict=True)
    scores = [
        {name: value for name, item in zip(names, items, strict=True) for value in item.scores.values()}
        for items in together
    ]
    items = tuple(replace(item, scores=given) for item, given in zip(first.items, scores, strict=True))
    problems = tuple(dict.fromkeys(problem for log in logs for problem in log.problems))
    return [replace(first, items=items, problems=problems, system="")]


def _aligned(logs: Sequence[Log]) -> Sequence[Log]:
    """Return logs in which a question has one id, so that systems are compared by it, whatever its rows are called."""
    ids = {item.question: item.id for log in reversed(logs) for item in log.items}
    same = [tuple(replace(item, id=ids[item.question]) for item in log.items) for log in logs]
    if any(len({item.id for item in items}) < len(items) for items in same):
        return logs
    return [replace(log, items=items) for log, items in zip(logs, same, strict=True)]


def _tables(content: Content) -> list[Table]:
    """Return the rows of a file; where they have no question, the longest list within that has, and those beside."""
    whole: Any = [row for _, row in content.rows] if content.whole is None else content.whole
    one = Table("", content.rows if content.whole is None else as_rows(transposed(whole) or [whole]))
    if (own := _worth(one, levels=DEEPEST if content.whole is None else 1)) > 1:
        return [one]
    found = {path: Table("", rows) for path, rows in lists_in(whole, ()) if path}
    worth = {path: _worth(table) for path, table in found.items()}
    best = max(found, key=lambda path: (worth[path], -len(path), len(found[path].rows)), default=())
    if worth.get(best, 0) <= (own if content.whole is None else 0) or (own and len(found[best].rows) < len(one.rows)):
        return [one]
    columns = {*columns_of([found[best]])}
    beside = [
        path
        for path, table in found.items()
        if len(path) == len(best)
        and sum(a != b for a, b in zip(path, best, strict=True)) < 2
        and len(columns & {*columns_of([table])}) * 2 >= len(columns)
    ]
    return [Table(name_of(whole, path, beside), found[path].rows) for path in beside]


def _worth(table: Table, levels: int = DEEPEST) -> int:
    """Return how many of question, answer and contexts rows have; 0 without a question, unless they have the others."""
    roles = logged_guess.guessed([table], columns_of([table], levels)).keys()
    has = [role in roles for role in ("question", "answer", "contexts")]
    return sum(has) if has[0] or all(has[1:]) or (has[1] and len(table.rows) > 1) else 0


class _Rows:
    """Rows of a table as items, by the roles of their columns."""

    def __init__(self, table: Table, roles: Mapping[str, str], name: str, origin: str, tables: int) -> None:
        self.table, self.roles, self.name, self.origin, self.is_one_of_several = table, roles, name, origin, tables > 1
        columns = roles.get("contexts", "")
        self.contexts = columns.split(", ") if columns else []
        self.scores = roles["scores"].split(", ") if "scores" in roles else []
        last = {column: re.sub(rf"\.(?:{_GENERIC})$", "", column).rpartition(".")[2] for column in self.scores}
        named = Counter(last.values())
        self.called = {column: name if named[name] == 1 else column for column, name in last.items()}
        self.separator = "|" if plain(roles.get("answer", "")) == "actualoutput" else ""  # as DeepEval writes CSV
        self.milliseconds = bool(re.search(r"ms$|milli", plain(roles.get("seconds", ""))))

    def logs(self) -> list[Log]:
        """Return a log of each system, with a sentence on each row that cannot be read."""
        refused: list[tuple[str, Any]] = []
        items: list[tuple[str, str, LoggedItem]] = []
        several = 0
        for called, row in self.table.rows:
            if REFUSED in row:
                refused.append((called, partial(_refuse, row[REFUSED])))
                continue
            several += len(texts_in(self.value(row, "reference"))) > 1
            try:
                items.append((called, self.text(row, "system"), self.item(called, row)))
            except ValueError as error:
                refused.append((called, partial(_refuse, str(error))))
        systems, places = self._systems(items), {called: n for n, (called, _) in enumerate(self.table.rows)}
        logs = []
        for system in systems:
            of_system = [(c, item) for c, named, item in items if named == system or len(systems) == 1]
            made = [(c, partial(_same, item)) for c, item in self._identified(self._joined(of_system))]
            log = gathered(sorted([*made, *refused], key=lambda each: places[each[0]]), self.name, self.origin)
            told = (f"{counted(several, 'row', 'has')} several references: the first was kept.",) if several else ()
            logs.append(
                replace(
                    log,
                    problems=log.problems + told,
                    system=system or (self.table.name if self.is_one_of_several else ""),
                )
            )
        return logs

    def value(self, row: Row, role: str) -> Any:
        """Return what a row has in the column of a role; None where it has none."""
        column = self.roles.get(role)
        found = cell(row, column) if column else None
        return None if missing(found) else found

    def text(self, row: Row, role: str) -> str:
        """Return a value as text."""
        return text_in(self.value(row, role), role).strip()

    def item(self, called: str, row: Row) -> LoggedItem:
        """Return a row as an item; ValueError says why it is none."""
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
        """Return the contexts of a row, with what other columns say of them."""
        found = [each for column in self.contexts for each in passages_in(cell(row, column), self.separator)]
        beside = {role: _listed(self.value(row, role)) for role in ("context_ids", "documents", "context_scores")}
        ids, names, scores = beside.values()
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

    def _systems(self, items: Sequence[tuple[str, str, LoggedItem]]) -> list[str]:
        """Return the systems of a column: only where a question was put to several of them."""
        asked: dict[tuple[str, str], set[str]] = {}
        for _, system, item in items:
            asked.setdefault((item.id if item.id and not item.question else "", item.question), set()).add(system)
        systems = list(dict.fromkeys(system for _, system, _ in items))
        return systems if len(systems) == 1 or max(map(len, asked.values()), default=0) > 1 else [""]

    def _joined(self, items: Sequence[tuple[str, LoggedItem]]) -> Iterable[tuple[str, LoggedItem]]:
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

    def _identified(self, items: Iterable[tuple[str, LoggedItem]]) -> Iterator[tuple[str, LoggedItem]]:
        """Yield items under ids of their own: the file's, with a number where it comes again, else the row's."""
        used: Counter[str] = Counter()
        for called, item in items:
            own = item.id if item.id and len(item.id) <= LONGEST_ID - 8 else called.rpartition(" ")[2]
            used[own] += 1
            yield called, replace(item, id=own if used[own] == 1 else f"{own}#{used[own]}")


def _refuse(why: str) -> LoggedItem:
    raise ValueError(why)


def _same(item: LoggedItem) -> LoggedItem:
    return item


def _listed(value: Any) -> list[Any]:
    """Return the values of a list, of a text with "; " between them, or one alone."""
    found = structured(value)
    if isinstance(found, list):
        return found
    if isinstance(found, str) and "; " in found:
        return found.split("; ")
    return [] if found is None else [found]


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
