"""The command line. Every command imports what it needs when it runs, so that help is instant."""

from __future__ import annotations

import os
import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from headrace.errors import MachineError, OutputClosedError, QueryError, SettingError
from headrace.exits import FAILED_RUN, WRONG_QUERY, fail, failing, label
from headrace.serve.command import serve
from headrace.version import __version__

if TYPE_CHECKING:
    from headrace.dialects import Parsed

app = typer.Typer(
    name="headrace",
    help="Continuous SPARQL on Apache Spark.",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    rich_markup_mode=None,
)

Queries = Annotated[
    list[str], typer.Argument(metavar="QUERY...", help="Query files, query texts, or - for input.")
]
OneQuery = Annotated[
    str, typer.Argument(metavar="QUERY", help="A query file, a query text, or - for input.")
]
Dialect = Annotated[
    str | None,
    typer.Option(help="The dialect; else by the file's extension, else from the text."),
]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="A semantics setting; may be repeated."),
]
Streams = Annotated[
    list[str] | None,
    typer.Option("--stream", metavar="IRI=SOURCE", help="A stream; may be repeated."),
]
Static = Annotated[
    list[str] | None,
    typer.Option("--static", metavar="[IRI=]FILE", help="Static data, of a graph; repeatable."),
]

ServiceAllow = Annotated[
    list[str] | None,
    typer.Option(metavar="PREFIX", help="Endpoints that SERVICE may ask; none if not given."),
]
ServicePrivate = Annotated[
    list[str] | None,
    typer.Option(metavar="ADDRESS", help="Private addresses that SERVICE may connect to."),
]
ServiceDescription = Annotated[
    list[Path] | None, typer.Option(metavar="FILE", help="How often endpoints change, in VoID.")
]
ServiceChanges = Annotated[
    list[Path] | None,
    typer.Option(metavar="FILE", help="How often single keys of views change: .csv, .tsv or RDF."),
]
Limit = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME=VALUE", help="A limit: rows, bytes, seconds or memory; may be repeated."
    ),
]
ServiceChangesBy = Annotated[
    str | None,
    typer.Option(
        metavar="IRI", help="The property of endpoints that says how often a key changes."
    ),
]
Schema = Annotated[
    list[str] | None,
    typer.Option("--schema", metavar="[IRI=]FILE", help="A schema, by its name; repeatable."),
]


class Format(StrEnum):
    """How explain answers."""

    TEXT = "text"
    JSON = "json"
    MERMAID = "mermaid"
    SVG = "svg"


class Shown(StrEnum):
    """Which graph of a query explain shows."""

    OPERATORS = "operators"
    REWRITTEN = "rewritten"
    DENOTATIONAL = "denotational"
    NETWORK = "network"
    REDUCED = "reduced"


@app.callback(invoke_without_command=True)
def options(
    version: Annotated[bool, typer.Option("--version", help="Print the version and stop.")] = False,
) -> None:
    """Continuous SPARQL on Apache Spark."""
    if version:
        typer.echo(f"headrace {__version__}")
        raise typer.Exit


@app.command()
def demo(
    passages: Annotated[int, typer.Option(help="How many passages to generate.", min=1)] = 1_200,
) -> None:
    """Count cars per tollgate in a generated stream, on local Spark."""
    from headrace.demo import main as run_demo  # noqa: PLC0415

    with failing():
        run_demo(count=passages)


@app.command()
def check(
    queries: Queries, dialect: Dialect = None, settings: Settings = None, schema: Schema = None
) -> None:
    """Parse and validate queries, and say which semantics they run with."""
    from headrace.options import (  # noqa: PLC0415
        calls_in_vain,
        check_planned,
        parsed_query,
        schemas_of,
    )

    wrong = 0
    with failing():
        schemas = schemas_of(schema or [])
    for text in () if schemas is None else schemas.notes:
        typer.echo(f"note: {text}", err=True)
    for query in queries:
        try:
            parsed = parsed_query(query, dialect, settings)
            check_planned(parsed)
            if schemas is not None:
                schemas.of(parsed.query, parsed.source)
        except (QueryError, SettingError) as error:
            wrong += 1
            typer.echo(f"{label(error)}: {error}", err=True)
        else:
            typer.echo(f"{parsed.source.name}: {summary(parsed)}")
            for note in parsed.notes:
                typer.echo(_indented(f"note: {note.text}\n{note.at}".rstrip()))
            for problem in calls_in_vain(parsed):
                typer.echo(_indented(f"note: {problem}"))
    if wrong:
        typer.echo(f"{wrong} of {len(queries)} wrong", err=True)
        raise typer.Exit(WRONG_QUERY)


