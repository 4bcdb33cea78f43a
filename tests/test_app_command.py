"""`ragviz app` as a process: what ends the command ends the server, and leaves no process behind."""

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from tests.test_browser import Server, free_port, wait_for_health

pytestmark = [pytest.mark.timeout(180), pytest.mark.model]


def as_in_a_terminal() -> None:
    """Undo what `nohup`, or a shell that starts tests in the background, has its children ignore."""
    for ignored in (signal.SIGHUP, signal.SIGINT):
        signal.signal(ignored, signal.SIG_DFL)


@pytest.mark.parametrize("sent", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_to_the_command_ends_the_server(tmp_path: Path, sent: signal.Signals) -> None:
    port, log = free_port(), tmp_path / "log"
    env = {name: value for name, value in os.environ.items() if not name.startswith(("RAGVIZ_", "STREAMLIT_"))}
    env |= {"RAGVIZ_HOME": str(tmp_path / "home"), "STREAMLIT_SERVER_HEADLESS": "true"}
    words = [sys.executable, "-m", "ragviz", "app", "--port", str(port)]
    with log.open("wb") as output:
        command = subprocess.Popen(
            words,
            env=env,
            cwd=tmp_path,
            stdout=output,
            stderr=output,
            start_new_session=True,
            preexec_fn=as_in_a_terminal,
        )
    family = [psutil.Process(command.pid)]
    try:
        wait_for_health(Server(f"http://127.0.0.1:{port}", tmp_path, log, env), command)
        family += family[0].children(recursive=True)
        command.send_signal(sent)
        command.wait(30)
        assert [process for process in psutil.wait_procs(family, timeout=10)[1] if process.is_running()] == []
        with pytest.raises(OSError, match="refused"):
            socket.create_connection(("127.0.0.1", port), timeout=5)
    finally:
        for process in family:
            if process.is_running():
                process.kill()
        command.wait()
