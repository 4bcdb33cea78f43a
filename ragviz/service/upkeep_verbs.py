"""What can be done to an installation as a whole."""

from __future__ import annotations

from pathlib import Path

from ragviz.core.stopping import Progress, silent
from ragviz.service.access import verb
from ragviz.store import homes
from ragviz.upkeep import backup, restore
from ragviz.upkeep.archive import Contents
from ragviz.upkeep.restore import Restored
from ragviz.workspace import Workspace


@verb("admin", "make a backup")
def back_up(workspace: Workspace, file: Path, progress: Progress = silent) -> Contents:
    """Write a backup of the home and its database into a new `file`; see `upkeep.backup`."""
    return backup.back_up(workspace, file, progress)


@verb("admin", "restore a backup", noted="after")
def bring_back(workspace: Workspace, file: Path, progress: Progress = silent, *, replace: bool = False) -> Restored:
    """Bring a backup back into the home and the database that are configured; see `upkeep.restore`."""
    return restore.bring_back(workspace, file, progress, replace=replace)


@verb("admin", "keep a copied home", noted="after")
def adopt(workspace: Workspace) -> None:
    """Keep a home that was copied while it was used, when its database is undamaged; see `store.homes`."""
    homes.adopt(workspace.settings.home)