@app.command()
def explain(  # noqa: PLR0913, PLR0917 - each is an option of the command
    query: OneQuery,
    dialect: Dialect = None,
    settings: Settings = None,
    output: Annotated[Format, typer.Option("--format", help="How to answer.")] = Format.TEXT,
    graph: Annotated[
        Shown | None, typer.Option(help="A graph of the query: of operators if drawn, else none.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Where to write it; else the terminal.")
    ] = None,
    stream: Streams = None,
    static: Static = None,
    schema: Schema = None,
    why: Annotated[
        str | None,
        typer.Option(metavar="TRIPLE", help="Say from what in the data a triple follows."),
    ] = None,
) -> None:
    """Show what a query means, how it is rewritten, what it costs over data, or a graph of it."""
    from headrace.explaining import Over, explained, write  # noqa: PLC0415
    from headrace.options import parsed_query, settings_of  # noqa: PLC0415

    with failing():
        parsed = parsed_query(query, dialect, settings)
        over = Over(
            tuple(stream or ()),
            tuple(static or ()),
            settings_of(settings or []),
            tuple(schema or ()),
            why,
        )
        shown = explained(parsed, output.value, None if graph is None else graph.value, over)
        write(shown, out) if out else written(shown)


class Runner(StrEnum):
    """Where a run takes place."""

    SPARK = "spark"
    INLINE = "inline"


@app.command()
def run(  # noqa: PLR0913, PLR0917 - each is an option of the command
    queries: Queries,
    stream: Streams = None,
    static: Static = None,
    schema: Schema = None,
    out: Annotated[
        list[str] | None,
        typer.Option(
            metavar="SINK",
            help="FILE.ndjson, .csv, .parquet, .tnq, kafka://BROKER/TOPIC, or - for the terminal;"
            " repeatable.",
        ),
    ] = None,
    late: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Where late elements go, as NDJSON.")
    ] = None,
    rejected: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Where rejected elements go, as NDJSON.")
    ] = None,
    checkpoint: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Where the run is kept, to go on after a crash."),
    ] = None,
    once: Annotated[bool, typer.Option(help="Read what is there, and end.")] = False,
    runner: Annotated[Runner, typer.Option(help="Where to run.")] = Runner.SPARK,
    master: Annotated[
        str | None, typer.Option(metavar="URL", help="The Spark to run on; else one of its own.")
    ] = None,
    partitions: Annotated[
        int, typer.Option(help="In how many parts queries are evaluated that can be.", min=1)
    ] = 1,
    batch: Annotated[
        int, typer.Option(help="Pieces of files (16 MB) in a batch; 0 is no limit.", min=0)
    ] = 8,
    interval: Annotated[
        float, typer.Option(help="Seconds from batch to batch, without --once.", min=0.05)
    ] = 0.2,
    metrics: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FILE|PORT",
            help="Metrics for Prometheus: a file, or a port of this machine; repeatable.",
        ),
    ] = None,
    static_cache: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Where encoded static data are kept, for several runs."),
    ] = None,
    static_cache_size: Annotated[
        float, typer.Option(metavar="GB", help="How much may be kept there.", min=0)
    ] = 32,
    static_in_memory: Annotated[
        int, typer.Option(metavar="ROWS", help="Larger static tables are used on disk.", min=0)
    ] = 50_000_000,
    max_rejected: Annotated[
        str | None,
        typer.Option(
            metavar="N|N%", help="Fail if more of a stream is rejected; a live run ends then."
        ),
    ] = None,
    fail_on_empty: Annotated[
        bool, typer.Option("--fail-on-empty", help="Fail if a query has no rows, or no input.")
    ] = False,
    quiet: Annotated[
        bool,
        typer.Option("--quiet", "-q", help="Show no progress, and notes only if they are errors."),
    ] = False,
    dialect: Dialect = None,
    settings: Settings = None,
    service_allow: ServiceAllow = None,
    service_private: ServicePrivate = None,
    service_description: ServiceDescription = None,
    service_changes: ServiceChanges = None,
    service_changes_by: ServiceChangesBy = None,
    timeout: Annotated[
        float | None,
        typer.Option(help="Seconds that one evaluation may take, as --limit seconds=.", min=0),
    ] = None,
    limit: Limit = None,
) -> None:
    """Run continuous queries over streams, on Spark or in this process."""
    from headrace.acceptance import RejectionLimit, Requirements  # noqa: PLC0415
    from headrace.launching import RunnerKind  # noqa: PLC0415
    from headrace.options import (  # noqa: PLC0415
        named_file,
        parsed_query,
        run_limits,
        services_of,
        settings_of,
        streams_of,
    )
    from headrace.progress import displaying  # noqa: PLC0415
    from headrace.running import Job, Voice, conclusion, run_job  # noqa: PLC0415

    with failing():
        job = Job(
            [parsed_query(each, dialect, settings) for each in queries],
            streams_of(stream or []),
            [named_file(each) for each in static or []],
            settings_of(settings or []),
            services_of(
                service_allow,
                service_private,
                service_description,
                service_changes,
                service_changes_by,
            ),
            run_limits(limit or [], timeout),
            out or ["-"],
            late,
            rejected,
            checkpoint,
            once,
            RunnerKind(runner.value),
            master,
            partitions,
            batch,
            interval,
            metrics or (),
            [named_file(each) for each in schema or []],
            static_cache,
            round(static_cache_size * (1 << 30)),
            static_in_memory,
            Requirements(
                None if max_rejected is None else RejectionLimit.parse(max_rejected), fail_on_empty
            ),
        )
        shared = "-" in job.outs and sys.stdout.isatty()
        with displaying(live=not once, quiet=quiet, shared=shared) as display:
            voice = Voice(
                lambda text: display.say(f"note: {text}"),
                written,
                watch=display.show,
                phase=display.phase,
                report=lambda note: display.note(note.text, is_error=note.is_error),
            )
            outcome = run_job(job, voice)
        for text in conclusion(outcome, job, quiet=quiet):
            typer.echo(text, err=True)
        for error in outcome.errors:
            typer.echo(f"error: {error}", err=True)
    if outcome.has_failed:
        raise typer.Exit(FAILED_RUN)


