"""A choice of a configuration, declared once, where its record has it.

Forms, options of the command line, arguments of the library, the axes of an experiment, tables of what differs, and
fingerprints are made from the declaration; adding a choice takes it, and the one function that obeys the choice.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any, Literal, ParamSpec

from ragviz.core.errors import UsageError

Parameters = ParamSpec("Parameters")
Group = Literal["index", "ask", "retrieve", "answer", "judge", "target", ""]
"""The block of a form in which a choice stands, "" for what a person does not choose there."""


@dataclass(frozen=True, slots=True)
class Field:
    """The declaration of one choice.

    `name` is set by `fields_of`: that of the attribute. `choices` map what can be chosen to what it does, or name a
    registry as "module:NAME", whose entries have an `explanation`; it is imported when it is first read. Where nothing
    is listed, anything of the `type` goes: numbers from `low` to `high`, texts of at most `high` characters. With
    `colon`, a listed choice may be followed by a colon and a name ("maxsim:MODEL"). `titles` are shown in place of
    values. `unset` says what happens where nothing is given, when that is not the default ("RAGVIZ_MODEL").

    `in_fingerprint` is false for what changes no result, and for ids, whose content counts. `swept` choices can be axes
    of an experiment, `examples` the values that are offered there beside the default; `named` says a value in the name
    of a cell, "" where it need not be said. `used` tells, from the values of a configuration, whether it counts at all.
    `many_lines` holds for texts that are written in a field of several lines, or read from a file. `separator` stands
    between name and value of each of several; values behind a colon are texts.
    """

    default: Any
    label: str
    help: str = ""
    group: Group = "index"
    choices: Mapping[str, str] | str = dataclasses.field(default_factory=dict)
    low: Any = None
    high: Any = None
    step: Any = None
    colon: bool = False
    titles: Mapping[str, str] = dataclasses.field(default_factory=dict)
    unset: str = ""
    in_fingerprint: bool = True
    swept: bool = True
    examples: tuple[Any, ...] = ()
    named: Callable[[Any], str] | None = None
    used: Callable[[Mapping[str, Any]], bool] | None = None
    many_lines: bool = False
    separator: Literal["=", ":"] = "="
    name: str = ""

    @property
    def type(self) -> type:
        """The type of the values, which is that of the default."""
        return type(self.default)

    @property
    def option(self) -> str:
        """The name on the command line.

        >>> Field(3, "k", name="k").option, Field({}, "Options", name="own_options").option
        ('-k', '--own-option')
        """
        if len(self.name) == 1:
            return f"-{self.name}"
        return f"--{(self.name.removesuffix('s') if self.type is dict else self.name).replace('_', '-')}"

    def known(self) -> dict[str, str]:
        """Return what can be chosen, and what it does; {} for anything. A default that no registry has comes first."""
        if not isinstance(self.choices, str):
            return dict(self.choices)
        module, _, registry = self.choices.partition(":")
        entries: Mapping[str, Any] = getattr(import_module(f"ragviz.{module}"), registry)
        first = {} if self.default in entries or not isinstance(self.default, str) else {self.default: ""}
        return first | {name: getattr(entry, "explanation", "") for name, entry in entries.items()}

    def title(self, value: Any) -> str:
        """Return a value as it is shown.

        >>> Field("", "Asked", titles={"": "all questions"}).title(""), Field(0.0, "Temperature").title(0.50)
        ('all questions', '0.5')
        """
        if isinstance(value, float):
            return f"{value:g}"
        return self.titles.get(value, value) if isinstance(value, str) else str(value)

    def in_name(self, value: Any) -> str:
        """Return a value as the name of an experiment's cell says it."""
        return self.named(value) if self.named else self.title(value)

    def counts(self, config: Mapping[str, Any]) -> bool:
        """Whether a configuration with these values uses the choice at all: the RRF constant in hybrid retrieval."""
        return self.used is None or self.used(config)

    def read(self, text: str) -> Any:
        """Return the value that a person wrote; "none" is no text.

        >>> Field(3, "k", low=1).read("5"), Field("", "Model").read("none"), Field((), "Metrics").read("mrr, f1")
        (5, '', ('mrr', 'f1'))

        Raises:
            UsageError: it is none, or out of range.

        """
        if self.type is tuple:
            return self.checked(tuple(part for part in map(str.strip, text.split(",")) if part))
        if self.type is str:
            return self.checked("" if text.strip() == "none" and "none" not in self.known() else text.strip())
        try:
            if not text.isascii() or "_" in text:  # Python reads "٣" and "1_0" too
                raise ValueError
            number = self.type(text)
        except ValueError:
            raise UsageError(f"'{text}' is not a {'whole ' * (self.type is int)}number.") from None
        return self.checked(number)

    def checked(self, value: Any) -> Any:
        """Return `value`, in the declared type.

        Raises:
            UsageError: it has another type, is out of range, or is none of the choices.

        """
        numbers = (int, float) if self.type is float else (int,)
        if self.type in (int, float):
            if isinstance(value, bool) or not isinstance(value, numbers) or not math.isfinite(value):
                raise UsageError(f"{self._noun} must be a {'whole ' * (self.type is int)}number: {value!r} is not.")
            if not (self.low is None or self.low <= value) or not (self.high is None or value <= self.high):
                raise UsageError(f"{self._noun} is {self.range()}: {value} is not.")
        elif self.type is str:
            self._check_text(value)
        elif self.type is tuple:
            value = (value,) if isinstance(value, str) else tuple(value)
            if not all(isinstance(each, str) for each in value):
                raise UsageError(f"{self._noun} is a list of names: {value!r} is not.")
        return value

    def range(self) -> str:
        """Return the bounds of a number in words.

        >>> Field(0, "Seed", low=0).range(), Field(3, "k", low=1, high=1000).range()
        ('0 or more', 'from 1 to 1,000')
        """
        return f"{self.low:,} or more" if self.high is None else f"from {self.low:,} to {self.high:,}"

    def _check_text(self, value: Any) -> None:
        if not isinstance(value, str):
            raise UsageError(f"{self._noun} must be a text: {value!r} is not.")
        if self.high is not None and len(value) > self.high:
            raise UsageError(f"{self._noun}: at most {self.high:,} characters, not {len(value):,}.")
        known = self.known()
        if known and (value.partition(":")[0] if self.colon else value) not in known and value != self.default:
            raise UsageError(
                f"There is no {self.name.replace('_', ' ')} '{value}': choose one of {', '.join(filter(None, known))}."
            )

    @property
    def _noun(self) -> str:
        return self.label.partition(" (")[0]


