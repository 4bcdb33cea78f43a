"""Which column of a logged file is what: by what it is called, by what it holds, and by what else there is."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from ragviz.core.errors import InputError
from ragviz.documents.tables_in import REFUSED, structured
from ragviz.targets.logged_content import Content, as_rows, missing, number, plain
from ragviz.targets.logged_roles import ROLES
from ragviz.targets.logged_tables import DEEPEST, SAMPLE, cell, columns_of, lists_in, name_of, transposed
from ragviz.targets.logged_values import passages_in, text_in, turns_in, whole_in

PREFIXES = re.compile(
    r"^(?:inputs?|outputs?|attributes|data|item|row|example|record|sample|llm|rag|metric input|vars|"
    r"bot|chatbot|assistant|agent|ai)[ _.]+"
)
"""Beginnings of names that say nothing of what the column holds."""
NO_SCORES = re.compile(
    r"(?:^|[\W_])(?:id|ids|length|len|chars|words|count|tokens?|latency|times?|timestamp|date|created|updated|start|end|"
    r"duration|seconds|ms|elapsed|costs?|price|usd|seed|temperature|threshold|version|year|unnamed|status|code|reason|"
    r"invalid|conversational)(?:$|[\W_\d])"
)
"""Names of numbers that are no scores, in lower case with blanks between words."""
NO_SCORES_ALONE = re.compile(
    r"(?:^|[\W_])(?:idx|index|order|turn|ranks?|n|num|number|total|k|size|page|line|row|position|retrieved|expected|"
    r"passed|success|pass|passing|accepted|level|difficulty|weight)(?:$|[\W_\d])"
)
METRICS = re.compile(
    r"score|precision|recall|reciprocal|mrr|hit|ndcg|map|f1|accura|faith|relevan|correct|simil|ground|rouge|bleu|rate|cover"
)
"""Names of numbers that are scores only beside the name of a metric: "page", but not "recall_at_k"."""
SCORES_WITHIN = re.compile(r"metric|score|eval|feedback|outputs|results|assess|grad")
"""Names of objects, and of lists of names with values, whose numbers are scores."""
_ALIASES = {name for role in ROLES.values() for name in role.names.split()}
_EITHER = {"answer", "answers"}
"""What systems and references are both called."""


def guessed(tables: Sequence[Content], columns: Sequence[str]) -> dict[str, str]:
    """Return columns by role, by what they are called and what they hold."""
    rows = [row for table in tables for _, row in table.rows[:SAMPLE] if REFUSED not in row]
    # How many objects a column is in, without those that hold all that was put in, or came out.
    depths = {c: sum(not PREFIXES.match(f"{part} ") for part in c.lower().split(".")[:-1]) for c in columns}
    called = [(column, depths[column], names) for column in columns if (names := _names(column))]
    values = {column: [v for row in rows if not missing(v := cell(row, column))] for column, *_ in called}
    roles: dict[str, str] = {}
    taken: set[str] = set()
    one_each = False
    for role, about in ROLES.items():
        if role == "context_scores" and "question" in roles and roles.keys() & {"contexts", "context_ids"}:
            asked = [text_in(cell(row, roles["question"]), "question") for _, row in tables[0].rows[:SAMPLE]]
            one_each = len(set(asked)) < len(asked) and not lists_contexts(tables, roles)
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
    of_contexts = {*ROLES["contexts"].names.split()}
    numbered = [c for c in values if re.search(r"\d+$", c) and plain(c).rstrip("0123456789") in of_contexts]
    if numbered and ("contexts" not in roles or roles["contexts"] in numbered):
        roles["contexts"] = ", ".join(numbered)  # "context_1", "context_2" … together
    _ambiguous(roles, values)
    scores = [
        column for column in columns if column not in roles.values() and _is_score(column, values.get(column, ()))
    ]
    return roles | ({"scores": ", ".join(scores)} if scores else {})


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


_NAMES = re.compile(
    r"(?:(?:https?://\S+|[^;,|\n]{1,80}\.[A-Za-z]\w{1,4}|[\w.:/#-]*(?:[a-z]\d|\d[a-z]|[_:#/])[\w.:/#-]*)\s*(?:[;,|]\s*|$))+"
)
"""Names of files, addresses and ids, which are no texts that were read."""
LONGEST_NAMES = 1_000


def _holds(role: str, values: Sequence[Any], *, one_each: bool) -> bool:
    """Return whether a column holds what its name says; `one_each` is whether a row may be of one context."""
    some = values[:SAMPLE]
    if not some:
        return role in ("question", "answer", "contexts", "reference")
    if role == "question":
        return any(number(text := text_in(value, role)) is None and text and text[0] != "{" for value in some)
    if role in ("answer", "reference"):
        return any(text_in(value, role) or (role == "answer" and whole_in(value)) for value in some)
    if role in ("contexts", "reference_contexts"):
        found = [each for value in some if number(value) is None for each in passages_in(value)]
        return any(len(each.text) > LONGEST_NAMES or not _NAMES.fullmatch(each.text) for each in found)
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
        return bool(SCORES_WITHIN.search(last)) and any(named_scores(value) for value in values)
    if NO_SCORES.search(last) or (NO_SCORES_ALONE.search(last) and not METRICS.search(last)):
        return False
    if re.search(r"(?:^|\.)(?:metadata|usage|config|tokens?_used)(?:\.|$)", above):
        return False
    return sum(number(value) is not None for value in values) * 5 >= len(values) * 4


def named_scores(value: Any) -> dict[str, float]:
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


def chosen(given: Mapping[str, str], columns: Sequence[str], name: str) -> dict[str, str]:
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
    for column in parts_of(chosen):
        if len(twice := [role for role, given in chosen.items() if column in given.split(", ")]) > 1:
            raise InputError(f"Column '{column}' is given as {' and as '.join(twice)}: it can be one of them.")
    return chosen


def parts_of(roles: Mapping[str, str]) -> list[str]:
    """Return all columns that have a role."""
    return [part for columns in roles.values() for part in columns.split(", ") if part]


def lists_contexts(tables: Sequence[Content], roles: Mapping[str, str]) -> bool:
    """Return whether rows list what was read: one text or id a row, without a question, is a corpus."""
    columns = [roles[role] for role in ("contexts", "context_ids") if role in roles]
    return any(isinstance(structured(cell(row, each)), list) for each in columns for _, row in tables[0].rows[:SAMPLE])


def tables_of(content: Content) -> list[Content]:
    """Return the rows of a file; where they have no question, the longest list within that has, and those beside."""
    whole: Any = [row for _, row in content.rows] if content.whole is None else content.whole
    one = Content("", content.rows if content.whole is None else as_rows(transposed(whole) or [whole]))
    if (own := _worth(one, levels=DEEPEST if content.whole is None else 1)) > 1:
        return [one]
    found = {path: Content("", rows) for path, rows in lists_in(whole, ()) if path}
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
    return [Content(name_of(whole, path, beside), found[path].rows) for path in beside]


def _worth(table: Content, levels: int = DEEPEST) -> int:
    """Return how many of question, answer and contexts rows have; 0 without a question, unless they have the others."""
    roles = guessed([table], columns_of([table], levels)).keys()
    has = [role in roles for role in ("question", "answer", "contexts")]
    return sum(has) if has[0] or all(has[1:]) or (has[1] and len(table.rows) > 1) else 0
