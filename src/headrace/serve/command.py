"""The command `headrace serve`. It imports what it needs when it runs, so that help is instant."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from headrace.exits import failing

# ruff: noqa: PLC0415 - see above


def serve(  # noqa: PLR0913, PLR0917 - each is an option of the command
    location: Annotated[
        Path, typer.Option(metavar="DIR", help="Where streams, queries and results are kept.")
    ] = Path("headrace-data"),
    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(help="The port; any free one if 0.", min=0, max=65_535)
    ] = 7870,
    token: Annotated[
        str | None,
        typer.Option(
            metavar="@FILE",
            help="A file with the token of clients, or set HEADRACE_TOKEN; needed if other "
            "machines can reach the server.",
        ),
    ] = None,
    read_token: Annotated[
        str | None,
        typer.Option(
            metavar="@FILE",
            help="A file with the token of clients that only read, or set HEADRACE_READ_TOKEN.",
        ),
    ] = None,
    allow_host: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="A name that the server is known by; repeatable."),
    ] = None,
    static: Annotated[
        list[str] | None,
        typer.Option("--static", metavar="[IRI=]FILE", help="Static data; repeatable."),
    ] = None,
    schema: Annotated[
        list[str] | None,
        typer.Option("--schema", metavar="[IRI=]FILE", help="A schema; repeatable."),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="A semantics setting; repeatable."),
    ] = None,
    service_allow: Annotated[
        list[str] | None,
        typer.Option(metavar="PREFIX", help="Endpoints that SERVICE may ask; none if not given."),
    ] = None,
    service_private: Annotated[
        list[str] | None,
        typer.Option(metavar="ADDRESS", help="Private addresses that SERVICE may connect to."),
    ] = None,
    service_description: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", help="How often endpoints change, in VoID."),
    ] = None,
    service_changes: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE", help="How often single keys of views change: .csv, .tsv or RDF."
        ),
    ] = None,
    service_changes_by: Annotated[
        str | None,
        typer.Option(
            metavar="IRI", help="The property of endpoints that says how often a key changes."
        ),
    ] = None,
    runner: Annotated[str, typer.Option(help="inline, or spark.")] = "inline",
    master: Annotated[
        str | None, typer.Option(metavar="URL", help="The Spark to run on; else one of its own.")
    ] = None,
    timeout: Annotated[
        float,
        typer.Option(help="Seconds that one evaluation may take, as --limit seconds=.", min=0.1),
    ] = 10.0,
    log_quota: Annotated[
        float,
        typer.Option(
            metavar="MB",
            help="How large the log of a stream may be, as --limit log_bytes=.",
            min=1,
        ),
    ] = 1024,
    limit: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=VALUE", help="A limit, such as memory=4GB; docs/limits.md has all."
        ),
    ] = None,
    demo: Annotated[
        bool, typer.Option("--demo", help="Start streams that move, each with a query.")
    ] = False,
) -> None:
    """Serve streams, queries and SPARQL over HTTP, with a console for browsers."""
    with failing():
        try:
            from headrace.serve.starting import serve as serve_all
        except ModuleNotFoundError as error:
            from headrace.errors import MachineError

            raise MachineError(
                f"headrace serve needs {error.name}: pip install 'headrace[serve]'"
            ) from None
        from headrace.launching import runner_kind
        from headrace.options import named_file, services_of, settings_of, with_limits
        from headrace.serve.limits import Limits
        from headrace.serve.settings import Settings, token_of

        serve_all(
            Settings(
                location=location.absolute(),
                host=host,
                port=port,
                token=token_of("--token", token, "HEADRACE_TOKEN"),
                read_token=token_of("--read-token", read_token, "HEADRACE_READ_TOKEN"),
                hosts=tuple(allow_host or ()),
                static=[named_file(each) for each in static or []],
                schemas=[named_file(each) for each in schema or []],
                settings=settings_of(settings or []),
                services=services_of(
                    service_allow,
                    service_private,
                    service_description,
                    service_changes,
                    service_changes_by,
                ),
                runner=runner_kind(runner),
                master=master,
                demo=demo,
                limits=with_limits(
                    Limits(seconds=timeout, log_bytes=round(log_quota * 1_000_000)), limit or []
                ),
            ),
            typer.echo,
        )
