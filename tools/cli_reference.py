"""docs/cli.md, from what the commands say of themselves: python -m tools.cli_reference."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

from headrace.cli import app

PAGE = Path(__file__).resolve().parents[1] / "docs" / "cli.md"
HEAD = """# The commands

Made from the commands' own help by `make reference`; `headrace COMMAND --help` says the same.

Exit codes: 0 if all is well, 1 if a run failed or something could not be read,
2 if a query or an option is wrong, 130 after a second Ctrl-C.
"""


def page() -> str:
    """The whole page."""
    group = get_command(app)
    assert isinstance(group, TyperGroup)
    parts = [HEAD]
    with typer.Context(group, info_name="headrace", **group.context_settings) as context:
        for name in group.list_commands(context):
            command = group.get_command(context, name)
            assert isinstance(command, TyperCommand)
            parts.append(_section(name, command, context))
    return "\n".join(parts)


def _section(name: str, command: TyperCommand, parent: Any) -> str:
    with typer.Context(command, info_name=name, parent=parent) as context:
        said = (command.help or "").strip()
        usage = " ".join(command.collect_usage_pieces(context))
        lines = [f"## headrace {name}", "", said, "", "<!-- synopsis -->", "```text"]
        lines += [f"headrace {name} {usage}", "```", "", "| | |", "| --- | --- |"]
        for parameter in command.get_params(context):
            record = parameter.get_help_record(context)
            if record is not None:
                lines.append(f"| `{_cell(record[0])}` | {_cell(record[1])} |")
    return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    """A text in one cell of a table."""
    return " ".join(text.split()).replace("|", "\\|")


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
