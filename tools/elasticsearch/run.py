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


def stamp() -> str:
    """Changes when anything the build is made of changes."""
    files = [SOURCES / name for name in ("pom.xml", "Node.java", "RootAddress.java", "run.py")]
    return hashlib.sha256(b"\0".join(file.read_bytes() for file in files)).hexdigest()


def is_built(folder: Path = FOLDER) -> bool:
    """True when `folder` holds the node that these sources make."""
    file = folder / "built"
    return file.is_file() and file.read_text() == stamp()


def build(folder: Path = FOLDER) -> None:
    """Fetch the jars (once) and lay out the node's home in `folder`; does nothing when that is done.

    Raises:
        NodeError: a tool is missing, or a step failed; its output is shown above.

    """
    if is_built(folder):
        return
    jars, home, main = folder / f"jars-{VERSION}", folder / "home", folder / "main"
    fetch(jars)
    for part in (home, main):
        shutil.rmtree(part, ignore_errors=True)
    modules = home / "modules"
    for part in ("config", "data", "lib", "logs", "plugins", "modules/transport-netty4", "modules/root-address"):
        (home / part).mkdir(parents=True)
    (home / "config" / "elasticsearch.yml").touch()
    (home / "config" / "log4j2.properties").write_text(LOGGING)
    for jar in jars.glob("*.jar"):
        is_transport = jar.name.startswith(("transport-netty4", "netty-"))
        shutil.copy2(jar, modules / "transport-netty4" if is_transport else home / "lib")
    describe(modules / "transport-netty4", "org.elasticsearch.transport.netty4.Netty4Plugin")
    with (modules / "transport-netty4" / "plugin-descriptor.properties").open("a") as descriptor:
        descriptor.write("modulename=org.elasticsearch.transport.netty4\n")
    compile_sources(home / "lib", main)
    plugin = ["--create", "--file", modules / "root-address" / "root-address.jar", "-C", main / "plugin", "."]
    subprocess.run([tool("jar", "pack the node's plugin"), *plugin], check=True)
    describe(modules / "root-address", "RootAddress")
    (folder / "built").write_text(stamp())


def fetch(jars: Path) -> None:
    """Copy the jars that pom.xml names, with all they need, into the folder `jars`."""
    if jars.is_dir():
        return
    maven = tool("mvn", "fetch Elasticsearch's jars")
    part = jars.with_name(jars.name + ".part")
    command = [maven, "-B", "-q", "-f", SOURCES / "pom.xml", "dependency:copy-dependencies"]
    if subprocess.run([*command, f"-DoutputDirectory={part}", "-DincludeScope=runtime"], check=False).returncode:
        raise NodeError("Maven could not fetch Elasticsearch's jars; the reason is above. Is Maven Central reachable?")
    part.rename(jars)


def describe(module: Path, classname: str) -> None:
    """Write the descriptor by which the node finds the plugin in the folder `module`."""
    text = DESCRIPTOR.format(name=module.name, version=VERSION, classname=classname)
    (module / "plugin-descriptor.properties").write_text(text)


def compile_sources(lib: Path, main: Path) -> None:
    """Compile the node's main class into `main` and its plugin into `main/plugin`."""
    compiler = tool("javac", "compile the node's main class (a JDK, not only a JRE)")
    java_version(tool("java", "run Elasticsearch"))
    for source, target in (("Node.java", main), ("RootAddress.java", main / "plugin")):
        target.mkdir(parents=True)
        command = [compiler, "--release", "17", "-nowarn", "-cp", f"{lib}/*", "-d", target, SOURCES / source]
        if subprocess.run(command, check=False).returncode:
            raise NodeError(f"{source} could not be compiled; the reason is above.")


def free_port() -> int:
    """A port that nothing listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def command(port: int, data: Path, heap: str, folder: Path = FOLDER) -> list[str]:
    """The java command of a node that keeps its data and logs below `data`."""
    java, home = tool("java", "run Elasticsearch"), folder / "home"
    newer = (
        ["--enable-native-access=ALL-UNNAMED", "--add-modules=jdk.incubator.vector"] if java_version(java) > 20 else []
    )
    settings = {
        "discovery.type": "single-node",
        "network.host": "127.0.0.1",
        "http.port": str(port),
        "transport.port": str(free_port()),
        "path.data": str(data / "data"),
        "path.logs": str(data / "logs"),
        "cluster.name": "ragviz",
        "node.name": "ragviz",
        # A nearly full disk makes a development machine's node read-only at the default marks.
        "cluster.routing.allocation.disk.threshold_enabled": "false",
    }
    return [
        *(java, f"-Xms{heap}", f"-Xmx{heap}", "-XX:+ExitOnOutOfMemoryError", "-Des.distribution.type=tar", *newer),
        *("-p", str(home / "lib"), "--add-modules=ALL-MODULE-PATH", "-cp", str(folder / "main"), "Node", str(home)),
        *(f"{key}={value}" for key, value in settings.items()),
    ]


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
        NodeError: it ended or did not answer in time; what it said is above.

    """
    data.mkdir(parents=True, exist_ok=True)
    # The node ends when its standard input does: also when this process is killed.
    node = subprocess.Popen(command(port, data, heap, folder), stdin=subprocess.PIPE, start_new_session=True)
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


def start(port: int, data: Path, heap: str) -> None:
    """Run a node until SIGINT or SIGTERM, or until it ends by itself."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with contextlib.suppress(KeyboardInterrupt), running(port, data, heap) as (url, node):
        print(f"Elasticsearch {VERSION} answers at {url} (Ctrl-C ends it). For ragviz: export ELASTICSEARCH_URL={url}")
        sys.stdout.flush()
        code = node.wait()
        raise NodeError(f"Elasticsearch ended with code {code}; the reason is above.")


def main() -> int:
    """Command line: 0, or 1 with the reason on standard error."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(dest="verb", required=True)
    verbs.add_parser("build", help="fetch the jars and lay out the node")
    starter = verbs.add_parser("start", help="run the node in the foreground")
    starter.add_argument("--port", type=int, default=9200, help="HTTP port on 127.0.0.1 (default 9200)")
    starter.add_argument("--data", type=Path, default=FOLDER / "data", help="folder of its data and logs")
    starter.add_argument("--heap", default="1g", help="Java heap (default 1g)")
    given = parser.parse_args()
    try:
        build()
        if given.verb == "start":
            start(given.port, given.data.resolve(), given.heap)
    except NodeError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
