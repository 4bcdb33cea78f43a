"""Reviews by people: samples assigned to named reviewers, their verdicts, and how far reviewers agree.

A verdict of the only reviewer of a question, or one on which all its reviewers agree, becomes its status; questions
on which reviewers disagree, or one is unsure, stay proposed until somebody decides.

Every verdict makes a version of the set, also one that changes no status: `undo` and `restore` make the verdicts those
of the version that they go back to, as they do with the questions. Assignments are no part of a version and stay.
"""

from __future__ import annotations

import json
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import combinations

from ragviz.core.digests import digest
from ragviz.core.errors import UsageError
from ragviz.core.question import Question, QuestionStatus
from ragviz.core.question_set import Edit, QuestionSet, Review, ReviewVerdict, SetVersion
from ragviz.questions import authoring
from ragviz.stats.agreement import Agreement, agreement
from ragviz.store import codecs
from ragviz.store.store import Store, plain_name

VERDICTS: Mapping[ReviewVerdict, str] = {"accept": "accepted", "reject": "rejected", "unsure": "unsure"}
"""Verdict of a reviewer → what a person reads."""
REVIEW = "review:"
"""How the key of an edit that a verdict makes begins."""
LONGEST_NAME = 200
"""Characters of a reviewer's name, at most."""


@dataclass(frozen=True, slots=True)
class Workload:
    """How many questions a reviewer was assigned, how many of them have which verdict, and when the newest was made."""

    reviewer: str
    assigned: int
    verdicts: Mapping[ReviewVerdict, int]
    newest: float | None = None

    @property
    def waiting(self) -> int:
        """The questions without a verdict."""
        return self.assigned - sum(self.verdicts.values())


@dataclass(frozen=True, slots=True)
class PairAgreement:
    """How far two reviewers agree on the questions that both have judged."""

    one: str
    other: str
    agreement: Agreement


def reviewer_name(name: str) -> str:
    """Return the name of a reviewer as it is stored.

    Raises:
        UsageError: it is blank, too long, or cannot be printed.

    """
    plain = plain_name(name)
    if not plain or len(plain) > LONGEST_NAME or not plain.isprintable():
        raise UsageError(f"'{plain[:40]}' cannot be a reviewer's name: give 1 to {LONGEST_NAME} printable characters.")
    return plain


def assign(store: Store, question_set: QuestionSet, reviewer: str, count: int, seed: int = 0) -> list[str]:
    """Assign `count` questions drawn by chance to a reviewer; return their ids, fewer when there are not so many.

    Drawn are questions that a run asks and that are not assigned to this reviewer. The draw depends on the seed and
    the ids alone, so that two reviewers given the same seed on the same set get the same questions.

    Raises:
        UsageError: `count` is below 1, the name is blank, or no question is left.

    """
    reviewer = reviewer_name(reviewer)
    if count < 1:
        raise UsageError(f"Assign 1 question or more, not {count}.")
    mine = {review.question_id for review in store.reviews.all(question_set.id) if review.reviewer == reviewer}
    left = [q.id for q in store.questions(question_set.id) if q.asked and q.id not in mine]
    if not left:
        raise UsageError(f"All questions of '{question_set.name}' that a run asks are assigned to {reviewer} already.")
    drawn = sorted(left, key=lambda question_id: digest("review", str(seed), question_id))[:count]
    now = time.time()
    store.reviews.put(question_set.id, [Review(question_id, reviewer, now) for question_id in drawn])
    return drawn


def unassign(store: Store, question_set: QuestionSet, reviewer: str) -> int:
    """Take back a reviewer's assignments that have no verdict yet; return how many."""
    waiting = [
        review.question_id
        for review in store.reviews.all(question_set.id)
        if review.reviewer == reviewer and review.verdict is None
    ]
    store.reviews.remove(question_set.id, reviewer, waiting)
    return len(waiting)


def decide(
    store: Store, question_set: QuestionSet, question: Question, reviewer: str, verdict: ReviewVerdict
) -> Question:
    """Record a reviewer's verdict on a question as it was shown, and return the question with the status it then has.

    Raises:
        Conflict: it was changed or deleted since it was shown; nothing is recorded.

    """
    reviewer, version = reviewer_name(reviewer), codecs.version_of(question)
    reviews = store.reviews.all(question_set.id, question.id)
    before = next((each for each in reviews if each.reviewer == reviewer), None)
    now = time.time()
    review = Review(question.id, reviewer, before.assigned if before else now, verdict, now, version)
    others = [each for each in reviews if each.reviewer != reviewer]
    status = status_by([each.verdict for each in (*others, review)])
    reason = f"rejected by {', '.join(each.reviewer for each in (*others, review))}" if status == "rejected" else ""
    after = authoring.with_status(question, status, reason)
    review = replace(review, version=codecs.version_of(after))
    is_new = before is None or before.verdict != verdict
    edit = Edit(reviewer, f"reviewed: {VERDICTS[verdict]}", _key(before, review), recorded=is_new)
    authoring.save(store, question_set, after, version, edit)
    store.reviews.put(question_set.id, [review])
    return after


