"""Whether a run's judge is reliable: control items asked, and their editions stored per judge."""

from __future__ import annotations

import json
from collections.abc import Hashable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any

from ragviz.core.configuration import Run
from ragviz.core.digests import digest
from ragviz.core.errors import ModelError
from ragviz.core.stopping import Progress
from ragviz.judging import controls, planning, steps
from ragviz.judging.work import Asker
from ragviz.models.requests import Completion, Request, Usage
from ragviz.workspace import Workspace


@dataclass(frozen=True, slots=True)
class Editions:
    """Of a judge's replies: the `edition` that is served, the last that was `tried`, and whether that was `bad`.

    A judge that failed its control items is asked those anew by every run, because another model may run at its address
    now; once it passes, none of its earlier replies is served again.
    """

    edition: int = 0
    tried: int = 0
    bad: bool = False

    @property
    def next(self) -> int:
        """Edition of the control items to ask: of a judge that failed them, one that was never used."""
        return max(self.edition, self.tried) + 1 if self.bad else self.edition

    def after(self, controls: controls.Controls) -> Editions:
        """Return the editions after control items that were asked in the edition `next`."""
        if not controls.reliable:
            return Editions(self.edition, max(self.tried, controls.edition), bad=True)
        if self.bad:
            return Editions(controls.edition, controls.edition)
        return Editions(self.edition, max(self.tried, controls.edition))


def _editions_key(plan: planning.Plan) -> str:
    assert plan.judge is not None
    return digest("judge", plan.judge.model, plan.judge.base_url, json.dumps(steps.VERSIONS), length=32)


def editions_of(workspace: Workspace, plan: planning.Plan) -> Editions:
    """Return the editions of the judge's replies, as stored for this judge."""
    if plan.judge is None:
        return Editions()
    key = _editions_key(plan)
    body = workspace.store.cache("controls").get_many([key]).get(key)
    return Editions(**json.loads(body)) if body else Editions()


Told = dict[Hashable, controls.Controls]
"""What judges told of their control items, by judge and items, while the runs of one sweep are made."""


def controlled(
    workspace: Workspace, current: Run, plan: planning.Plan, told: Told, progress: Progress
) -> tuple[controls.Controls | None, int]:
    """Ask the judge of a run its control items; return the outcome, None without items, and the edition to judge by.

    What was `told` is not asked again, and what is asked is added there.
    """
    items = controls.make(workspace.store.rankings.questions(current.id), plan.steps) if plan.judge is not None else []
    if plan.judge is None or not items:
        return None, editions_of(workspace, plan).edition
    record, asked = editions_of(workspace, plan), (plan.maker, plan.steps, tuple(item.question.id for item in items))
    if asked in told:
        return replace(told[asked], usage=Usage()), record.edition
    progress(0, len(items), "control items", "Asking the control items")
    replies = _replies([replace(item.request, edition=record.next) for item in items], plan)
    verdicts = [each for item, reply in zip(items, replies, strict=True) for each in controls.verdicts_of(item, reply)]
    completions = [reply for reply in replies if isinstance(reply, Completion)]
    prompts, usage = dict(steps.VERSIONS), Usage.of(completions)
    outcome = controls.Controls(plan.judge.model, plan.judge.host, prompts, tuple(verdicts), record.next, usage)
    told[asked], record = outcome, record.after(outcome)
    body = json.dumps(asdict(record)).encode()
    workspace.store.cache("controls").put_many({_editions_key(plan): body})
    return outcome, record.edition


def _replies(requests: Sequence[Request[Any]], plan: planning.Plan) -> list[Completion[Any] | ModelError]:
    """Ask the judge requests that belong to no question, within the budget; return a reply or an error for each."""
    assert plan.judge is not None
    client = plan.judge
    asker = Asker(plan)
    ask = partial(plan.breaker.watching(asker, "control items"), client)
    replies: list[Completion[Any] | ModelError] = []
    try:
        for reply in client.complete_many(requests, ask):
            if isinstance(reply, ModelError) and reply.outage:
                raise reply
            replies.append(reply)
        return replies
    finally:
        plan.spending.settle()


def controls_of(current: Run) -> controls.Controls | None:
    """Return how the judge of a run did on its control items; None when it was asked none."""
    body = current.provenance.get("controls")
    return controls.from_json(body) if body else None
