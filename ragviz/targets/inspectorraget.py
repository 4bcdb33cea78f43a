"""InspectorRAGet's files: tasks with their documents, and the answers of models with the scores they were given."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from statistics import mean
from typing import Any

from ragviz.targets.logged_content import Content, Row, number


def rows(content: Content) -> tuple[tuple[str, Row], ...]:
    """Return a row an answer, none of a file of another shape.

    A score is the mean of what annotators gave as numbers. Tasks without an answer are no rows.
    """
    whole = content.whole
    if not isinstance(whole, dict) or not isinstance(whole.get("tasks"), list):
        return ()
    answers = next((whole[key] for key in ("evaluations", "results") if key in whole), None)
    return tuple(_rows(whole, answers)) if isinstance(answers, list) else ()


def _rows(whole: Mapping[str, Any], answers: list[Any]) -> Iterator[tuple[str, Row]]:
    tasks = {_named(task, "task"): task for task in whole["tasks"] if isinstance(task, dict)}
    texts = {_named(each, "document"): each for each in whole.get("documents") or () if isinstance(each, dict)}
    models = {
        _named(model, "model"): model.get("name") for model in whole.get("models") or () if isinstance(model, dict)
    }
    for each in answers:
        task = tasks.get(_named(each, "task")) if isinstance(each, dict) else None
        if task is None:
            yield f"Answer to '{_named(each, 'task')}'", {"question": ""}
            continue
        contexts = [texts.get(_named(context, "document"), {}) | context for context in task.get("contexts") or ()]
        given = each.get("annotations") or each.get("scores") or {}
        numbers = {
            name: [
                value
                for said in by.values()
                if isinstance(said, dict) and (value := number(said.get("value"))) is not None
            ]
            for name, by in given.items()
            if isinstance(by, dict)
        }
        model = _named(each, "model")
        answer = next(
            (each[key] for key in ("model_response", "modelResponse", "output", "response") if each.get(key)), ""
        )
        yield (
            f"Task '{_named(task, 'task')}' of {model}",
            {
                "id": _named(task, "task"),
                "question": task.get("input"),
                "answer": answer,
                "contexts": contexts,
                "reference": task.get("targets"),
                "system": models.get(model) or model,
                "scores": {name: mean(values) for name, values in numbers.items() if values},
            },
        )


def _named(each: Any, what: str) -> str:
    return str(each.get(f"{what}_id") or each.get(f"{what}Id") or "") if isinstance(each, dict) else ""
