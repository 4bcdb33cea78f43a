"""The load of `benchmarks/load.py`, shortened: browsers on two replicas beside two workers, all of them processes."""

import json
import os
import subprocess
import sys

import pytest

from tests.conftest import POSTGRESQL, ROOT
from tests.test_browser import chromium


@pytest.mark.elasticsearch
@pytest.mark.skipif(POSTGRESQL not in os.environ, reason=f"{POSTGRESQL} is not set")
def test_browsers_on_two_replicas_meet_no_error_while_two_workers_work(elasticsearch_url):
    chromium()  # skips where there is none
    command = [sys.executable, str(ROOT / "benchmarks" / "load.py"), "--database", os.environ[POSTGRESQL]]
    options = ["--elasticsearch", elasticsearch_url, "--part", "browsers"]
    shortened = ["--minutes", "0.5", "--browsers", "3", "--think", "3"]
    done = subprocess.run([*command, *options, *shortened], stdout=subprocess.PIPE, check=True, timeout=500)
    told = json.loads(done.stdout)
    assert told["errors"] == []
    assert told["visits"] > 3, "each browser at a page, some at more"
    assert told["jobs"] >= 2, "an index and a run"
