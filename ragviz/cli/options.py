"""Options of commands, made from the declared choices of an index and a run."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Mapping
from functools import partial, wraps
from typing import Annotated, Any, get_type_hints

import typer
from typer.core import TyperCommand

from ragviz.cli import console
from ragviz.core.errors import UsageError
from ragviz.core.fields import Field, fields_of

Command = Callable[..., None]

# What several commands take

Json = Annotated[bool, typer.Option("--json", help="Print one JSON value.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Estimate calls and cost; two small calls time the endpoint.")]
Yes = Annotated[bool, typer.Option("--yes", help="Do not ask.")]
LeaveRemote = Annotated[bool, typer.Option("--leave-remote", help="Delete where Elasticsearch is not reached, too.")]
Budget = Annotated[float | None, typer.Option(min=0, help="Most dollars, with what was paid for it before.")]
RunName = Annotated[str, typer.Argument(metavar="RUN")]
K = Annotated[int | None, typer.Option("-k", help="Chunks that count; default: the run's.")]
Primary = Annotated[str, typer.Option(help="The metric that decides, as recall@3; recall: at each own k.")]
MinimumEffect = Annotated[float | None, typer.Option(help="Smallest difference that matters; default: 0.02.")]
Kind = Annotated[str, typer.Option(help="single, multi, reference (evidence not known) or unanswerable.")]
Type = Annotated[str, typer.Option("--type", help="What it asks for: fact, number, list, bridge …")]
Style = Annotated[str, typer.Option(help="How it is put: colleague, keywords, long …")]
WithEvidence = Annotated[str, typer.Option("--document", help="Only questions with evidence in this document.")]
Quotes = Annotated[list[str], typer.Option("--quote", help="Text that the answer rests on; each one is needed.")]
QuoteDocuments = Annotated[list[str], typer.Option("--document", help="Of the quotes: one for all, or one each.")]

# Options that are declared


class DeclaredCommand(TyperCommand):
    """A command whose options say what can be chosen: the registries are read when it is used, not for `--help`."""

    def get_params(self, ctx: typer.Context) -> list[Any]:  # type: ignore[override]
        """Return the parameters, those that are `explained` or declared with their explanation."""
        params = super().get_params(ctx)
        explained: Mapping[str, Callable[[], str]] = getattr(self.callback, "explained", {})
        for param in params:
            if param.name in explained:
                param.__dict__["help"] = explained[param.name]()
        return params


def explained(**options: Callable[[], str]) -> Callable[[Command], Command]:
    """Give options of a command help that is made when it is shown."""

    def explain(command: Command) -> Command:
        command.__dict__["explained"] = {**getattr(command, "explained", {}), **options}
        return command

    return explain


def declared(record: type, *, only: Collection[str] = (), many: bool = False) -> Callable[[Command], Command]:
    """Give a command an option for each choice of a configuration, or `only` some; with `many`, each axis of a grid.

    The command gets what was given as `choices`: values by name; with `many`, lists of texts.
    """
    fields = {
        name: field
        for name, field in fields_of(record).items()
        if (name in only if only else field.swept if many else field.group)
    }

    def declare(command: Command) -> Command:
        @wraps(command)
        def called(choices: Mapping[str, Any] | None = None, **values: Any) -> None:
            given = {name: value for name in fields if (value := values.pop(name)) not in (None, [])}
            made = {name: _read(fields[name], value, many) for name, value in given.items()}
            command(**values, choices=made | dict(choices or {}))

        made = {name: _parameter(field, many=many) for name, field in fields.items()}
        hints = get_type_hints(command, include_extras=True)
        parameters = inspect.signature(command).parameters.values()
        own = [p.replace(annotation=hints.get(p.name, p.annotation)) for p in parameters if p.name != "choices"]
        required = [p for p in own if p.default is p.empty]
        ordered = [*required, *made.values(), *(p for p in own if p not in required)]
        keyword = inspect.Parameter.KEYWORD_ONLY
        called.__dict__["__signature__"] = inspect.Signature([p.replace(kind=keyword) for p in ordered])
        called.__annotations__ = {p.name: p.annotation for p in ordered}
        return explained(**{name: partial(_help, field, many) for name, field in fields.items()})(called)

    return declare


def _parameter(field: Field, *, many: bool) -> inspect.Parameter:
    repeated = field.type is dict or (many and field.many_lines)
    of_type = field.type if field.type in (int, float) and not many else str
    hint: Any = list[str] if repeated else of_type | None
    annotation = Annotated[hint, typer.Option(field.option, help=field.label)]
    default: Any = [] if repeated else None
    return inspect.Parameter(field.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def _help(field: Field, many: bool) -> str:
    known = [name for name in field.known() if name]
    words = [field.help or f"{field.label}.", f"{', '.join(known)}." if known else ""]
    if field.type is dict:
        words.append(f"As NAME{field.separator}VALUE; may be repeated.")
    if field.many_lines:
        words.append("A text, or @FILE; may be repeated, for several." if many else "A text, or @FILE.")
    elif many:
        as_said = ",".join(map(str, field.examples))
        words.append(f"Several with commas{f', as {as_said}' if as_said else ''}.")
    elif (default := field.unset or field.default) not in ("", (), {}):
        words.append(f"Default: {default}.")
    return " ".join(filter(None, words))


def _read(field: Field, given: Any, many: bool) -> Any:
    if many:
        return [console.text_or_file(each) for each in given] if field.many_lines else listed(given)
    if field.type is dict:
        return dict(_pair(each, field.separator) for each in given)
    return field.read(console.text_or_file(given) if field.many_lines else str(given))


def listed(text: str) -> list[str]:
    """Return the parts of a text that are separated by commas."""
    return [part for part in (part.strip() for part in text.split(",")) if part]


def _pair(pair: str, separator: str) -> tuple[str, Any]:
    """Read NAME=VALUE, where numbers are numbers, or NAME: VALUE, a text."""
    name, found, value = pair.partition(separator)
    if not found:
        raise UsageError(f"{pair!r} is not an option: write NAME{separator}VALUE.")
    if separator == ":":
        return name.strip(), value.strip()
    for number in (int, float):
        try:
            return name, number(value)
        except ValueError:
            continue
    return name, value
