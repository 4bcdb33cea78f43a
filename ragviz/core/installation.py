"""Where the dashboard's files are installed."""

from __future__ import annotations

from pathlib import Path


def dashboard_folder() -> Path:
    """Return the folder of app.py, pages/ and assets/: within an installed package, beside that of a clone."""
    package = Path(__file__).resolve().parents[1]
    installed = package / "_app"
    return installed if installed.is_dir() else package.parent
