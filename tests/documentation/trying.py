"""Trying the snippets of a page, one after the other in a folder of their own.

`python -m tests.documentation.trying PAGE...` writes into pages what their snippets print now; the
diff is what a reviewer reads.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Self

from typer.main import get_command
from typer.testing import CliRunner

from headrace.cli import app
from headrace.dialects import parse
from headrace.rdf.formats import Format
from headrace.rdf.reading import read
from headrace.scenarios import played, problems, read_scenario
from tests.documentation.pages import Snippet, commands, snippets
from tests.serve.clients import Process, process
from tests.shared import ROOT

SHELL = re.compile(r"[|<>;&$*]")
LONGEST = 120
"""Seconds that a command of the documentation may take."""
ADDRESS = "127.0.0.1:7870"
"""Where servers are on all pages."""
FOLLOWED = 12
"""Seconds that results are followed for: more than two steps of the queries on these pages."""
STILL_THERE = 28
"""How curl ends when its time is over."""


class SnippetError(AssertionError):
    """A snippet that is not what it says."""


class Page:
    """A page whose snippets are tried: a folder, the names of its Python, what was printed last."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.names: dict[str, object] = {"__name__": "__main__"}
        self.printed: str | None = None
        self._around = contextlib.ExitStack()
        self._server: Process | None = None
        (folder / "examples").symlink_to(ROOT / "examples")

    def __enter__(self) -> Self:
        """Use it until the end of the block."""
        return self

    def __exit__(self, *_: object) -> None:
        """End the server, if there is one."""
        self._around.close()

    def attempt(self, snippet: Snippet) -> list[tuple[str, str]]:
        """Try a snippet; say what it shows and what it should show, for each of its outputs.

        Raises:
            SnippetError: it is no snippet that can be tried, or what it says is false.
        """
        match snippet.mark:
            case "not run" | "held by":
                if not snippet.value:
                    raise SnippetError(f"line {snippet.line}: no reason is given")
                if snippet.mark == "held by" and not (ROOT / snippet.value).is_file():
                    raise SnippetError(f"line {snippet.line}: there is no {snippet.value}")
                return []
            case "synopsis":
                synopsis(snippet)
                return []
            case "prints":
                if self.printed is None:
                    raise SnippetError(f"line {snippet.line}: nothing was printed")
                return [(self.printed, snippet.text)]
            case "folder":
                shutil.copytree(ROOT / snippet.value, self.folder, dirs_exist_ok=True)
            case "file":
                target = self.folder / snippet.value
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_text(snippet.text, "utf-8")
            case "served":
                return [(self.served(typed), out) for typed, out in commands(snippet.text)]
            case "" | "exit":
                pass
            case other:
                raise SnippetError(f"line {snippet.line}: what is <!-- {other} -->?")
        return self.by_language(snippet)

    def by_language(self, snippet: Snippet) -> list[tuple[str, str]]:
        """Try a snippet by what it is written in."""
        match snippet.language:
            case "console":
                status = int(snippet.value) if snippet.mark == "exit" else 0
                return [(self.shell(typed, status), out) for typed, out in commands(snippet.text)]
            case "python":
                self.python(snippet)
            case "sparql":
                parse(snippet.text)
            case "turtle" | "trig":
                form = Format.TURTLE if snippet.language == "turtle" else Format.TRIG
                list(read(snippet.text, form))
            case "scenario":
                scenario = read_scenario(snippet.text, "scenario")
                if wrong := problems(scenario, played(scenario)):
                    raise SnippetError("\n".join(wrong))
            case "json":
                json.loads(snippet.text)
            case "text" if snippet.mark == "file":
                pass
            case other:
                raise SnippetError(
                    f"line {snippet.line}: nobody knows how to try '{other}'; mark it"
                )
        return []

    def python(self, snippet: Snippet) -> None:
        """Run Python, with the names of what stands before it on the page."""
        told = io.StringIO()
        with contextlib.chdir(self.folder), contextlib.redirect_stdout(told):
            code = compile("\n" * (snippet.line - 1) + snippet.text, "snippet", "exec")
            exec(code, self.names)
        self.printed = told.getvalue()

    def served(self, typed: str) -> str:
        """Run a command that asks a server; one that follows is ended after some windows."""
        if self._server is None:
            self._server = self._around.enter_context(process(self.folder))
            (self.folder / ".curlrc").write_text("silent\nshow-error\n")
        own = f"127.0.0.1:{self._server.port}"
        follows = typed.startswith("curl -N ")
        typed = typed.replace("curl -N ", f"curl -N --max-time {FOLLOWED} ")
        said = self.shell(typed.replace(ADDRESS, own), STILL_THERE if follows else 0)
        # How long nothing comes, and so whether there is a note on it, is up to the machine.
        said = re.sub(r"^event: notes\ndata: .*\n\n", "", said, flags=re.MULTILINE)
        said = said.replace(own, ADDRESS)
        return re.sub(r"^curl: .*\n?", "", said, flags=re.MULTILINE) if follows else said

    def shell(self, typed: str, status: int) -> str:
        """Run a command; in this process where it is one of Headrace and nothing else."""
        typed = typed.replace("\\\n", " ")
        words = [] if SHELL.search(re.sub(r"'[^']*'", "", typed)) else shlex.split(typed)
        if words[:1] == ["headrace"]:
            with contextlib.chdir(self.folder):
                done = CliRunner().invoke(app, words[1:])
            code, said = done.exit_code, done.output
        else:
            path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
            ended = subprocess.run(
                ["bash", "-c", typed],
                cwd=self.folder,
                env={**os.environ, "PATH": path, "COLUMNS": "80", "CURL_HOME": str(self.folder)},
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                timeout=LONGEST,
                check=False,
            )
            code, said = ended.returncode, ended.stdout
        if code != status:
            raise SnippetError(f"{typed}\nended with {code}, not {status}\n{said}")
        return said


