"""Claims of Chinese sentences by grammar: regular expressions over the codes of words (`chinese_words.codes`)."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ragviz.claims.chinese_gate import is_clear
from ragviz.claims.chinese_quantities import dates, quantities
from ragviz.claims.chinese_relations import doers, means, objects, people, places, relations
from ragviz.claims.chinese_rules import aims, causes, conditions, exceptions, obligations
from ragviz.claims.chinese_sentence import Draft, Sentence, is_usable
from ragviz.claims.chinese_terms import copulas, definitions, series
from ragviz.claims.chinese_tools import functions, tools, values


def drafts(sentence: Sentence) -> list[Draft]:
    """Return the questions that a sentence answers, the best first; of those with one answer the best."""
    found: dict[str, Draft] = {}
    for template in TEMPLATES:
        for draft in filter(is_usable, template(sentence)):
            if not is_clear(draft):
                continue
            if draft.answer not in found or draft.score > found[draft.answer].score:
                found[draft.answer] = draft
    return sorted(found.values(), key=lambda draft: -draft.score)


TEMPLATES: tuple[Callable[[Sentence], Iterator[Draft]], ...] = (
    definitions,
    exceptions,
    causes,
    conditions,
    series,
    places,
    doers,
    people,
    relations,
    means,
    obligations,
    aims,
    copulas,
    quantities,
    dates,
    objects,
    functions,
    tools,
    values,
)
"""Every way to ask about a sentence."""
