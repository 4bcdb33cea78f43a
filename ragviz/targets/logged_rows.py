"""Rows of questions, answers and contexts under whatever names: which column is what, and the items of each system."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from ragviz.core.errors import InputError
from ragviz.core.question import LONGEST_ID
from ragviz.documents.tables_in import REFUSED, SHORT
from ragviz.targets import ragchecker
from ragviz.targets.logged_content import Content, Row, as_rows, missing, number, plain, structured
from ragviz.targets.logged_item import Log, LoggedItem, Passage, Reading, gathered
from ragviz.targets.logged_roles import ROLES
from ragviz.targets.logged_values import passages_in, text_in, texts_in, turns_in, whole_in
from ragviz.text.counts import counted

SAMPLE, DEEPEST, MOST_COLUMNS, MOST_SYSTEMS = 200, 4, 1_000, 50
"""Rows from which roles are guessed, levels of objects within objects with columns; columns, systems at most."""
PREFIXES = re.compile(
    r"^(?:inputs?|outputs?|attributes|data|item|row|example|record|sample|llm|rag|metric input|vars)[ _.]+"
)
"""Beginnings of names that say nothing of what the column holds."""
NO_SCORES = re.compile(
    r"(?:^|[\W_])(?:id|ids|idx|index|order|turn|rank|ranks|length|len|chars|words|count|n|num|number|total|tokens?|"
    r"latency|time|times|timestamp|date|created|updated|start|end|duration|seconds|ms|cost|costs|price|usd|k|size|seed|"
    r"temperature|threshold|version|page|line|row|year|position|unnamed|status|code|reason|retrieved|expected|passed|"
    r"success|pass|passing|invalid|conversational|accepted|elapsed|level|difficulty|weight)(?:$|[\W_\d])"
)
"""Names of numbers that are no scores, in lower case with blanks between words."""
SCORES_WITHIN = re.compile(r"metric|score|eval|feedback|outputs|results|assess|grad")
"""Names of objects, and of lists of names with values, whose numbers are scores."""
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


@dataclass(frozen=True, slots=True)
class Table:
    """Rows, each with what it is called, and the name under which the file has them."""

    name: str
    rows: Sequence[tuple[str, Row]]


def read(content: Content, given: Mapping[str, str], shape: str) -> Reading:
    """Read rows, which were made from a file of another `shape`; `given` are columns by role, instead of the guessed.

    Raises:
        InputError: there is no such role or column; there are neither answers nor contexts; no row can be read.

    """
    tables = _tables(content)
    columns = columns_of(tables)
    chosen = _chosen(given, columns, content.name)
    roles = {role: each for role, each in guessed(tables, columns).items() if each not in chosen.values()} | chosen
    roles = {role: column for role, column in roles.items() if column}
    systems = {} if given.get("answer") else _by_system(tables[0], columns, roles)
    roles |= next(iter(systems.values()), {})
    if not roles.keys() & {"question", "history", "answer"} and not _lists_contexts(tables, roles):
        raise InputError(_nothing(content.name, columns))
    talks = _lists_answers(tables[0], roles)
    holds = talks or roles.keys() & {"answer", "contexts", "context_ids", "documents"}
    if not holds and ("reference" in roles or "scores" not in roles):
        raise InputError(
            f"'{content.name}' holds questions, but no answers and no contexts of a system: it is a question set. "
            f"Import it with `ragviz questions import CORPUS {content.name}`, or say which column is the answer: "
            f"--map answer=COLUMN (its columns: {', '.join(columns)[:300]})."
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


def _lists_contexts(tables: Sequence[Table], roles: Mapping[str, str]) -> bool:
    """Return whether rows list what was read: one text or id a row, without a question, is a corpus."""
    columns = [roles[role] for role in ("contexts", "context_ids") if role in roles]
    return any(isinstance(structured(cell(row, each)), list) for each in columns for _, row in tables[0].rows[:SAMPLE])


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
    if not own or not all(re.fullmatch(generic, name) for name in own):
        return list(logs)
    if not same or not any(answer for _, answer in said):
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


# Rows within a file


def _tables(content: Content) -> list[Table]:
    """Return the rows of a file; where they have no question, the longest list within that has, and those beside."""
    if content.whole is None:
        whole: Any = [row for _, row in content.rows]
        one = Table("", content.rows)
    else:
        whole = content.whole
        one = Table("", as_rows(_transposed(whole) or [whole]))
    if _worth(one, levels=1 if content.whole is not None else DEEPEST) > (content.whole is not None):
        return [one]
    found = {path: Table("", rows) for path, rows in _lists(whole, ()) if path}
    worth = {path: _worth(table) for path, table in found.items()}
    best = max(found, key=lambda path: (worth[path], -len(path), len(found[path].rows)), default=())
    if not worth.get(best):
        return [one]
    columns = {*columns_of([found[best]])}
    beside = [
        path
        for path, table in found.items()
        if len(path) == len(best)
        and sum(a != b for a, b in zip(path, best, strict=True)) < 2
        and len(columns & {*columns_of([table])}) * 2 >= len(columns)
    ]
    return [Table(_name(whole, path, beside), found[path].rows) for path in beside]


def _worth(table: Table, levels: int = DEEPEST) -> int:
    """Return how many of question, answer and contexts rows have; 0 without a question, unless they have the others."""
    roles = guessed([table], columns_of([table], levels)).keys()
    has = [role in roles for role in ("question", "answer", "contexts")]
    return sum(has) if has[0] or all(has[1:]) or (has[1] and len(table.rows) > 1) else 0


def _name(whole: Any, path: tuple[str, ...], beside: Sequence[tuple[str, ...]]) -> str:
    """Return what a list is called: by the key that tells it from those beside it, or by the name of that object."""
    at = next((n for n in range(len(path)) if len({each[n] for each in beside}) > 1), len(path) - 1)
    above = whole
    for part in path[: at + 1]:
        above = above[int(part) if isinstance(above, list) else part]
    named = above if isinstance(above, dict) and path[at].isdigit() else {}
    return str(next((named[key] for key in ("name", "system", "model", "label", "id") if named.get(key)), path[at]))


def _lists(value: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Sequence[tuple[str, Row]]]]:
    """Yield the lists of objects in a value with the keys that lead there: also columns of equal length, as rows."""
    if len(path) > DEEPEST + 2:
        return
    if isinstance(value, dict):
        if rows := _transposed(value):
            yield path, as_rows(rows)
    elif value and isinstance(value, list) and isinstance(value[0], dict):
        yield path, as_rows(value)
    else:
        return
    for key, each in value.items() if isinstance(value, dict) else enumerate(value[:MOST_SYSTEMS]):
        yield from _lists(each, (*path, str(key)))


def _transposed(value: Mapping[str, Any]) -> list[Row]:
    """Return the rows of an object that is columns, or objects with keys in common; none of others.

    >>> _transposed({"question": ["A?", "B?"], "scores": {"care": [1, 0]}, "version": 2})
    [{'question': 'A?', 'care': 1}, {'question': 'B?', 'care': 0}]
    """
    if isinstance(value.get("columns"), list) and isinstance(value.get("data"), list):  # as pandas splits a table
        return [dict(zip(value["columns"], cells, strict=False)) for cells in value["data"] if isinstance(cells, list)]
    asked = next((each for key, each in value.items() if plain(key) in ROLES["question"].names.split()), None)
    if isinstance(asked, list) and asked and not isinstance(asked[0], dict):
        within = [inner for inner in value.values() if isinstance(inner, dict)]
        columns = {k: each for part in (value, *within) for k, each in part.items() if isinstance(each, list)}
        columns = {key: each for key, each in columns.items() if len(each) == len(asked)}
        return [dict(zip(columns, cells, strict=True)) for cells in zip(*columns.values(), strict=True)]
    inner = [*value.values()]
    if len(inner) < 2 or not all(isinstance(each, dict) for each in inner) or not set.intersection(*map(set, inner)):
        return []
    if isinstance(asked, dict):
        return [{column: cells.get(key) for column, cells in value.items()} for key in asked]
    key_is = "question" if any(" " in key for key in value) else "id"
    return [{key_is: key, **each} for key, each in value.items()]


def columns_of(tables: Sequence[Table], levels: int = DEEPEST) -> tuple[str, ...]:
    """Return the columns of rows, those of objects within them joined by dots, in the order in which they come."""
    names: dict[str, None] = {}
    for table in tables:
        for _, row in table.rows[:SAMPLE]:
            if REFUSED not in row:
                names |= dict.fromkeys(_paths(row, levels))
    return tuple(name for name in names if name and name != SHORT)[:MOST_COLUMNS]


def _paths(row: Row, levels: int, before: str = "") -> Iterator[str]:
    for key, value in row.items():
        yield f"{before}{key}"
        inner = structured(value) if isinstance(value, str) and value[:1] == "{" else value
        if isinstance(inner, dict) and levels > 1 and len(inner) <= MOST_COLUMNS:
            yield from _paths(inner, levels - 1, f"{before}{key}.")


def cell(row: Row, column: str) -> Any:
    """Return what a row has in a column, also in one of an object within it; None where it has none."""
    if column in row:
        return row[column]
    first, dot, rest = column.partition(".")
    while dot:
        if first in row:
            inner = structured(row[first])
            if isinstance(inner, dict) and (found := cell(inner, rest)) is not None:
                return found
        more, dot, rest = rest.partition(".")
        first = f"{first}.{more}"
    return None


# Roles


_ALIASES = {name for role in ROLES.values() for name in role.names.split()}
_EITHER = {"answer", "answers"}
"""What systems and references are both called."""


def guessed(tables: Sequence[Table], columns: Sequence[str]) -> dict[str, str]:
    """Return columns by role, by what they are called and what they hold."""
    rows = [row for table in tables for _, row in table.rows[:SAMPLE] if REFUSED not in row]
    called = [(column, _depth(column), names) for column in columns if (names := _names(column))]
    values = {column: [v for row in rows if not missing(v := cell(row, column))] for column, *_ in called}
    roles: dict[str, str] = {}
    taken: set[str] = set()
    one_each = False
    for role, about in ROLES.items():
        if role == "context_scores" and "question" in roles and roles.keys() & {"contexts", "context_ids"}:
            asked = [text_in(cell(row, roles["question"]), "question") for _, row in tables[0].rows[:SAMPLE]]
            one_each = len(set(asked)) < len(asked) and not _lists_contexts(tables, roles)
        names = about.names.split()
        if role == "context_ids":
            names += [name for name in ROLES["contexts"].names.split() if name not in ROLES["documents"].names.split()]
        aliases = {name: place for place, name in enumerate(names)}
        found = [
            (step > 2, depth, aliases[name], step, column)
            for column, depth, names in called
            if column not in taken and not column.startswith(f"{roles.get('contexts', column)}.")
            for step, name in enumerate(names)
            if name in aliases
            and (step < 3 or (role.startswith("context") and not _ALIASES & {*names[:3]}))
            and not (depth and (role == "id" or (role == "reference" and name in _EITHER)))
        ]
        told = [len(set(map(repr, values[column]))) for *_, column in found] if role == "system" else [0] * len(found)
        for _, (*_, column) in sorted(zip([several < 2 for several in told], found, strict=True)):
            if _holds(role, values[column], one_each=one_each):
                roles[role] = column
                taken.add(column)
                break
    _of_contents(roles, values)
    _several(roles, values)
    _ambiguous(roles, values)
    scores = [
        column for column in columns if column not in roles.values() and _is_score(column, values.get(column, ()))
    ]
    return roles | ({"scores": ", ".join(scores)} if scores else {})


_ANSWERS = re.compile(
    r"(?:answer|response|output|prediction)[_. ](?P<a>.+)|(?P<b>.+)[_. ](?:answer|response|output)", re.I
)


def _by_system(table: Table, columns: Sequence[str], roles: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """Return the columns of several systems in one row, as "answer_gpt" or "gpt.answer", by role, by system."""
    systems: dict[str, dict[str, str]] = {}
    for column in columns:
        match, names = _ANSWERS.fullmatch(column), _names(column)
        above = column.rpartition(".")[0]
        known = {*names[:3]} & _ALIASES if not above else _depth(column) == 0 or plain(above) in _ALIASES
        said = [value for _, row in table.rows[:SAMPLE] if not missing(value := cell(row, column))]
        if match and names and not known and said and all(isinstance(v, str) and number(v) is None for v in said):
            systems[str(match["a"] or match["b"])] = {"answer": column}
    if len(systems) < 2 or roles.get("answer", "") not in ("", *(own["answer"] for own in systems.values())):
        return {}
    for system, own in systems.items():
        for column in columns:
            rest = column.removeprefix(system) if column.startswith(system) else column.removesuffix(system)
            for role in ("contexts", "context_ids", "seconds", "cost", "error"):
                if rest != column and plain(rest) in ROLES[role].names.split():
                    own[role] = column
    return systems


_APART = re.compile(
    r"(?:^|\.)(?:metadata|additional_metadata|resource|config|headers|prompts|test_case|[a-z_]*params|parameters|settings)\."
)
"""Objects whose contents are no roles: what was set, not what was asked or said."""


def _names(column: str) -> list[str]:
    """Return what a column may be called, as aliases are written: whole, its last part, without prefixes, suffixes."""
    spaced = re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", column).lower()
    last = spaced.rpartition(".")[2]
    if _APART.search(spaced):
        return []
    short = last
    while (cut := PREFIXES.sub("", short)) != short and cut:
        short = cut
    return [plain(spaced), plain(last), plain(short), plain(short.rpartition("_")[0] or short)]


def _depth(column: str) -> int:
    """Return how many objects a column is in, without those that hold all that was put in, or came out."""
    return sum(not PREFIXES.match(f"{part} ") for part in column.lower().split(".")[:-1])


_NAMES = re.compile(
    r"(?:(?:https?://\S+|[^;,|\n]{1,80}\.[A-Za-z]\w{1,4}|[\w.:/#-]*(?:[a-z]\d|\d[a-z]|[_:#/])[\w.:/#-]*)\s*(?:[;,|]\s*|$))+"
)
"""Names of files, addresses and ids, which are no texts that were read."""


def _holds(role: str, values: Sequence[Any], *, one_each: bool) -> bool:
    """Return whether a column holds what its name says; one without any value holds anything.

    Questions that come again may be of a row a context: `one_each`.
    """
    some = values[:SAMPLE]
    if not some:
        return role in ("question", "answer", "contexts", "reference")
    if role == "question":
        return any(number(text := text_in(value, role)) is None and text and text[0] != "{" for value in some)
    if role in ("answer", "reference"):
        return any(text_in(value, role) or (role == "answer" and whole_in(value)) for value in some)
    if role in ("contexts", "reference_contexts"):
        found = [each for value in some if number(value) is None for each in passages_in(value)]
        return any(not _NAMES.fullmatch(each.text) for each in found)
    if role in ("seconds", "prompt_tokens", "completion_tokens", "cost"):
        return all(number(value) is not None for value in some)
    if role == "history":
        return any(turns_in(value) for value in some)
    if role == "context_scores":
        return all(isinstance(structured(each), list) or (one_each and number(each) is not None) for each in some)
    if role == "context_ids":
        return not any(isinstance(each, dict) or number(each) is not None for each in some)
    return not any(isinstance(value, dict) for value in some)


def _of_contents(roles: dict[str, str], values: Mapping[str, Sequence[Any]]) -> None:
    """Find the question by its marks, and contexts as lists of texts, where no name says so."""
    free = {column: found for column, found in values.items() if column not in roles.values() and found}
    if "question" not in roles and "history" not in roles:
        for column, found in free.items():
            asked = sum(isinstance(each, str) and each.rstrip()[-1:] in "?？" for each in found)
            if asked * 2 > len(found):
                roles["question"] = column
                break
    if "contexts" not in roles:
        for column, found in free.items():
            lists = [structured(each) for each in found]
            if all(isinstance(each, list) and all(isinstance(t, str) and " " in t for t in each) for each in lists):
                roles["contexts"] = column
                break


def _several(roles: dict[str, str], values: Mapping[str, Sequence[Any]]) -> None:
    """Take columns that are numbered, as "context_1" and "context_2", together."""
    aliases = {*ROLES["contexts"].names.split()}
    numbered = [
        column for column in values if re.search(r"\d+$", column) and plain(column).rstrip("0123456789") in aliases
    ]
    if numbered and ("contexts" not in roles or roles["contexts"] in numbered):
        roles["contexts"] = ", ".join(numbered)


def _ambiguous(roles: dict[str, str], values: Mapping[str, Sequence[Any]]) -> None:
    """Tell the two meanings of "context" and "answer" apart by what else there is."""
    contexts, answer = plain(roles.get("contexts", "")), plain(roles.get("answer", ""))
    if answer == "actualoutput" and "reference_contexts" not in roles:  # DeepEval's `context` is the ideal one
        ideal = next((column for column in values if plain(column) == "context"), "")
        if contexts == "context":
            del roles["contexts"]
        if ideal:
            roles["reference_contexts"] = ideal
    known = {"contexts", "context_ids", "reference", "seconds", "prompt_tokens"}
    if "contexts" not in roles and "reference" in roles and "context.span_id" in values:  # Phoenix calls them so
        roles["contexts"] = roles.pop("reference")
        roles |= {"context_scores": "document_score"} if "document_score" in values else {}
    if answer in _EITHER and "reference_contexts" in roles and not roles.keys() & known:
        roles["reference"] = roles.pop("answer")


def _is_score(column: str, values: Sequence[Any]) -> bool:
    """Return whether a column's numbers are a judgement: no length, no time, no count, no place."""
    spaced = re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", column).lower()
    above, _, last = spaced.rpartition(".")
    if (above and not SCORES_WITHIN.search(above)) or not values:
        return False
    if isinstance(structured(values[0]), list):
        return bool(SCORES_WITHIN.search(last)) and any(_named_scores(value) for value in values)
    if NO_SCORES.search(last) or re.search(r"(?:^|\.)(?:metadata|usage|config|tokens?_used)(?:\.|$)", above):
        return False
    return sum(number(value) is not None for value in values) * 5 >= len(values) * 4


