"""InspectorRAGet's files: tasks with their documents, and the answers of a model with the scores they were given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from statistics import mean
from typing import Any

from pydantic import AliasChoices, BaseModel, Field, ValidationError

from ragviz.core.errors import InputError
from ragviz.targets.logged_item import Log, LoggedItem, Passage, gathered
from ragviz.text.untrusted import is_deep, parsed, storable


def _either(snake: str, camel: str, default: Any = ...) -> Any:
    return Field(default, validation_alias=AliasChoices(snake, camel))


class _Said(BaseModel):
    text: str = ""
    document: str = _either("document_id", "documentId", "")


class _Task(BaseModel):
    id: str = _either("task_id", "taskId")
    input: str | list[_Said]
    contexts: list[_Said] = []
    targets: list[_Said] = []


class _Evaluation(BaseModel):
    task: str = _either("task_id", "taskId")
    model: str = _either("model_id", "modelId")
    response: str = _either("model_response", "modelResponse", "")
    annotations: dict[str, dict[str, Any]] = {}


class _File(BaseModel):
    documents: list[_Said] = []
    tasks: list[_Task]
    evaluations: list[_Evaluation] = []


def read(data: bytes, name: str) -> Log:
    """Read the tasks of a file, with the answers of its model; a score is the mean of what annotators gave as numbers.

    Raises:
        InputError: the file cannot be read, holds no task, or the answers of several models.

    """
    try:
        whole = parsed(data.decode("utf-8-sig"))
        file = _File.model_validate({} if is_deep(whole) else storable(whole))
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise InputError(f"{name} is no file of InspectorRAGet: {where}, {first['msg']}.") from None
    except ValueError as error:
        raise InputError(f"{name} is not JSON that can be read: {error}.") from None
    models = list(dict.fromkeys(each.model for each in file.evaluations))
    if len(models) > 1:
        named = ", ".join(models)[:200]
        raise InputError(f"{name} holds answers of {len(models)} models ({named}): keep the evaluations of one.")
    texts = {each.document: each.text for each in file.documents}
    evaluations = {each.task: each for each in file.evaluations}
    made = ((f"Task '{task.id}'", partial(_item, task, texts, evaluations.get(task.id))) for task in file.tasks)
    return gathered(made, name, "inspectorraget")


def _item(task: _Task, texts: Mapping[str, str], evaluation: _Evaluation | None) -> LoggedItem:
    asked = task.input if isinstance(task.input, str) else task.input[-1].text if task.input else ""
    if not asked.strip():
        raise ValueError("it has no question")
    contexts = [Passage(each.text or texts.get(each.document, ""), each.document) for each in task.contexts]
    given = {name: _mean([*by.values()]) for name, by in (evaluation.annotations if evaluation else {}).items()}
    scores = {name: value for name, value in given.items() if value is not None}
    answer = evaluation.response if evaluation and evaluation.response.strip() else None
    reference = task.targets[0].text if task.targets else ""
    return LoggedItem(task.id, asked, reference, answer, tuple(each for each in contexts if each.text), scores=scores)


def _mean(given: Sequence[Any]) -> float | None:
    values = []
    for each in given:
        try:
            values.append(float(each["value"]))
        except (KeyError, TypeError, ValueError):
            continue
    return mean(values) if values else None
