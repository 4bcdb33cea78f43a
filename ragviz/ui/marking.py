"""The view in which a question is written or mended: its words, and its evidence marked in the documents' text.

What is typed and marked is a draft of the session: it stays until it is saved or given up, also when saving is refused
because somebody else changed the question meanwhile.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

import streamlit as st

from ragviz.errors import RagvizError
from ragviz.questions import authoring, sets
from ragviz.records import Corpus, Document, DocumentInfo, Evidence, Question, QuestionSet, Span
from ragviz.store.codecs import version_of
from ragviz.store.store import Store
from ragviz.text import markup
from ragviz.text.markup import plain, shortened
from ragviz.ui import address, cache, widgets

PART = 12_000
"""Characters of a document that are shown at once."""
_DRAFTS = "drafts"  # session state: drafts by the set and question they are of

# Only text nodes and marks are made of the text, so that nothing in it is markup. A browser counts UTF-16 units where
# Python counts characters: what stands before a border is counted by code points.
_SCRIPT = """
export default function (component) {
  const { data, parentElement, setTriggerValue } = component;
  const box = parentElement.querySelector(".rv-marking");
  box.lang = data.language;
  box.replaceChildren(...data.pieces.map(([text, name]) => {
    if (!name) return document.createTextNode(text);
    const mark = document.createElement("mark");
    mark.className = name;
    mark.textContent = text;
    return mark;
  }));
  if (box.dataset.shown !== data.key) {
    box.dataset.shown = data.key;
    const first = box.querySelector("mark.focus");
    box.scrollTop = first ? first.offsetTop - box.offsetTop - box.clientHeight / 3 : 0;
  }
  const characters = (node, offset) => {
    const before = document.createRange();
    before.setStart(box, 0);
    before.setEnd(node, offset);
    return Array.from(before.toString()).length;
  };
  const told = () => {
    const selection = document.getSelection();
    if (!selection.rangeCount || selection.isCollapsed) return;
    const range = selection.getRangeAt(0);
    if (!range.intersectsNode(box)) return;
    const start = box.contains(range.startContainer) ? characters(range.startContainer, range.startOffset) : 0;
    const end = box.contains(range.endContainer)
      ? characters(range.endContainer, range.endOffset) : characters(box, box.childNodes.length);
    selection.removeAllRanges();
    if (start < end) setTriggerValue("marked", { start, end, key: data.key });
  };
  box.onpointerdown = () => {
    document.addEventListener("pointerup", () => setTimeout(told, 0), { once: true });
  };
}
"""
_STYLE = """
.rv-marking { max-height: 560px; overflow-y: auto; padding: .8rem 1rem; border-radius: .5rem; cursor: text;
  border: 1px solid rgba(128, 136, 148, .35); max-width: 90ch; }
