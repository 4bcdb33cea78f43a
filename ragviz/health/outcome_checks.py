"""Checks by what became of questions: in doubt still, answered without documents, found by all or none, stale."""

from __future__ import annotations

from ragviz.health.finding import Finding, Found
from ragviz.health.material import Material
from ragviz.questions import staleness
from ragviz.text.counts import counted
from ragviz.text.denial import abstains

LEAST_RUNS = 2
"""Runs that rank in different ways, below which nothing is said to separate them or not."""
HOW_ANSWERED = (
    "run the set with an answerer that is a model and a judge for faithfulness, or verify the questions by a model "
    "(`ragviz questions verify`)."
)
HOW_CLOSED = (
    "run the set with context “none” and an answerer that is a model (`ragviz run --context none "
    "--answerer model`), or verify the questions by a model (`ragviz questions verify`)."
)


def without_documents(material: Material) -> Found:
    """Find questions that were answered rightly without any document."""
    verified = sum(bool(subject.question.verified_by) for subject in material.subjects)
    if not material.closed:
        if not verified:
            return Found(unknown=f"Not known: {HOW_CLOSED}")
        asked = f"{verified:,} of {len(material.subjects):,} questions were verified by a model"
        note = f"{asked}: the reason of those that it answered without documents says so."
        others = len(material.subjects) - verified
        return Found(unknown=f"Not known of {others:,} questions: {HOW_CLOSED}" if others else "", note=note)
    findings = []
    for subject in material.subjects:
        by = [run for run, right in material.closed.items() if right.get(subject.id)]
        if by and subject.question.kind != "unanswerable":
            told = f"answered rightly without any document in {', '.join(by)}"
            findings.append(Finding(subject.id, float(len(by)), told))
    judged = {i for right in material.closed.values() for i in right} & {subject.id for subject in material.subjects}
    runs, of = ", ".join(material.closed), len(material.subjects)
    return Found(tuple(findings), "", f"{len(judged):,} of {of:,} questions were asked without documents, by {runs}.")


def answered_after_all(material: Material) -> Found:
    """Find unanswerable questions that hold an answer, or that runs answered by what their passages say."""
    asked = [subject for subject in material.subjects if subject.question.kind == "unanswerable"]
    findings, known = [], set[str]()
    for subject in asked:
        by = [run for run, supported in material.judged.items() if supported.get(subject.id)]
        known |= {subject.id} if any(subject.id in supported for supported in material.judged.values()) else set()
        own = subject.question.answer
        if by or (own.strip() and not abstains(own)):
            words = f"answered from its passages by {', '.join(by)}" if by else f"it holds the answer “{own[:80]}”"
            findings.append(Finding(subject.id, float(len(by)), words))
    left = [s for s in asked if s.id not in known and not s.question.verified_by]
    unknown = f"Not known of {counted(len(left), 'unanswerable question')}: {HOW_ANSWERED}" if left else ""
    return Found(tuple(findings), unknown, "" if asked else "The set has no unanswerable question.")


def separates_nothing(material: Material) -> Found:
    """Find questions whose evidence every run found at its k, or none did: they separate no run from another."""
    runs = material.outcomes
    if len(runs) < LEAST_RUNS:
        more = "one more run, which ranks" if runs else "two runs, which rank"
        return Found(unknown=f"Not known: make {more} in another way (another retriever, index or k).")
    findings, looked_at = [], 0
    for subject in material.subjects:
        found = [of_run[subject.id] for of_run in runs.values() if subject.id in of_run]
        if len(found) < LEAST_RUNS:
            continue
        looked_at += 1
        if len(set(found)) == 1:
            words = f"found by all {len(found)} runs" if found[0] else f"found by none of {len(found)} runs"
            findings.append(Finding(subject.id, float(sum(found)), words))
    note = f"{looked_at:,} questions with evidence, in {len(runs)} runs: {', '.join(runs)}."
    return Found(tuple(findings), "", note)


def stale(material: Material) -> Found:
    """Find questions with evidence whose words no longer stand in its document, those that were set aside for it too.

    What is measured of one that was set aside is how many of its passages are gone: none, where it is the answer that
    is doubted in the new words.
    """
    findings = []
    for subject in material.subjects:
        spans = subject.question.spans
        gone = sum(span.stale for span in spans)
        if gone:
            words = f"{gone} of {len(spans)} passages no longer stand in their documents"
            findings.append(Finding(subject.id, float(gone), words))
    for question in material.set_aside:
        lost = sum(span.stale for span in question.spans)
        why = question.reason.removeprefix(staleness.REASON)
        findings.append(Finding(question.id, float(lost), f"set aside: {why}"))
    aside = counted(len(material.set_aside), "question", "is")
    note = (
        f"{aside} set aside, and asked by no run until the evidence is mended, on the page or by `ragviz questions "
        "edit SET QUESTION --quote`."
    )
    return Found(tuple(findings), "", note if material.set_aside else "")
