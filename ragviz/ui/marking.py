"""A document's text in which a passage can be marked with the mouse: a component of the browser."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import streamlit as st

from ragviz.core.document import Document
from ragviz.text import markup

# The text becomes text nodes and marks only, so that nothing in it is markup. A browser counts UTF-16 units where
# Python counts characters: offsets are therefore counted in code points.
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
  const reportSelection = () => {
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
    document.addEventListener("pointerup", () => setTimeout(reportSelection, 0), { once: true });
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
    """Cut `text` at the borders of `marks` (start, end, class), and return each piece with the classes that cover it.

    >>> pieces("abcde", [(1, 3, "gold"), (2, 4, "focus")])
    [('a', ''), ('b', 'gold'), ('c', 'focus gold'), ('d', 'focus'), ('e', '')]
    """
    inside = [(max(0, start), min(len(text), end), name) for start, end, name in marks]
    inside = [(start, end, name) for start, end, name in inside if start < end]
    borders = sorted({0, len(text), *(border for start, end, _ in inside for border in (start, end))})
    return [
        (text[left:right], " ".join(sorted({name for start, end, name in inside if start <= left < end})))
        for left, right in pairwise(borders)
    ]


def text_to_mark(
    document: Document, part: tuple[int, int], marks: Sequence[tuple[int, int, str]], key: str
) -> tuple[int, int] | None:
    """Show a part of a document, and return the range of characters that was just marked in it, else None."""
    start, end = part
    shown = markup.visible(document.text[start:end])
    focus = next((f"{s}-{e}" for s, e, name in marks if name == "focus"), "")
    name = f"{document.id}-{start}-{focus}"
    cut_text = pieces(shown, [(s - start, e - start, name) for s, e, name in marks])
    data = {"pieces": cut_text, "language": document.language, "key": name}
    selection = _text(key=key, data=data, on_marked_change=lambda: None).marked
    if not selection or selection["key"] != name:
        return None
    return start + int(selection["start"]), start + int(selection["end"])
