"""An installation examined: versions, connections, disk, database, indexes, jobs, uploads, each with what to do."""

from __future__ import annotations

import platform
import shutil
from collections.abc import Callable
from importlib import metadata
from pathlib import Path

import ragviz
from ragviz import connections
from ragviz.connections import Check
from ragviz.core import sign_in
from ragviz.core.errors import RagvizError
from ragviz.core.installation import dashboard_folder
from ragviz.core.job import ACTIVE
from ragviz.documents import corpora
from ragviz.index import damage
from ragviz.jobs import queue
from ragviz.store import database
from ragviz.workspace import Workspace

LEAST_FREE = 2**30
"""Bytes that have to be free on the disk of the home: a run of some hundred questions, its index and its log."""
MOST_NAMED = 5


def examined(workspace: Workspace) -> list[Check]:
    """Examine everything, which may take a minute for a database of gigabytes; nothing is repaired or deleted.

    What needs the store is left out when that cannot be opened.
    """
    secrets = workspace.settings.home / "secrets.toml"
    signing_in = [_checked("Sign-in", lambda _: _sign_in(secrets), workspace)] if secrets.exists() else []
    system = f"Python {platform.python_version()}, {platform.system()} {platform.release()}"
    program = Check("Program", "works", f"ragviz {ragviz.__version__}, {system}")
    found = [program, _libraries(), *signing_in, *connections.checks(workspace), _checked("Disk", _disk, workspace)]
    if any(check.name == "Store" and check.status == "broken" for check in found):
        return found
    return [*found, *(_checked(name, look, workspace) for name, look in _OF_THE_STORE.items())]


def _checked(name: str, look: Callable[[Workspace], Check], workspace: Workspace) -> Check:
    try:
        return look(workspace)
    except RagvizError as error:
        return Check(name, "broken", str(error), "Do what it says, then run `ragviz doctor` again.")


def _libraries() -> Check:
    """Compare what is installed with what is required, and with the versions that the tests passed on."""
    from packaging.requirements import Requirement

    def requirements(name: str) -> list[Requirement]:
        lines = (dashboard_folder() / name).read_text(encoding="utf-8").splitlines()
        read = (Requirement(text) for line in lines if (text := line.partition("#")[0].strip()))
        return [each for each in read if each.marker is None or each.marker.evaluate()]

    required, locked = requirements("requirements.txt"), requirements("requirements.lock")
    here = {each.name: _installed(each.name) for each in (*required, *locked)}
    unfit = [
        f"{each.name}{each.specifier} is {'not installed' if version is None else f'installed as {version}'}"
        for each in required
        if (version := here[each.name]) is None or not each.specifier.contains(version, prereleases=True)
    ]
    if unfit:
        fix = "Install them anew: `pip install --constraint requirements.lock ragviz`."
        return Check("Libraries", "broken", "; ".join(unfit), fix)
    others = [
        f"{each.name} {version} ({each.specifier})"
        for each in locked
        if (version := here[each.name]) is not None and not each.specifier.contains(version, prereleases=True)
    ]
    if others:
        fix = "For those: `pip install --constraint requirements.lock ragviz`."
        return Check("Libraries", "optional", f"not of the versions that the tests passed on: {_some(others)}", fix)
    return Check("Libraries", "works", f"all {len(required)} are of the versions that the tests passed on")


def _installed(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _disk(workspace: Workspace) -> Check:
    home = workspace.settings.home
    database.try_writing(home)
    free = shutil.disk_usage(home).free
    detail = f"{free / 2**30:,.1f} GB are free where {home} is"
    if free < LEAST_FREE:
        return Check(
            "Disk", "broken", detail, "Make room there, or move RAGVIZ_HOME with `ragviz backup` and `restore`."
        )
    return Check("Disk", "works", detail)


def _sign_in(secrets: Path) -> Check:
    if sign_in.read([secrets]) is None:
        return Check(
            "Sign-in", "broken", f"{secrets} has neither [auth] nor [ragviz.access]", "Add them, or delete it."
        )
    return Check("Sign-in", "works", f"as {secrets} says")


def _backups(workspace: Workspace) -> Check:
    if problem := workspace.store.cannot_be_copied():
        return Check("Backups", "optional", problem, "Without them, `ragviz backup` and `restore` work elsewhere only.")
    return Check("Backups", "works", "the database can be copied and brought back from here")


def _database(workspace: Workspace) -> Check:
    damaged = workspace.store.damage()
    if damaged == database.NO_CHECKSUMS:
        return Check("Database", "optional", damaged, "`pg_checksums --enable`, while the server is stopped.")
    if damaged:
        fix = "Put a backup in its place: `ragviz restore FILE --replace`."
        return Check("Database", "broken", f"{workspace.store.address} is damaged: {damaged}", fix)
    pages = "all pages of its file fit together" if workspace.settings.database_url is None else "has checksums"
    return Check("Database", "works", pages)


def _indexes(workspace: Workspace) -> Check:
    built = [info for info in workspace.store.indexes.all() if info.build]
    damaged = [(info, reason) for info in built if (reason := damage.damage(workspace, info))]
    if damaged:
        told = _some([f"'{info.name}': {reason}" for info, reason in damaged])
        fix = "; ".join(f"`{damage.build_command(workspace, info)}`" for info, _ in damaged)
        return Check("Indexes", "broken", told, f"Rebuild, which embeds nothing again: {fix}.")
    return Check("Indexes", "works", f"{len(built)} built, each of them as it was built")


def _jobs(workspace: Workspace) -> Check:
    jobs = [queue.refreshed(job) for job in workspace.store.jobs.all()]
    stale = [job for job in jobs if job.status == "interrupted"]
    if stale:
        told = f"interrupted: {_some([f'{job.id} ({job.title})' for job in stale])}"
        fix = "`ragviz jobs --resume ID` does what is left of one, `ragviz jobs --cancel ID` gives it up."
        return Check("Jobs", "broken", told, fix)
    if unserved := queue.without_worker(workspace, jobs):
        return Check(
            "Jobs", "broken", f"{len(unserved)} wait. {queue.NO_WORKER}", "Look why it ended, and have it restarted."
        )
    return Check("Jobs", "works", f"{sum(job.status in ACTIVE for job in jobs)} wait or run, none is interrupted")


def _uploads(workspace: Workspace) -> Check:
    in_use = {str(job.arguments.get("folder")) for job in workspace.store.jobs.active()}
    old = [folder for folder in corpora.staged_folders(workspace, queue.UPLOADS_KEPT) if str(folder) not in in_use]
    if old:
        size = sum(file.stat().st_size for folder in old for file in folder.iterdir())
        told = f"older than a day: {len(old)}, {size / 1e6:,.1f} MB"
        return Check("Uploads", "optional", told, "`ragviz jobs` deletes them.")
    return Check("Uploads", "works", f"{len(corpora.staged_folders(workspace))} to be read")


def _some(texts: list[str]) -> str:
    more = f" and {len(texts) - MOST_NAMED} more" * (len(texts) > MOST_NAMED)
    return "; ".join(texts[:MOST_NAMED]) + more


_OF_THE_STORE = {"Database": _database, "Backups": _backups, "Indexes": _indexes, "Jobs": _jobs, "Uploads": _uploads}