def _declaring(field: Callable[Parameters, Field]) -> Callable[Parameters, Any]:
    def attribute(*given: Parameters.args, **named: Parameters.kwargs) -> Any:
        made = field(*given, **named)
        default = {"default_factory": dict} if made.type is dict else {"default": made.default}
        return dataclasses.field(**default, metadata={"declared": made})

    return attribute


choice = _declaring(Field)
"""The attribute of a record that a field with these arguments declares."""


_READ: dict[type, dict[str, Field]] = {}


def fields_of(record: type) -> Mapping[str, Field]:
    """Return the declared choices of a configuration by name, in their order."""
    if record not in _READ:
        _READ[record] = {
            each.name: replace(each.metadata["declared"], name=each.name)
            for each in dataclasses.fields(record)
            if "declared" in each.metadata
        }
    return _READ[record]


def checked(record: type, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values given for choices of a configuration.

    Raises:
        UsageError: there is no such choice; a value has the wrong type, or is out of range.

    """
    fields = fields_of(record)
    if unknown := sorted(given.keys() - fields.keys()):
        known = ", ".join(name for name, field in fields.items() if field.group)
        raise UsageError(f"{', '.join(unknown)} is no choice: there are {known}.")
    return {name: fields[name].checked(value) for name, value in given.items()}