def _named_scores(value: Any) -> dict[str, float]:
    """Return the scores of a list of names with values, as DeepEval, Langfuse and MLflow write them."""
    found = structured(value)
    scores: dict[str, float] = {}
    for each in found if isinstance(found, list) else []:
        if isinstance(each, dict):
            name = next(
                (each[key] for key in ("name", "metric", "metricName", "metric_name", "key") if each.get(key)), None
            )
            given = next((each[key] for key in ("score", "value", "result") if each.get(key) is not None), None)
            if isinstance(name, str) and (as_number := number(given)) is not None:
                scores[name] = as_number
    return scores


def _chosen(given: Mapping[str, str], columns: Sequence[str], name: str) -> dict[str, str]:
    """Return the columns that were chosen, as they are called; names are compared as aliases are."""
    chosen = {}
    by_name = {plain(column): column for column in reversed(columns)}
    for role, asked in given.items():
        if role not in ROLES:
            raise InputError(f"There is no role '{role}': there are {', '.join(ROLES)}.")
        parts = [asked] if plain(asked) in by_name or not asked else [part.strip() for part in asked.split(",")]
        if missing_ones := [part for part in parts if part and part not in columns and plain(part) not in by_name]:
            there = ", ".join(columns)[:300]
            raise InputError(f"'{name}' has no column '{missing_ones[0]}' for the {role}. Its columns: {there}.")
        chosen[role] = ", ".join(part if part in columns else by_name.get(plain(part), "") for part in parts)
    return chosen


# Items


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
        asked, history = self.value(row, "question"), turns_in(self.value(row, "history"))
        turns = turns_in(asked) or ([] if asked is not None else history)
        question = text_in(asked, "question").strip() or (turns[-1][0] if turns else "")
        if turns_before := turns[:-1] or ([] if turns else [turn for turn in history if turn[0] != question]):
            history = turns_before
        elif turns:
            history = []
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
                yield from _named_scores(value).items()
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
        joined: dict[str, tuple[str, LoggedItem]] = {}
        result: list[str] = []
        for place, (called, item) in enumerate(items):
            key = f"{item.id if by_id else ''}\n{item.question}"
            before = joined.get(key)
            if before is None or not item.contexts or item.answer not in (None, before[1].answer):
                key = key if before is None else f"{place}\n{key}"
                joined[key] = (called, item)
                result.append(key)
            else:
                joined[key] = (before[0], replace(before[1], contexts=before[1].contexts + item.contexts))
        return [joined[key] for key in result]

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