"""
_text = st.components.v2.component(
    "ragviz_marking",
    html='<div class="rv-text rv-marking" dir="auto" role="document" aria-label="Text of the document"></div>',
    css=_STYLE,
    js=_SCRIPT,
    isolate_styles=False,
)


def pieces(text: str, marks: Sequence[tuple[int, int, str]]) -> list[tuple[str, str]]:
    """Cut `text` at the borders of `marks` (start, end, class): each piece with the classes that cover it.

    >>> pieces("abcde", [(1, 3, "gold"), (2, 4, "focus")])
    [('a', ''), ('b', 'gold'), ('c', 'focus gold'), ('d', 'focus'), ('e', '')]
    """
    inside = [(max(0, start), min(len(text), end), name) for start, end, name in marks]
    inside = [(start, end, name) for start, end, name in inside if start < end]
    borders = sorted({0, len(text), *(at for start, end, _ in inside for at in (start, end))})
    return [
        (text[left:right], " ".join(sorted({name for start, end, name in inside if start <= left < end})))
        for left, right in pairwise(borders)
    ]


def text_to_mark(
    document: Document, part: tuple[int, int], marks: Sequence[tuple[int, int, str]], key: str
) -> tuple[int, int] | None:
    """Show a part of a document; the characters that were marked in it with the mouse since the last look, or None."""
    start, end = part
    shown = markup.visible(document.text[start:end])
    focus = next((f"{s}-{e}" for s, e, name in marks if name == "focus"), "")
    name = f"{document.id}-{start}-{focus}"
    cut = pieces(shown, [(s - start, e - start, name) for s, e, name in marks])
    data = {"pieces": cut, "language": document.language, "key": name}
    told = _text(key=key, data=data, on_marked_change=lambda: None).marked
    if not told or told["key"] != name:
        return None
    return start + int(told["start"]), start + int(told["end"])


# Drafts


@dataclass(slots=True)
class Draft:
    """A question as it is being written; `question` is the one that was shown, None of a new one.

    `version` is that of the one shown, "" of a new one; `focus` is the piece of evidence looked at; `stands` what was
    found instead when saving was refused. `corpus` and `asked` are what it is written for (the set None where there is
    none yet), `into` the name of the set that the screen tells; `names` are documents' by id.
    """

    text: str = ""
    answer: str = ""
    groups: list[list[Span]] = field(default_factory=list)
    version: str = ""
    focus: Span | None = None
    refused: bool = False
    stands: Question | None = None
    question: Question | None = None
    corpus: Corpus | None = None
    asked: QuestionSet | None = None
    into: str = ""
    names: Mapping[str, str] = field(default_factory=dict)

    @property
    def evidence(self) -> Evidence:
        """The evidence as a question holds it."""
        return tuple(tuple(group) for group in self.groups if group)

    @property
    def typed(self) -> bool:
        """Whether it holds anything that is not saved."""
        before = self.question or Question("", "", "", (), "hand")
        return (self.text, self.answer, self.evidence) != (before.text, before.answer, before.evidence)

    def written(self) -> Question:
        """The question as it is typed so far."""
        before = self.question or Question("", "", "", (), "hand", "accepted")
        return replace(before, text=self.text, answer=self.answer, evidence=self.evidence)


def draft_of(name: str, question: Question | None) -> Draft:
    """The draft of this name, begun from the question when there is none."""
    drafts = _drafts()
    if name not in drafts:
        drafts[name] = Draft()
        if question is not None:
            groups = [list(group) for group in question.evidence]
            drafts[name] = Draft(question.text, question.answer, groups, version_of(question), question=question)
    return drafts[name]


def _drafts() -> dict[str, Draft]:
    drafts: dict[str, Draft] = st.session_state.setdefault(_DRAFTS, {})
    return drafts


def keep() -> None:
    """Note what the fields of the drafts hold: they forget it where the view is not drawn again."""
    for name, draft in _drafts().items():
        draft.text = st.session_state.get(f"{name}/text", draft.text)
        draft.answer = st.session_state.get(f"{name}/answer", draft.answer)


def left_over(store: Store) -> dict[str, tuple[str, Draft]]:
    """Drafts in which something is typed whose corpus, set or question is gone, by name: what is gone, and the draft.

    A new question is written for a corpus: it goes into the set that is looked at.
    """
    left = {name: (_gone(store, draft), draft) for name, draft in _drafts().items() if draft.typed and draft.corpus}
    return {name: (gone, draft) for name, (gone, draft) in left.items() if gone}


def _gone(store: Store, draft: Draft) -> str:
    """What a draft was written for and is gone, in words; "" when all is there."""
    corpus, asked, question = draft.corpus, draft.asked, draft.question
    if corpus is not None and store.ids_of([("corpus", corpus.id)]) != [corpus.id]:
        return f"The corpus “{corpus.name}”"
    if question is None or asked is None:
        return ""
    if store.ids_of([("questions", asked.id)]) != [asked.id]:
        return f"The question set “{asked.name}”"
    return "" if any(q.id == question.id for q in store.questions(asked.id)) else "The question"


def give_up(name: str) -> None:
    """Forget a draft, and what its fields hold."""
    st.session_state.get(_DRAFTS, {}).pop(name, None)
    for key in [key for key in st.session_state if str(key).startswith(f"{name}/")]:
        del st.session_state[key]


def put_in(draft: Draft, span: Span, target: str) -> None:
    """Take a place as evidence: as a further passage ("new"), an alternative ("or 1"), or another piece's ("for 1.2").

    What is there already is not taken twice.
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
    """What a mark may become, with its words; stale pieces first."""
    words = {
        f"for {g}.{m}": f"In place of {_numbered(g, m, len(group))}"
        for g, group in enumerate(draft.groups, start=1)
        for m, span in enumerate(group, start=1)
        if span.stale
    }
    words["new"] = "Further passage" if draft.groups else "The passage"
    return words | {f"or {g}": f"Alternative to {g}" for g in range(1, len(draft.groups) + 1)}


def _numbered(group: int, member: int, members: int) -> str:
    return f"passage {group}" if members == 1 else f"{group}, alternative {member}"


# The view