def synopsis(snippet: Snippet) -> None:
    """See that each line names a command of Headrace, and options that it has.

    Raises:
        SnippetError: one does not.
    """
    known = get_command(app).commands  # type: ignore[attr-defined]  # it is a group
    for line in snippet.text.splitlines():
        words = re.search(r"headrace (\w+)(.*)", line)
        if words is None or words[1] not in known:
            raise SnippetError(f"no command of headrace: {line}")
        options = {each for one in known[words[1]].params for each in one.opts}
        if unknown := set(re.findall(r"--[a-z-]+", words[2])) - options:
            raise SnippetError(f"{words[1]} has no {', '.join(sorted(unknown))}")


def agrees(said: str, shown: str) -> bool:
    """Whether an output is what a page shows, where `...` stands for anything.

    >>> agrees("took 3 s\\n", "took ... s\\n"), agrees("a\\n", "b\\n")
    (True, False)
    """
    parts = [re.escape(part) for part in tidy(shown).split("...")]
    return re.fullmatch(".*?".join(parts), tidy(said), re.DOTALL) is not None


def tidy(text: str) -> str:
    """A text without what nobody sees."""
    return "\n".join(line.rstrip() for line in text.strip("\n").splitlines())


def rewrite(path: Path) -> None:
    """Write into a page what its snippets print now, where it is not what the page shows."""
    text = path.read_text("utf-8")
    lines = text.split("\n")
    added = 0
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as around:
        page = around.enter_context(Page(Path(folder)))
        for snippet in snippets(text):
            told = page.attempt(snippet)
            if all(agrees(*each) for each in told):
                continue
            if snippet.mark == "prints":
                new = tidy(told[0][0]) + "\n"
            else:
                typed = [each for each, _ in commands(snippet.text)]
                outs = [shown if agrees(said, shown) else f"{tidy(said)}\n" for said, shown in told]
                new = "".join(f"$ {a}\n{b}" for a, b in zip(typed, outs, strict=True))
            start = snippet.line - 1 + added
            lines[start : start + snippet.text.count("\n")] = new.splitlines()
            added += new.count("\n") - snippet.text.count("\n")
    path.write_text("\n".join(lines), "utf-8")


if __name__ == "__main__":
    for argument in sys.argv[1:]:
        rewrite(Path(argument))