def written(text: str) -> None:
    """Show results on standard output.

    Raises:
        OutputClosedError: nobody reads it any more.
        MachineError: it cannot be written.
    """
    try:
        typer.echo(text, nl=False)
    except BrokenPipeError:
        # What is still buffered would be tried again when Python ends, and fail again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise OutputClosedError("standard output was closed") from None
    except OSError as error:
        raise MachineError(f"cannot write to standard output: {error.strerror}") from None


@app.command()
def query(  # noqa: PLR0913, PLR0917 - each is an option of the command
    text: OneQuery,
    data: Annotated[
        list[Path] | None,
        typer.Option("--data", metavar="FILE", help="Default graph; may be repeated."),
    ] = None,
    graph: Annotated[
        list[str] | None,
        typer.Option("--graph", metavar="IRI=FILE", help="Named graph; may be repeated."),
    ] = None,
    output: Annotated[
        str,
        typer.Option(
            "--format", help="table, json, xml, csv or tsv; turtle, ntriples or nquads for graphs."
        ),
    ] = "",
    service_allow: ServiceAllow = None,
    timeout: Annotated[
        float | None,
        typer.Option(help="Seconds that the query may take, as --limit seconds=.", min=0),
    ] = None,
    limit: Limit = None,
    service_private: ServicePrivate = None,
    schema: Schema = None,
) -> None:
    """Answer a SPARQL 1.1 query over static data."""
    from headrace.answering import ask, written  # noqa: PLC0415
    from headrace.metering import MEMORY, Meter, metered  # noqa: PLC0415
    from headrace.options import named_file, parsed_query, run_limits, services_of  # noqa: PLC0415

    with failing():
        parsed = parsed_query(text, None, None)
        services = services_of(service_allow, service_private)
        schemas = [named_file(each) for each in schema or []]
        limits = run_limits(limit or [], timeout)
        with MEMORY.limited(limits.memory):
            found = ask(parsed, data or [], graph or [], services, limits, schemas)
            answered, problems, notes = found
            for note in notes:
                typer.echo(f"note: {note}", err=True)
            with metered(Meter(limits)):
                typer.echo(written(answered, output), nl=False)
        for problem in problems:
            typer.echo(f"not read: {problem}", err=True)
    if problems:
        raise typer.Exit(FAILED_RUN)


