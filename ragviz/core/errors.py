"""Every error raised on purpose, in one tree; each message gives the values and the next step.

RagvizError                 anything the user can act on; shown on the page or the terminal
├── UsageError              a wrong name, option or value                       (exit 2)
│   ├── NotFoundError       nothing has that name
│   └── Refused             the person has not the role for it
├── InputError              a file, row or text that cannot be taken            (exit 2)
│   └── UnreadableFile      a document that cannot be parsed
│       └── PasswordNeeded  … without its password
├── BudgetReached           the next model call could cost more than is allowed (exit 1)
├── ServiceError            a server that is down, slow or refuses              (exit 1)
│   ├── StorageError        the disk or database that keeps everything
│   ├── SearchError         the index backend
│   │   └── DamagedIndex    … whose content is not what was built: build it again
│   └── ModelError          the model endpoint
│       └── UselessModel    … gives nothing usable: the user decides
└── Cancelled               the user stopped the job                            (exit 1)
    └── Deleted             … by deleting what it works on
"""

from __future__ import annotations


class RagvizError(Exception):
    """Root of the tree: `str(error)` is a sentence for the user, never a traceback."""


class UsageError(RagvizError):
    """A wrong name, option or value; nothing was changed."""


class NotFoundError(UsageError):
    """Nothing has that name; the message lists the existing ones."""


class Refused(UsageError):
    """The person who acts has not the role that this takes; says which, and whom to ask."""


class InputError(RagvizError):
    """An input cannot be read; the other inputs are processed."""


class UnreadableFile(InputError):
    """A document that cannot be parsed, with the reason and what to do about it."""


class PasswordNeeded(UnreadableFile):
    """An encrypted document without its password, or with a wrong one."""


class BudgetReached(RagvizError):
    """The next model call could exceed the budget; what was paid for is kept."""


class ServiceError(RagvizError):
    """A server is down, too slow or refuses."""


class StorageError(ServiceError):
    """The disk or database that keeps everything is full, locked, damaged, or takes nothing from this user."""


class SearchError(ServiceError):
    """The index backend failed or does not fit the request.

    `kind` is the server's type of the error, "" when it gave none.
    """

    def __init__(self, message: str, kind: str = "") -> None:
        """Keep the server's type of the error."""
        self.kind = kind
        super().__init__(message)


class DamagedIndex(SearchError):
    """The content of an index is gone, broken, or not what was built; building it again repairs it.

    `reason` is the part of the message that says what is wrong.
    """

    def __init__(self, name: str, reason: str) -> None:
        """Say what is wrong with the index called `name`."""
        self.reason = reason
        super().__init__(f"Index {name!r} cannot be read ({reason}); rebuild it.")


class ModelError(ServiceError):
    """The model endpoint failed, after the retries that could help.

    `outage` is whether the endpoint as a whole is down, too busy, or refuses the key or the model; otherwise only this
    request failed, and others may succeed. A `temporary` outage may end by itself: wait, and retry. `replies` were paid
    and could not be used; `calls` were made in all. `status` is the HTTP status that was answered.
    `place` is that of the text, among those to be embedded, that is at fault.
    """

    def __init__(self, message: str, *, outage: bool = False, temporary: bool = False, replies: int = 0) -> None:
        """Keep whether further calls are useless for now, and how many replies were paid in vain."""
        self.outage, self.temporary, self.replies, self.calls = outage, temporary, replies, 0
        self.status: int | None = None
        self.place: int | None = None
        super().__init__(message)

    @property
    def of_replies(self) -> bool:
        """Whether the model did reply, but with nothing usable: it will again."""
        return self.replies > 0 or not self.calls

    def of_this_call(self) -> ModelError:
        """Return the error as one of this call alone: the endpoint answers others."""
        error = ModelError(str(self), replies=self.replies)
        error.calls = self.calls
        return error


class UselessModel(ModelError):
    """A model gave hardly anything usable, and gets no more calls until the user resumes."""

    def __init__(self, message: str) -> None:
        """Count as an outage, so that all work with the model stops."""
        super().__init__(message, outage=True)


class Cancelled(RagvizError):
    """The user stopped the job; what was done so far is kept."""


class Deleted(Cancelled):
    """The job's subject was deleted meanwhile: the job ends, and nothing of it is kept."""
