"""Every error raised on purpose, in one tree; each message gives the values and the next step.

RagvizError                 anything the person can act on; shown on the page or the terminal
├── UsageError              a wrong name, option or value                       (exit 2)
│   └── NotFoundError       nothing is called that
├── InputError              a file, row or text that cannot be taken            (exit 2)
│   ├── UnreadableFile      a document that cannot be parsed
│   │   └── PasswordNeeded  … until its password is given
│   └── RowErrors           rows of an import that were refused, one message each
├── BudgetReached           the next model call could cost more than is allowed (exit 1)
├── ServiceError            a server that is down, slow or refuses              (exit 1)
│   ├── StorageError        the disk or database that keeps everything
│   ├── SearchError         the index backend
│   │   └── DamagedIndex    … whose content is not what was built: build it again
│   └── ModelError          the model endpoint
│       └── UselessModel    … gives nothing usable: the person is asked
└── Cancelled               the person stopped the job                          (exit 1)
    └── Deleted             … by deleting what it works on
"""


class RagvizError(Exception):
    """Root of the tree: `str(error)` is a sentence for the person, never a traceback."""


class UsageError(RagvizError):
    """A wrong name, option or value; nothing was changed."""


class NotFoundError(UsageError):
    """Nothing is called that; the message lists what there is."""


class InputError(RagvizError):
    """Something handed in cannot be taken; the rest of what was handed in goes on."""


class UnreadableFile(InputError):
    """A document that cannot be parsed, with the reason and what to do about it."""


class PasswordNeeded(UnreadableFile):
    """An encrypted document: give its password, or the right one."""


class RowErrors(InputError):
    """Rows of an import that were refused.

    `messages` maps the 1-based row number to the reason.
    """

    def __init__(self, messages: dict[int, str]) -> None:
        """Keep the reasons by row; the error's text is the first few of them."""
        self.messages = messages
        shown = "; ".join(f"row {row}: {reason}" for row, reason in list(messages.items())[:5])
        super().__init__(f"{len(messages)} rows were refused: {shown}")


class BudgetReached(RagvizError):
    """The next model call could cost more than is allowed; what was paid for is kept."""


class ServiceError(RagvizError):
    """A server ragviz talks to is down, too slow or refuses."""


class StorageError(ServiceError):
    """The disk or database that keeps everything is full, locked, damaged, or takes nothing from this user."""


class SearchError(ServiceError):
    """The index backend failed or does not fit what is asked of it.

    `kind` is the server's own name of the error, "" where it gave none.
    """

    def __init__(self, message: str, kind: str = "") -> None:
        """Keep the server's name of what it refused."""
        self.kind = kind
        super().__init__(message)


class DamagedIndex(SearchError):
    """The content of an index is gone, broken, or not what was built; building it again mends it.

    `reason` is the part of the sentence that tells what is wrong.
    """

    def __init__(self, name: str, reason: str) -> None:
        """Say what is wrong with the index called `name`."""
        self.reason = reason
        super().__init__(f"Index {name!r} cannot be read ({reason}); rebuild it.")


class ModelError(ServiceError):
    """The model endpoint failed, after the retries that could help.

    `outage` tells that the endpoint as a whole is down, too busy, or refuses the key or the model; otherwise it is
    this one request that failed, and others may go on. A `passing` outage may end by itself: wait, and ask again.
    `replies` came, were paid, and could not be used; `calls` were made in all.
    """

    def __init__(self, message: str, *, outage: bool = False, passing: bool = False, replies: int = 0) -> None:
        """Keep whether asking on is useless until something is put right, and what was paid in vain."""
        self.outage, self.passing, self.replies, self.calls = outage, passing, replies, 0
        super().__init__(message)


class UselessModel(ModelError):
    """A model gave hardly anything usable, and is asked no more until the person says so."""

    def __init__(self, message: str) -> None:
        """Stop everything that asks it."""
        super().__init__(message, outage=True)


class Cancelled(RagvizError):
    """The person stopped the job; what was done so far is kept."""


class Deleted(Cancelled):
    """What was worked on was deleted meanwhile: the work ends, and nothing of it is kept."""