def view(corpus: Corpus, asked: QuestionSet | None, set_name: str, question: Question | None) -> None:
    """Write a question of the set `asked`, or change `question`; leads back to the questions when it is saved.

    Without a set one called `set_name` is made. A new question stays as it is typed when another set is chosen.
    """
    name = f"draft-{asked.id}-{question.id}" if asked and question else f"draft-{corpus.id}-new"
    draft = draft_of(name, question)
    draft.corpus, draft.asked = corpus, asked
    infos = [info for info in cache.workspace().store.documents(corpus.id) if info.status == "ok"]
    draft.names = {info.id: info.name for info in infos}
    told, draft.into = draft.into, set_name
    left, right = st.columns([2, 3], gap="medium")
    with right:
        _documents(corpus, draft, infos, name)
    with left:
        draft.text = st.text_area("Question", draft.text, key=f"{name}/text", height=80)
        draft.answer = st.text_area("Answer", draft.answer, key=f"{name}/answer", height=100)
        _evidence(corpus, draft, dict(draft.names), name)
        if draft.refused:
            _refused(draft, name)
        if question is None:
            st.caption(f"It goes into the set “{plain(set_name)}”." + ("" if asked else " It is made for it."))
        with st.container(horizontal=True):
            if st.button("Save", type="primary", key=f"{name}/save", disabled=draft.refused):
                _save(draft, told, name)
            if st.button("Give up" if question is None else "Leave it", key=f"{name}/leave"):
                give_up(name)
                address.put(edit=None)
                st.rerun()


def _evidence(corpus: Corpus, draft: Draft, names: dict[str, str], name: str) -> None:
    st.markdown("**Evidence**")
    if not draft.groups:
        st.caption("None yet: mark it in the document, or quote it. Saved without, the documents do not answer it.")
    for g, group in enumerate(draft.groups, start=1):
        with st.container(border=True, gap="xsmall"):
            several = f" of {len(draft.groups)}, all needed" if len(draft.groups) > 1 else ""
            st.caption(f"Passage {g}{several}" + (" · any of these suffices" if len(group) > 1 else ""))
            for m, span in enumerate(group, start=1):
                _piece(corpus, draft, names, name, (g, m), span)


def _piece(corpus: Corpus, draft: Draft, names: dict[str, str], name: str, place: tuple[int, int], span: Span) -> None:
    g, m = place
    with st.container(horizontal=True, vertical_alignment="center"):
        where = names.get(span.document_id, "a document that was deleted")
        st.caption(f":orange[▲ Stale]: it stood in {plain(where)}" if span.stale else plain(where), width="stretch")
        if not span.stale and st.button("Show", type="tertiary", key=f"{name}/show-{g}-{m}"):
            draft.focus = span
            st.rerun()
        if st.button("Remove", type="tertiary", key=f"{name}/remove-{g}-{m}"):
            draft.groups[g - 1].remove(span)
            draft.groups = [group for group in draft.groups if group]
            st.rerun()
    st.html(markup.highlighted(span.text, [] if span.stale else [(0, len(span.text))], fold=200))
    if span.stale and span.document_id in names:
        [document] = cache.workspace().store.document_texts(corpus.id, [span.document_id])
        _offer(draft, authoring.proposals(document, span.text), f"for {g}.{m}", f"{name}/offer-{g}-{m}")


def _offer(draft: Draft, found: Sequence[authoring.Proposal], target: str, key: str) -> None:
    """Places to be taken, one by one."""
    for number, proposal in enumerate(found):
        how = "The same words" if proposal.how == "exact" else f"Near: {proposal.alike:.0%} of the words"
        with st.container(horizontal=True, vertical_alignment="center"):
            st.caption(f"{how}: “{plain(shortened(proposal.span.text, 160))}”", width="stretch")
            if st.button("Use this", key=f"{key}-{number}"):
                put_in(draft, proposal.span, target)
                st.rerun()


def _documents(corpus: Corpus, draft: Draft, infos: Sequence[DocumentInfo], name: str) -> None:
    """The document that is looked at: evidence is marked in it with the mouse, or found by a quote."""
    if not infos:
        with widgets.nothing("The corpus has no readable document to mark evidence in."):
            address.link("documents", "Add documents")
        return
    names, ids = [info.name for info in infos], [info.id for info in infos]
    _open_focus(draft, ids, names, name)
    one, two = st.columns(2)
    chosen = one.selectbox("Document", names, key=f"{name}/document")
    targets = targets_of(draft)
    if st.session_state.get(f"{name}/target") not in targets:
        st.session_state[f"{name}/target"] = next(iter(targets))
    target = two.selectbox(
        "What is marked is", list(targets), key=f"{name}/target", format_func=targets.__getitem__,
        help="Every passage is needed to answer the question; of a passage and its alternatives any one suffices.",
    )  # fmt: skip
    document = cache.workspace().store.document(corpus.id, ids[names.index(chosen)])
    _quote(draft, document, target, name)
    _text_of(draft, document, target, name)


