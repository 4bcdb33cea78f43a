"""A real single-node Elasticsearch from Maven Central's jars, for those without Docker.

    python tools/elasticsearch/run.py build            fetch and lay out (once; the only step that needs the network)
    python tools/elasticsearch/run.py start            build if needed, then run in the foreground until Ctrl-C

Needs `mvn` to build and a JDK, 17 or newer. Everything is written below `.elasticsearch/` of the checkout.
It is Elasticsearch itself (bulk, kNN, BM25, aliases), bound to 127.0.0.1, without security and without the modules
that Elastic does not publish there: painless, reindex, delete-by-query, ingest and language analyzers.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

SOURCES = Path(__file__).resolve().parent
FOLDER = SOURCES.parent.parent / ".elasticsearch"
VERSION = re.search(r"<elasticsearch.version>(.+?)<", (SOURCES / "pom.xml").read_text(encoding="utf-8")).group(1)
FIRST_SECONDS = 120
"""How long a node may take to answer; 5 to 20 seconds are usual."""

DESCRIPTOR = """\
description={name} of a single node
name={name}
version=1
elasticsearch.version={version}
java.version=17
classname={classname}
"""
LOGGING = """\
status = error
appender.console.type = Console
appender.console.name = console
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = [%d{ISO8601}][%-5p][%-25c{1.}] %m%n
rootLogger.level = ${sys:ragviz.log:-warn}
rootLogger.appenderRef.console.ref = console
"""


class NodeError(Exception):
    """The node cannot be built or started; the text says what to do."""


def tool(name: str, purpose: str) -> str:
    """Path of a program of the machine's."""
    path = shutil.which(name)
    if path is None:
        raise NodeError(f"`{name}` was not found; it is needed to {purpose}. Install it, or use `docker compose up`.")
    return path


def java_version(java: str) -> int:
    """Feature version of a JDK, such as 17."""
    banner = subprocess.run([java, "-version"], capture_output=True, text=True, check=True).stderr
    found = re.search(r'version "(?:1\.)?(\d+)', banner)
    if found is None or int(found[1]) < 17:
        raise NodeError(f"Java 17 or newer is needed; `{java} -version` says: {banner.strip() or 'nothing'}.")
    return int(found[1])


def node_home(folder: Path = FOLDER) -> Path:
    """Where the node that these sources make is laid out; other sources, another place, so a running one stays."""
    sources = [(SOURCES / name).read_text(encoding="utf-8") for name in ("pom.xml", "Node.java", "RootAddress.java")]
    return folder / f"node-{VERSION}-{hashlib.sha256(repr([*sources, DESCRIPTOR, LOGGING]).encode()).hexdigest()[:8]}"


def is_built(folder: Path = FOLDER) -> bool:
    """True when `folder` holds the node that these sources make."""
    return node_home(folder).is_dir()


def build(folder: Path = FOLDER) -> None:
    """Fetch the jars (once) and lay out the node in `folder`; does nothing when that is done.

    Raises:
        NodeError: a tool is missing, or a step failed; its output is shown above.

    """
    home, jars = node_home(folder), folder / f"jars-{VERSION}"
    for target, make in ((jars, fetch), (home, lambda part: lay_out(part, jars))):
        if target.is_dir():
            continue
        folder.mkdir(parents=True, exist_ok=True)
        part = Path(tempfile.mkdtemp(dir=folder, prefix=f"{target.name}.part-"))
        try:
            make(part)
            with contextlib.suppress(OSError):  # another process was faster
                part.rename(target)
        finally:
            shutil.rmtree(part, ignore_errors=True)


def fetch(jars: Path) -> None:
    """Copy the jars that pom.xml names, with all they need, into the folder `jars`."""
    maven = tool("mvn", "fetch Elasticsearch's jars")
    command = [maven, "-B", "-q", "-f", SOURCES / "pom.xml", "dependency:copy-dependencies"]
    if subprocess.run([*command, f"-DoutputDirectory={jars}", "-DincludeScope=runtime"], check=False).returncode:
        raise NodeError("Maven could not fetch Elasticsearch's jars; the reason is above. Is Maven Central reachable?")


def lay_out(home: Path, jars: Path) -> None:
    """Lay out a node's home: configuration, the jars where a node looks for them, the main class, the plugin."""
    transport, root = home / "modules" / "transport-netty4", home / "modules" / "root-address"
    for part in (home / "config", home / "lib", home / "plugins", transport, root):
        part.mkdir(parents=True)
    (home / "config" / "elasticsearch.yml").touch()
    (home / "config" / "log4j2.properties").write_text(LOGGING)
    for jar in jars.glob("*.jar"):
        shutil.copy2(jar, transport if jar.name.startswith(("transport-netty4", "netty-")) else home / "lib")
    describe(transport, "org.elasticsearch.transport.netty4.Netty4Plugin", "org.elasticsearch.transport.netty4")
    describe(root, "RootAddress")
    compile_source("Node.java", home / "lib", home / "main")
    compile_source("RootAddress.java", home / "lib", home / "plugin")
    packer = tool("jar", "pack the node's plugin")
    subprocess.run([packer, "--create", "--file", root / "root-address.jar", "-C", home / "plugin", "."], check=True)


