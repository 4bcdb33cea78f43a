"""Drafts of questions, kept in the session until they are saved or discarded.

A draft also survives when saving is refused because somebody else changed the question meanwhile.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import streamlit as st

from ragviz.core.document import Corpus
from ragviz.core.question import Question, QuestionStyle, QuestionType
from ragviz.core.question_set import QuestionSet
from ragviz.core.span import Evidence, Span
from ragviz.store.codecs import version_of
from ragviz.store.store import Store

_DRAFTS = "drafts"  # session state: drafts by the set and question they are of


@dataclass(slots=True)
class Draft:
    """A question as it is being written; `question` is the stored one that is edited, None for a new one.

    `version` is that of `question`, "" for a new one; `focus` the span of evidence looked at; `current` the stored
    question when saving was refused, None if it was deleted. `corpus` and `question_set` are what it is written for
    (the set None where there is none yet), `set_name` the name of the set that the screen shows; `names` are the
    documents' names by id.
    """

    text: str = ""
    answer: str = ""
    unanswerable: bool = False
    type: QuestionType = ""
    style: QuestionStyle = ""
    groups: list[list[Span]] = field(default_factory=list)
    version: str = ""
    focus: Span | None = None
    refused: bool = False
    current: Question | None = None
    question: Question | None = None
    corpus: Corpus | None = None
    question_set: QuestionSet | None = None
    set_name: str = ""
    names: Mapping[str, str] = field(default_factory=dict)

    @property
    def evidence(self) -> Evidence:
        """The evidence as a question's field."""
        return tuple(tuple(group) for group in self.groups if group)

    @property
    def changed(self) -> bool:
        """Whether it holds anything that is not saved."""
        return self.written() != (self.question or Question("", "", "", (), "hand", "accepted"))

    def written(self) -> Question:
        """Return the question as it is typed so far."""
        before = self.question or Question("", "", "", (), "hand", "accepted")
        return replace(
            before, text=self.text, answer=self.answer, evidence=self.evidence, unanswerable=self.unanswerable,
            type=self.type, style=self.style,
        )  # fmt: skip


def draft_of(name: str, question: Question | None) -> Draft:
    """Return the draft of this name; a new one begins with the question's content."""
    drafts = _drafts()
    if name not in drafts:
        drafts[name] = Draft()
        if question is not None:
            groups = [list(group) for group in question.evidence]
            words = (question.text, question.answer, question.unanswerable, question.type, question.style)
            drafts[name] = Draft(*words, groups, version_of(question), question=question)
    return drafts[name]


def _drafts() -> dict[str, Draft]:
    drafts: dict[str, Draft] = st.session_state.setdefault(_DRAFTS, {})
    return drafts


def keep() -> None:
    """Copy the values of the fields into the drafts: Streamlit drops them when the editor is not drawn."""
    for name, draft in _drafts().items():
        draft.text = st.session_state.get(f"{name}/text", draft.text)
        draft.answer = st.session_state.get(f"{name}/answer", draft.answer)
        draft.unanswerable = st.session_state.get(f"{name}/unanswerable", draft.unanswerable)
        draft.type = st.session_state.get(f"{name}/type", draft.type)
        draft.style = st.session_state.get(f"{name}/style", draft.style)


def is_any_changed() -> bool:
    """Return whether any draft holds what is not saved."""
    return any(draft.changed for draft in _drafts().values())


def orphaned(store: Store) -> dict[str, tuple[str, Draft]]:
    """Return the changed drafts whose corpus, set or question was deleted, by name, with what was deleted.

    A new question belongs to its corpus only: it is saved into the set that is chosen.
    """
    changed = {name: draft for name, draft in _drafts().items() if draft.changed and draft.corpus}
    return {name: (what, draft) for name, draft in changed.items() if (what := _deleted(store, draft))}


def _deleted(store: Store, draft: Draft) -> str:
    """Return which of corpus, set and question of a draft was deleted, in words; "" when all exist."""
    corpus, question_set, question = draft.corpus, draft.question_set, draft.question
    if corpus is not None and store.ids_of([("corpus", corpus.id)]) != [corpus.id]:
        return f"The corpus “{corpus.name}”"
    if question is None or question_set is None:
        return ""
    if store.ids_of([("questions", question_set.id)]) != [question_set.id]:
        return f"The question set “{question_set.name}”"
    return "" if any(q.id == question.id for q in store.questions.all(question_set.id)) else "The question"


def discard(name: str) -> None:
    """Remove a draft, and the values of its fields."""
    st.session_state.get(_DRAFTS, {}).pop(name, None)
    for key in [key for key in st.session_state if str(key).startswith(f"{name}/")]:
        del st.session_state[key]


def put_in(draft: Draft, span: Span, target: str) -> None:
    """Add a span as evidence: as a further passage ("new"), as an alternative ("or 1"), or replacing one ("for 1.2").

    A span that the group already has is not added again.
    """
    draft.focus = span
    kind, _, place = target.partition(" ")
    if kind == "for":
        group, member = (int(number) - 1 for number in place.split("."))
        draft.groups[group][member] = span
    elif kind == "or":
        group = int(place) - 1
        if span not in draft.groups[group]:
            draft.groups[group].append(span)
    elif [span] not in draft.groups:
        draft.groups.append([span])


def targets_of(draft: Draft) -> dict[str, str]:
    """Return what a marked span can be used for → its label; replacements of stale spans come first."""
    labels = {
        f"for {g}.{m}": f"Replacement for {f'passage {g}' if len(group) == 1 else f'{g}, alternative {m}'}"
        for g, group in enumerate(draft.groups, start=1)
        for m, span in enumerate(group, start=1)
        if span.stale
    }
    labels["new"] = "Additional passage" if draft.groups else "Passage"
    return labels | {f"or {g}": f"Alternative to passage {g}" for g in range(1, len(draft.groups) + 1)}