@app.command()
def doctor(
    spark: Annotated[bool, typer.Option(help="Start Spark to see whether it starts.")] = True,
    checkpoint: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="Check a checkpoint, or the directory of a server, instead."
        ),
    ] = None,
    repair: Annotated[
        bool, typer.Option("--repair", help="Repair what is damaged there, as far as that is safe.")
    ] = False,
    static_cache: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Say what is in a cache of static data instead."),
    ] = None,
    clean: Annotated[
        float | None,
        typer.Option(metavar="GB", help="Remove what was not used the longest, but for so much."),
    ] = None,
) -> None:
    """Say whether this machine, or a checkpoint, is ready, and what to do where it is not."""
    if checkpoint is not None:
        with failing():
            raise typer.Exit(_checked_checkpoint(checkpoint, repair))
    if repair:
        fail(SettingError("--repair needs --checkpoint DIR"))
    if static_cache is not None:
        from headrace.doctor.cache import main as count  # noqa: PLC0415

        with failing():
            raise typer.Exit(count(static_cache, clean))
    if clean is not None:
        fail(SettingError("--clean needs --static-cache DIR"))
    from headrace.doctor import main as examine  # noqa: PLC0415

    raise typer.Exit(examine(start_spark=spark))


def _checked_checkpoint(directory: Path, repair: bool) -> int:
    """Check a checkpoint, or all files of a server where it is one's directory."""
    from headrace.pipeline.tables import home_of  # noqa: PLC0415
    from headrace.serve.place import is_location  # noqa: PLC0415

    directory = home_of(directory.resolve())
    if is_location(directory):
        from headrace.serve.location_checks import main as check_location  # noqa: PLC0415

        return check_location(directory, mend=repair)
    from headrace.doctor.checkpoint import main as check_checkpoint  # noqa: PLC0415

    return check_checkpoint(directory, mend=repair)


_HELP: Final = frozenset({"-h", "--help"})


@app.command(
    # Without help options of its own, `bench NAME --help` reaches the benchmark, and so does all
    # else behind the name, also `--`.
    context_settings={
        "allow_extra_args": True,
        "allow_interspersed_args": False,
        "ignore_unknown_options": True,
        "help_option_names": [],
    }
)
def bench(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="Which one; without it, they are listed.")] = "",
    json_file: Annotated[
        Path | None, typer.Option("--json", help="Write the figures to this file too.")
    ] = None,
) -> None:
    """Run a benchmark of the source checkout and print its figures.

    Other options are passed on to it, as in headrace bench throughput --repeats 1; those that it
    has are listed by headrace bench throughput --help. headrace bench compare REV NAME compares
    the processor time of benchmark NAME with that of another revision.
    """
    import ast  # noqa: PLC0415
    import runpy  # noqa: PLC0415

    folder = Path(__file__).resolve().parents[2] / "benchmarks"
    known = sorted(path.stem for path in folder.glob("*.py") if not path.stem.startswith("_"))
    if name in _HELP:
        typer.echo(context.get_help())
        return
    if not name and known:
        for each in known:
            about = ast.get_docstring(ast.parse((folder / f"{each}.py").read_text("utf-8"))) or ""
            typer.echo(f"{each:12}{about.splitlines()[0]}")
        return
    if name not in known:
        listed = ", ".join(known) or "none here: they come with the source checkout"
        fail(SettingError(f"unknown benchmark '{name}'; known are {listed}"))
    sys.argv = [name, *(["--json", str(json_file)] if json_file else []), *context.args]
    sys.path.insert(0, str(folder))  # benchmarks share some modules
    runpy.run_path(str(folder / f"{name}.py"), run_name="__main__")


def summary(parsed: Parsed) -> str:
    """Summarize a valid query in one line."""
    from headrace.planning.explain import (  # noqa: PLC0415
        default_graph_text,
        frame_text,
        report_text,
    )

    query, semantics = parsed.query, parsed.query.semantics
    if not query.is_continuous:
        return f"ok, {parsed.dialect}, no streams"
    frames = "; ".join(dict.fromkeys(frame_text(window.frame) for window in query.windows))
    consumed = f", consumption {semantics.consumption}" if semantics.consumes else ""
    beside = default_graph_text(query)
    seen = f", patterns outside GRAPH see {beside} beside FROM NAMED" if beside else ""
    return (
        f"ok, {parsed.dialect}, {frames}; bounds {semantics.bounds},"
        f" reports {report_text(semantics.report)}, emits {semantics.emit}{consumed}{seen}"
    )


def _indented(text: str) -> str:
    return "\n".join(f"  {line}" for line in text.splitlines())


app.command()(serve)


def main() -> None:
    """Run the command line."""
    app()


if __name__ == "__main__":
    main()