def describe(module: Path, classname: str, modulename: str = "") -> None:
    """Write the descriptor by which the node finds the plugin in the folder `module`."""
    text = DESCRIPTOR.format(name=module.name, version=VERSION, classname=classname)
    text += f"modulename={modulename}\n" if modulename else ""
    (module / "plugin-descriptor.properties").write_text(text)


def compile_source(name: str, lib: Path, target: Path) -> None:
    """Compile one of the sources here against the jars in `lib`."""
    java_version(tool("java", "run Elasticsearch"))
    compiler = tool("javac", "compile the node's main class (a JDK, not only a JRE)")
    command = [compiler, "--release", "17", "-nowarn", "-cp", f"{lib}/*", "-d", target, SOURCES / name]
    if subprocess.run(command, check=False).returncode:
        raise NodeError(f"{name} could not be compiled; the reason is above.")


def free_port() -> int:
    """A port that nothing listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def command(home: Path, port: int, data: Path, heap: str) -> list[str]:
    """The java command of the node in `home`, with its data and logs below `data`."""
    java = tool("java", "run Elasticsearch")
    # These releases can compute distances with the processor's vector instructions; Lucene 9 knows no later ones.
    fast = ["--add-modules=jdk.incubator.vector"] if 20 <= java_version(java) <= 22 else []
    settings = {
        "discovery.type": "single-node",
        "network.host": "127.0.0.1",
        "http.port": str(port),
        "transport.port": str(free_port()),
        "path.data": str(data / "data"),
        "path.logs": str(data / "logs"),
        "cluster.name": "ragviz",
        "node.name": "ragviz",
        # As on a server with the usual, larger heap: fewer, larger segments, which are searched faster.
        "indices.memory.index_buffer_size": "30%",
        # A nearly full disk makes a development machine's node read-only at the default marks.
        "cluster.routing.allocation.disk.threshold_enabled": "false",
    }
    return [
        *(java, f"-Xms{heap}", f"-Xmx{heap}", "-XX:+ExitOnOutOfMemoryError", "-Des.distribution.type=tar", *fast),
        *("-p", str(home / "lib"), "--add-modules=ALL-MODULE-PATH", "-cp", str(home / "main"), "Node", str(home)),
        *(f"{key}={value}" for key, value in settings.items()),
    ]


def is_taken(port: int) -> bool:
    """True when something listens on the port."""
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def answers(url: str) -> bool:
    """True when the node at `url` serves requests."""
    try:
        with urllib.request.urlopen(f"{url}/_cluster/health?wait_for_status=yellow&timeout=1s", timeout=3) as reply:
            return bool(reply.status == 200)
    except (urllib.error.URLError, OSError):
        return False


@contextlib.contextmanager
def running(
    port: int, data: Path, heap: str = "1g", folder: Path = FOLDER
) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    """A built node for the time of a `with` block: its address, once it answers, and its process.

    Raises:
        NodeError: the port is taken, or the node ended or did not answer in time; what it said is above.

    """
    if is_taken(port):
        raise NodeError(f"Something listens on port {port} of 127.0.0.1 already; choose another with --port.")
    data.mkdir(parents=True, exist_ok=True)
    # The node ends when its standard input does: also when this process is killed.
    node = subprocess.Popen(command(node_home(folder), port, data, heap), stdin=subprocess.PIPE, start_new_session=True)
    try:
        url, deadline = f"http://127.0.0.1:{port}", time.monotonic() + FIRST_SECONDS
        while not answers(url):
            if node.poll() is not None:
                raise NodeError(f"Elasticsearch ended with code {node.returncode}; the reason is above.")
            if time.monotonic() > deadline:
                raise NodeError(f"Elasticsearch did not answer at {url} within {FIRST_SECONDS} seconds.")
            time.sleep(0.2)
        yield url, node
    finally:
        node.terminate()
        try:
            node.wait(30)
        except subprocess.TimeoutExpired:
            node.kill()
            node.wait()


def start(port: int, data: Path, heap: str, folder: Path) -> None:
    """Run a node until SIGINT or SIGTERM, or until it ends by itself."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with contextlib.suppress(KeyboardInterrupt), running(port, data, heap, folder) as (url, node):
        print(f"Elasticsearch {VERSION} answers at {url} (Ctrl-C ends it). For ragviz: export ELASTICSEARCH_URL={url}")
        sys.stdout.flush()
        raise NodeError(f"Elasticsearch ended with code {node.wait()}; the reason is above.")


def main() -> int:
    """Command line: 0, or 1 with the reason on standard error."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("verb", choices=["build", "start"])
    parser.add_argument(
        "--folder", type=Path, default=FOLDER, help="where it is built (.elasticsearch of the checkout)"
    )
    parser.add_argument("--port", type=int, default=9200, help="HTTP port on 127.0.0.1 (9200)")
    parser.add_argument("--data", type=Path, help="folder of its data and logs (data in --folder)")
    parser.add_argument("--heap", default="1g", help="Java heap (1g)")
    given = parser.parse_args()
    folder = given.folder.resolve()
    try:
        build(folder)
        if given.verb == "start":
            start(given.port, (given.data or folder / "data").resolve(), given.heap, folder)
    except NodeError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
