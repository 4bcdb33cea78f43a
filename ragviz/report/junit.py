"""What was checked of a run as JUnit XML, which CI servers read: a test case for each check."""

from __future__ import annotations

import re
from xml.etree import ElementTree

from ragviz.runs.acceptance import Acceptance

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def junit(acceptance: Acceptance) -> bytes:
    """Return the XML: a failure's message has the values, its interval and n; a passed case says them as its output."""
    failures = str(sum(not outcome.passed for outcome in acceptance.outcomes))
    counts = {"tests": str(len(acceptance.outcomes)), "failures": failures, "errors": "0", "skipped": "0"}
    root = ElementTree.Element("testsuites", {"name": "ragviz check", **counts})
    suite = ElementTree.SubElement(root, "testsuite", {"name": _allowed(f"ragviz check {acceptance.run}"), **counts})
    for outcome in acceptance.outcomes:
        case = {"classname": _allowed(acceptance.run), "name": _allowed(outcome.name)}
        of, message = ElementTree.SubElement(suite, "testcase", case), _allowed(outcome.message)
        if outcome.passed:
            ElementTree.SubElement(of, "system-out").text = message
        else:
            ElementTree.SubElement(of, "failure", {"message": message, "type": outcome.standing}).text = message
    if acceptance.notes:
        ElementTree.SubElement(suite, "system-out").text = _allowed("\n".join(acceptance.notes))
    ElementTree.indent(root)
    written: bytes = ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)
    return written + b"\n"


def _allowed(text: str) -> str:
    """Replace what XML cannot hold: control characters, halves of surrogate pairs."""
    return _NOT_XML.sub("\ufffd", text)
