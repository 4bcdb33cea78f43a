"""The command line: all that the pages do. Exit 0; 1 when a job ended in errors; 2 for bad usage or input.

A file per noun; `console` holds what they share. Modules of the library are loaded when they are used.
"""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import asdict
from typing import Annotated

import typer

import ragviz
from ragviz.core import lazy
from ragviz.core.errors import InputError, RagvizError, UsageError
from ragviz.core.installation import dashboard_folder

with lazy.loading_when_used():
    from ragviz.cli import (
        compare_commands,
        console,
        experiments_commands,
        generate_commands,
        health_commands,
        inspect_commands,
        options,
        results_commands,
        runs_commands,
        targets_commands,
        upkeep_commands,
        what_if_commands,
    )
    from ragviz.cli.corpus_commands import corpus_app
    from ragviz.cli.index_commands import index_app
    from ragviz.cli.options import Json
    from ragviz.cli.questions_commands import questions_app
    from ragviz.cli.runs_commands import runs_app
    from ragviz.cli.settings_commands import prices_app, settings_app
    from ragviz.jobs import queue, serving
    from ragviz.service import corpus_verbs, job_verbs

OF_QUESTIONS = (generate_commands, health_commands)
"""Files that add their commands to `ragviz questions` when they are imported."""

EXPLANATION = "See where a RAG system loses answers, and whether a change really helped."
app = console.group(EXPLANATION)


def main() -> None:
    """Run the command line; errors raised on purpose become a sentence and an exit code."""
    console.umask = os.umask(0o077)  # stored files are readable by this user alone
    named = console.group(EXPLANATION)  # with only the group that is asked for: typer reads the options of all it has
    try:
        named.registered_groups = [each for each in app.registered_groups if [each.name] == sys.argv[1:2]]
        (named if named.registered_groups else app)(standalone_mode=True)
    except (UsageError, InputError) as error:
        console.fail(str(error), 2)
    except RagvizError as error:
        console.fail(str(error), 1)
    except OSError as error:
        from ragviz.store import database

        if (refused := database.explained(error)) is None:
            raise
        console.fail(str(refused), 1)
    except KeyboardInterrupt as stop:
        console.fail(str(stop) or "Stopped.", 1)


def _show_version(asked: bool) -> None:
    if asked:
        console.say(f"ragviz {ragviz.__version__}")
        raise typer.Exit


@app.callback()
def ragviz_itself(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """See where a RAG system loses answers, and whether a change really helped."""


@app.command("app")
def open_app(
    port: Annotated[int, typer.Option(help="Port to listen on.", min=1, max=65535)] = 8501,
    address: Annotated[str, typer.Option(help="Address to listen on; another one needs a sign-in.")] = "127.0.0.1",
) -> None:
    """Open the dashboard; a signal that ends this command ends it."""
    from ragviz.store import database

    database.try_writing(console.open_workspace().settings.home)
    script = str(dashboard_folder() / "app.py")
    command = [sys.executable, "-P", "-m", "streamlit", "run", script, "--server.port", str(port)]
    command += ["--server.address", address]
    environment = os.environ | {"FORWARDED_ALLOW_IPS": "none"}  # a sender's address is the one it sends from
    if sys.platform == "win32":  # which has no exec: a new process would outlive this one's signals
        raise typer.Exit(subprocess.run(command, env=environment, check=False).returncode)  # noqa: S603
    os.execve(sys.executable, command, environment)  # noqa: S606 - the server is this process: signals reach it, no child stays behind


@app.command("sample")
def load_sample(as_json: Json = False) -> None:
    """Load the sample: documents, questions, indexes, an experiment, runs."""
    workspace = console.open_workspace()
    result = console.perform(workspace, corpus_verbs.load_sample(workspace)).result
    tried = result["experiment"]
    told = (
        f"Loaded '{result['corpus']}'. Next: ragviz results {result['runs'][-1]}, ragviz experiments show {tried}, "
        f"ragviz report {tried} --out report.html"
    )
    console.show(result, as_json, lambda: console.say(told))


@app.command("jobs")
def list_jobs(
    cancel: Annotated[str | None, typer.Option(help="Stop this job.")] = None,
    resume: Annotated[
        str | None, typer.Option(help="Resume this job, here, with its budget; its own command takes a higher one.")
    ] = None,
    as_json: Json = False,
) -> None:
    """List the jobs, or cancel or resume one."""
    workspace = console.open_workspace()
    if cancel:
        job_verbs.cancel(workspace, workspace.store.jobs.get(cancel))
    if resume:
        with console.bar() as watch:
            job_verbs.perform_again(workspace, resume, watch)
    queue.start_waiting(workspace)
    places = queue.places(workspace)
    jobs = queue.listed(workspace)
    unserved = queue.without_worker(workspace, jobs)
    records = [
        asdict(job)
        | {"progress": queue.progress_words(job, places.get(job.id)), "note": queue.note(workspace, job, unserved)}
        for job in jobs
    ]
    columns = {"job": "id", "status": "status", "person": "person", "machine": "host", "what": "title"}
    console.show_records(records, as_json, columns | {"progress": "progress", "note": "note"})


@app.command("worker")
def work(
    queues: Annotated[str, typer.Option(help="Jobs that it takes: embed (indexes), run (all others).")] = "embed,run",
    concurrency: Annotated[int | None, typer.Option(help="Jobs at once, else by memory and cores.", min=1)] = None,
) -> None:
    """Do jobs of a shared PostgreSQL database on this machine, until a signal ends it."""
    serving.work(console.open_workspace(), queues.split(","), concurrency)


app.command("run", cls=options.DeclaredCommand)(runs_commands.run_questions)
app.command("judge")(runs_commands.judge)
app.command("rejudge")(runs_commands.rejudge)
app.command("results")(results_commands.results)
app.command("sweep", cls=options.DeclaredCommand)(experiments_commands.sweep)
app.command("confirm")(experiments_commands.confirm)
app.command("rescue")(what_if_commands.rescue)
app.command("what-if")(what_if_commands.what_if)
app.command("check")(results_commands.check)
app.command("inspect")(inspect_commands.inspect)
app.command("compare")(compare_commands.compare)
app.command("export")(results_commands.export)
app.command("report")(results_commands.report)
app.command("listen")(targets_commands.listen)
app.command("audit")(upkeep_commands.audit)
app.command("doctor")(upkeep_commands.doctor)
app.command("backup")(upkeep_commands.backup)
app.command("restore")(upkeep_commands.restore)
for name, group in (
    *(("corpus", corpus_app), ("index", index_app), ("questions", questions_app), ("runs", runs_app)),
    ("experiments", experiments_commands.experiments_app),
    *(("targets", targets_commands.targets_app), ("prices", prices_app), ("settings", settings_app)),
):
    app.add_typer(group, name=name)