def _open_focus(draft: Draft, ids: Sequence[str], names: Sequence[str], name: str) -> None:
    """Turn to the document of the piece that was chosen last, at first to that of the first piece."""
    spans = [span for group in draft.groups for span in group if span.document_id in ids]
    first = f"{name}/document" not in st.session_state
    focus = draft.focus or (spans[0] if first and spans else None)
    if focus is None or focus == st.session_state.get(f"{name}/seen") or focus.document_id not in ids:
        return
    draft.focus = None if focus.stale else focus
    st.session_state[f"{name}/seen"] = focus
    st.session_state[f"{name}/document"] = names[ids.index(focus.document_id)]
    st.session_state.pop(f"{name}/part", None)


def _quote(draft: Draft, document: Document, target: str, name: str) -> None:
    with st.form(f"{name}/quote", border=False, enter_to_submit=True):
        one, two = st.columns([5, 1], vertical_alignment="bottom")
        quote = one.text_input(
            "Quote", key=f"{name}/quoted", placeholder="Mark below with the mouse, or paste the words"
        )
        wanted = two.form_submit_button("Find")
    if not quote.strip():
        return
    found = authoring.proposals(document, quote)
    if wanted and len(found) == 1 and found[0].how == "exact":
        put_in(draft, found[0].span, target)
        st.rerun()
    if not found:
        st.caption(f":orange[▲] Neither these words nor nearly all of them stand in {plain(document.name)}.")
    elif len(found) > 1 or found[0].how == "near":
        _offer(draft, found, target, f"{name}/found")


def _text_of(draft: Draft, document: Document, target: str, name: str) -> None:
    parts = markup.parts(document.text, PART)
    focus = draft.focus if draft.focus and draft.focus.document_id == document.id else None
    at = next((n for n, (s, e) in enumerate(parts, start=1) if focus and s <= focus.start < e), 1)
    part = 1
    if len(parts) > 1:
        part = st.pagination(
            len(parts), default=at, key=f"{name}/part-{document.id}-{at}-{focus.start if focus else 0}"
        )
    spans = [span for group in draft.groups for span in group if span.document_id == document.id and not span.stale]
    marks = [(span.start, span.end, "gold") for span in spans]
    marks += [(focus.start, focus.end, "focus")] if focus else []
    place = text_to_mark(document, parts[part - 1], marks, f"{name}/text-of")
    if place is not None:
        try:
            put_in(draft, authoring.marked(document, *place), target)
        except RagvizError as error:
            st.caption(plain(str(error)))
            return
        st.rerun()


def _save(draft: Draft, told: str, name: str) -> None:
    """Write what was typed; a new question goes into no other set than the one `told` when *Save* was pressed."""
    assert draft.corpus is not None
    store = cache.workspace().store
    if draft.question is None and told != draft.into:
        st.warning(plain(f"It was to go into the set “{told}”, and would go into “{draft.into}” now. Nothing was "
                         "saved: save it again if that is right, or choose another set."))  # fmt: skip
        return
    try:
        if draft.question is None or draft.asked is None:
            saved = authoring.written(draft.text, draft.answer, draft.evidence)
            asked = draft.asked or sets.question_set(cache.workspace(), draft.corpus, draft.into)
            authoring.add(store, asked, saved)
        else:
            asked, before = draft.asked, draft.stands or draft.question
            saved = authoring.changed(before, text=draft.text, answer=draft.answer, evidence=draft.evidence)
            authoring.save(store, asked, saved, draft.version)
    except authoring.Conflict as conflict:
        draft.refused, draft.stands = True, conflict.current
    except RagvizError as error:
        st.error(plain(str(error)))
        return
    else:
        give_up(name)
        address.put(edit=None, set=asked.name, question=saved.id, tab="Review")
        st.toast("Saved")
    st.rerun()


def _refused(draft: Draft, name: str) -> None:
    """Say that the question is another by now, and what can be done; nothing typed is lost."""
    if draft.stands is None:
        st.error("The question was deleted since it was shown. What you wrote is kept here: copy it, or leave it.")
        return
    st.error("The question was changed by somebody else since it was shown: nothing was saved, what you wrote is kept.")
    st.caption(f"It is now: **{plain(draft.stands.text)}** {plain(draft.stands.answer)}")
    with st.container(horizontal=True):
        if st.button("Keep mine", key=f"{name}/mine", help="Then save: it is written over what stands there now."):
            draft.version, draft.refused = version_of(draft.stands), False
            st.rerun()
        if st.button("Take theirs", key=f"{name}/theirs", help="Drops what you wrote."):
            give_up(name)
            st.rerun()