def _key(before: Review | None, after: Review) -> str:
    """Return the key of the edit that a verdict makes: it holds the review before it and after it."""
    return REVIEW + json.dumps([before and asdict(before), asdict(after)], ensure_ascii=False)


Verdicts = Mapping[tuple[str, str], tuple[Review | None, Review | None]]
"""Question id and reviewer → the review before and after; None where there was none."""


def verdict_changes(versions: Sequence[SetVersion]) -> dict[int, Verdicts]:
    """Return what each version changed of the verdicts, by its number; `versions` are all of a set, the newest first.

    A verdict made its version; one that took another version back, or restored one, changed the verdicts of those back.
    """
    made: dict[int, Verdicts] = {}
    for version in reversed(versions):
        if version.key.startswith(REVIEW):
            before, after = (each and Review(**each) for each in json.loads(version.key.removeprefix(REVIEW)))
            made[version.number] = {(after.question_id, after.reviewer): (before, after)}
        elif version.undoes is not None:
            made[version.number] = reverted([made.get(version.undoes, {})])
        elif version.restores is not None:
            made[version.number] = reverted([made[n] for n in made if version.restores < n])
    return made


def reverted(steps: Sequence[Verdicts]) -> Verdicts:
    """Return the change of verdicts that takes these back, which followed one another in this order."""
    back: dict[tuple[str, str], tuple[Review | None, Review | None]] = {}
    for step in steps:
        for of, (before, after) in step.items():
            back[of] = after, back[of][1] if of in back else before
    return back


def change(store: Store, question_set: QuestionSet, verdicts: Verdicts) -> None:
    """Change verdicts; one stays where the reviewer has given another since, or none is there any more."""
    present = {(r.question_id, r.reviewer): r for r in store.reviews.all(question_set.id)} if verdicts else {}
    gone: dict[str, list[str]] = {}
    back = list[Review]()
    for of, (before, after) in verdicts.items():
        now = present.get(of)
        if (now and now.verdict) != (before and before.verdict):
            continue
        if after is not None:
            back.append(after)
        elif now is not None:
            gone.setdefault(now.reviewer, []).append(now.question_id)
    if back:
        store.reviews.put(question_set.id, back)
    for reviewer, question_ids in gone.items():
        store.reviews.remove(question_set.id, reviewer, question_ids)


def status_by(verdicts: Sequence[ReviewVerdict | None]) -> QuestionStatus:
    """Return the status that the verdicts of all reviewers of a question give it; None is one that is missing.

    >>> status_by(["accept"]), status_by(["reject", "reject"]), status_by(["accept", None]), status_by(["unsure"])
    ('accepted', 'rejected', 'proposed', 'proposed')
    """
    said = set(verdicts)
    if said == {"accept"}:
        return "accepted"
    return "rejected" if said == {"reject"} else "proposed"


def workloads(reviews: Collection[Review]) -> list[Workload]:
    """Return what every reviewer was assigned and has judged, by name."""
    by_reviewer: dict[str, list[Review]] = {}
    for review in reviews:
        by_reviewer.setdefault(review.reviewer, []).append(review)
    return [
        Workload(
            name,
            len(mine),
            {verdict: n for verdict in VERDICTS if (n := sum(r.verdict == verdict for r in mine))},
            max((r.decided for r in mine if r.decided is not None), default=None),
        )
        for name, mine in sorted(by_reviewer.items())
    ]


def agreements(reviews: Collection[Review]) -> list[PairAgreement]:
    """Return the agreement of every two reviewers who judged a question in common, by name."""
    judged: dict[str, dict[str, ReviewVerdict]] = {}
    for review in reviews:
        if review.verdict is not None:
            judged.setdefault(review.reviewer, {})[review.question_id] = review.verdict
    pairs = []
    for one, other in combinations(sorted(judged), 2):
        common = sorted(judged[one].keys() & judged[other].keys())
        if common:
            verdicts = [[judged[name][question_id] for question_id in common] for name in (one, other)]
            pairs.append(PairAgreement(one, other, agreement(*verdicts)))
    return pairs


def disagreed(reviews: Collection[Review]) -> list[str]:
    """Return the ids of the questions on which reviewers disagree, or one is unsure, in order."""
    verdicts: dict[str, set[ReviewVerdict]] = {}
    for review in reviews:
        if review.verdict is not None:
            verdicts.setdefault(review.question_id, set()).add(review.verdict)
    return sorted(question_id for question_id, said in verdicts.items() if len(said) > 1 or said == {"unsure"})


def waiting_for(reviews: Collection[Review], reviewer: str) -> list[str]:
    """Return the ids of the questions that wait for a reviewer's verdict, in the order of their ids."""
    return sorted(r.question_id for r in reviews if r.reviewer == reviewer and r.verdict is None)
