"""What a process logs: a line an event, as text or JSON, with the person, job and run that it is about."""

from __future__ import annotations

import logging
import traceback
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Any

from ragviz.core import addresses
from ragviz.core.digests import json_line
from ragviz.core.settings import Settings
from ragviz.text.untrusted import one_line, without_keys

ABOUT = ("person", "job", "run")
_SERVERS = ("streamlit", "uvicorn")
_REQUESTS = "uvicorn.access"
_of_process: dict[str, str] = {}
_of_thread: ContextVar[dict[str, str]] = ContextVar("about")


def configure(settings: Settings) -> None:
    """Write what is logged to standard error as RAGVIZ_LOG says; without it, nothing changes."""
    if settings.log:
        handler = logging.StreamHandler()
        handler.setFormatter(Lines(settings))
        logging.getLogger().handlers[:] = [handler]
        logging.getLogger("ragviz").setLevel(logging.INFO)
        _gather()
        return

    def recorded(*given: Any, **named: Any) -> logging.LogRecord:
        record = logging.LogRecord(*given, **named)
        if record.name.startswith(_SERVERS) and isinstance(record.args, tuple):  # texts of strangers, as in an address
            record.args = tuple(one_line(each) if isinstance(each, str) else each for each in record.args)
        return record

    logging.setLogRecordFactory(recorded)


def of_process(**about: str) -> None:
    """Name the person, job and run of all that this process logs from now on."""
    _of_process.clear()
    _of_process.update(about)


def of_thread(**about: str) -> None:
    """Name the person, job and run of all that this thread logs from now on, such as a page's."""
    _of_thread.set(about)
    _gather()


def line(settings: Settings, message: str, error: BaseException | None = None) -> str:
    """Return what a process prints of its end, without keys: a line of the log where RAGVIZ_LOG says so.

    Else the traceback of the `error`, or without one the message alone.
    """
    lines = Lines(settings)
    if not settings.log:
        return lines.without_secrets("".join(traceback.format_exception(error)).rstrip() if error else message)
    failure = (type(error), error, error.__traceback__) if error else None
    return lines.format(logging.LogRecord("ragviz", logging.ERROR, "", 0, "%s", (message,), failure))


def _gather() -> None:
    """Have all loggers use the root's handler once it is ours: Streamlit gives each of its own one when it is made.

    Uvicorn takes them away again, so that its errors would go to nobody's. Its lines of each request stay off.
    """
    root = logging.getLogger()
    if any(isinstance(handler.formatter, Lines) for handler in root.handlers):
        for logger in list(root.manager.loggerDict.values()):
            if isinstance(logger, logging.Logger) and logger.name.startswith(_SERVERS) and logger.name != _REQUESTS:
                logger.handlers.clear()
                logger.propagate = True


class Lines(logging.Formatter):
    """One line of text or JSON for each event, without keys.

    A traceback follows the text in indented lines, and is a field of the JSON.

    What it is about comes from the call (`extra`), the thread or the process, in this order.
    """

    def __init__(self, settings: Settings) -> None:
        super().__init__()
        self._settings = settings

    def format(self, record: logging.LogRecord) -> str:
        """Return the line of an event."""
        about = {**_of_process, **_of_thread.get({}), **record.__dict__}
        told = {name: str(about[name]) for name in ABOUT if about.get(name)}
        message = self.without_secrets(record.getMessage())
        error = self.without_secrets(self.formatException(record.exc_info)) if record.exc_info else ""
        when = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        if self._settings.log == "json":
            fields = {"time": when, "level": record.levelname, "logger": record.name, "message": message}
            return json_line(fields | told | ({"error": error} if error else {}))
        words = "".join(f" {name}={value}" for name, value in told.items())
        first = one_line(f"{when} {record.levelname} {record.name}{words}: {message}")
        return "\n  ".join([first, *map(one_line, error.splitlines())])

    def without_secrets(self, text: str) -> str:
        """Return a text without keys, and the secrets in addresses."""
        return without_keys(addresses.within(text), self._settings.keys)
