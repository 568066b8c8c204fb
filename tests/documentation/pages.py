"""Which snippets a page of the documentation has, and how each is marked.

A snippet is a fenced block. Its language says how it is tried; an HTML comment on the line before
it may say more: `file: NAME`, `folder: PATH`, `prints`, `exit: N`, `synopsis`, `served` (by a
server at the address that all pages use), `held by: TEST`, or `not run: REASON`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from tests.shared import ROOT

FENCE = re.compile(r"( *)(`{3,})(\w*)$")
MARK = re.compile(r" *<!-- ([a-z ]+?)(?:: (.+?))? -->$")
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])


@dataclass(frozen=True, slots=True)
class Snippet:
    """A fenced block.

    Attributes:
        line: the number of its first line, that of its fence being one less.
        language: what its fence says.
        mark: what the comment before it says, and what follows the colon there.
        text: what is in it.
    """

    line: int
    language: str
    mark: str
    value: str
    text: str


def snippets(text: str) -> list[Snippet]:
    """All fenced blocks of a page, in order.

    >>> [each.language for each in snippets("```python\\nx = 1\\n```\\n")]
    ['python']
    """
    lines = text.split("\n")
    found: list[Snippet] = []
    at = 0
    while at < len(lines):
        opening = FENCE.match(lines[at])
        if opening is None:
            at += 1
            continue
        indent, ticks, language = opening.groups()
        end = next(n for n in range(at + 1, len(lines)) if lines[n].rstrip() == f"{indent}{ticks}")
        mark = MARK.match(lines[at - 1]) if at else None
        key, value = (mark[1], mark[2] or "") if mark else ("", "")
        body = "".join(line.removeprefix(indent) + "\n" for line in lines[at + 1 : end])
        found.append(Snippet(at + 2, language, key, value, body))
        at = end + 1
    return found


def commands(text: str) -> list[tuple[str, str]]:
    r"""What is typed in a transcript, and what it shows.

    >>> commands("$ a \\\n  b\nshown\n$ c\n")
    [('a \\\n  b', 'shown\n'), ('c', '')]
    """
    found: list[tuple[list[str], list[str]]] = []
    typing = False
    for line in text.splitlines():
        if line.startswith("$ "):
            found.append(([line[2:]], []))
            typing = True
        elif typing and (found[-1][0][-1].endswith("\\") or _open("\n".join(found[-1][0]))):
            found[-1][0].append(line)
        else:
            typing = False
            found[-1][1].append(line)
    return [("\n".join(typed), "".join(f"{each}\n" for each in out)) for typed, out in found]


def _open(typed: str) -> bool:
    r"""Whether a quotation mark of a command is still open, or what it reads has not ended.

    >>> _open("cat <<'END'\nx"), _open("cat <<'END'\nx\nEND"), _open("echo 'a")
    (True, False, True)
    """
    reads = re.search(r"<<'(\w+)'", typed)
    if reads is not None:
        return reads[1] not in typed.splitlines()[1:]
    return typed.count("'") % 2 == 1


def name(page: Path) -> str:
    """A page by its path in the repository."""
    return page.relative_to(ROOT).as_posix()
