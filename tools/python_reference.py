"""docs/python.md, from the docstrings of the public names: python -m tools.python_reference."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import Final

import headrace

PAGE = Path(__file__).resolve().parents[1] / "docs" / "python.md"
HEAD = """# Python

Every public name of the package `headrace`, made from its docstrings by `make reference`.
[Running](running.md#from-python) shows how they go together,
[How to](howto/python.md) a first program.

```python
from headrace import Engine

engine = Engine()
stream = engine.stream("s")
query = engine.register("SELECT ?x FROM STREAM <s> [RANGE 10s STEP 10s] WHERE { ?x ?p ?y }")
stream.push("<x:a> <x:b> <x:c> .", at=1_000)
engine.finish()
for evaluation in query.results():
    print(evaluation.time, evaluation.bindings())
```

<!-- prints -->
```text
1970-01-01 00:00:10+00:00 [{'x': Iri(value='x:a')}]
```

Beside these there are modules with a page of their own: `headrace.testing` and
`headrace.scenarios` ([scenarios](scenarios.md)), `headrace.graphs` ([graphs](graphs.md)),
`headrace.background.config` ([remote data](services.md)), `headrace.functions.table`
([functions of your own](querying.md)).
"""
INNER: Final = {
    "Engine": {"around", "feed", "now", "plans", "register_parsed", "runner", "start"},
    "Query": {"end", "planned", "report"},
    "Store": {
        "add_encoded",
        "answer",
        "around",
        "check",
        "check_functions",
        "dictionary",
        "functions",
        "quads",
        "services",
        "statements",
        "use",
    },
}
"""What other parts of the engine call, and programs do not need."""
CLASSES: Final = ("Engine", "Stream", "Query", "Evaluation", "Store")


def page() -> str:
    """The whole page."""
    parts = [HEAD, *(_section(name) for name in CLASSES), _errors()]
    return "\n".join(parts)


def members(name: str) -> list[str]:
    """The methods and properties of a class that programs use, in their order."""
    kind = getattr(headrace, name)
    return [
        each
        for each, value in vars(kind).items()
        if not each.startswith("_")
        and each not in INNER.get(name, set())
        and (inspect.isfunction(value) or isinstance(value, property))
    ]


def _section(name: str) -> str:
    kind = getattr(headrace, name)
    lines = [f"## {name}", "", _first(kind), ""]
    lines += _table("attribute", _described(kind, "Attributes"))
    if made := _described(kind.__init__, "Args"):
        lines += [f"`{name}({_parameters(kind.__init__)})`", "", *_table("argument", made)]
    for each in members(name):
        value = inspect.getattr_static(kind, each)
        if isinstance(value, property):
            lines += [f"### {name}.{each}", "", _first(value), ""]
            continue
        lines += [f"### {name}.{each}()", "", f"`{each}({_parameters(value)})`", ""]
        lines += [_first(value), ""]
        lines += _table("argument", _described(value, "Args"))
        lines += _table("raises", _described(value, "Raises"))
    return "\n".join(lines)


def _errors() -> str:
    names = [each for each in headrace.__all__ if each.endswith("Error")]
    rows = [(each, _first(getattr(headrace, each)), _parent(each)) for each in names]
    lines = ["## Errors", "", "| | | is a |", "| --- | --- | --- |"]
    lines += [f"| `{name}` | {said} | `{parent}` |" for name, said, parent in rows]
    return "\n".join([*lines, "", "`headrace.__version__` is the version.", ""])


def _parent(name: str) -> str:
    found: str = getattr(headrace, name).__mro__[1].__name__
    return found


def _first(thing: object) -> str:
    return _plain((inspect.getdoc(thing) or "").partition("\n\n")[0])


def _plain(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def _parameters(function: object) -> str:
    signature = inspect.signature(function)  # type: ignore[arg-type]  # it is a function
    shown = [
        f"{each.name}=..." if each.default is not each.empty else each.name
        for each in signature.parameters.values()
        if each.name != "self"
    ]
    return ", ".join(shown)


def _described(thing: object, title: str) -> dict[str, str]:
    """The entries of a section of a docstring.

    >>> _described(headrace.Engine.stream, "Args")["iri"]
    'its name.'
    """
    found = re.search(rf"^{title}:\n((?:    .*\n?|\n)+)", inspect.getdoc(thing) or "", re.MULTILINE)
    if found is None:
        return {}
    entries = re.findall(r"^    (\w+): ((?:.|\n     )+)", found[1], re.MULTILINE)
    return {name: _plain(said) for name, said in entries}


def _table(title: str, entries: dict[str, str]) -> list[str]:
    if not entries:
        return []
    rows = [f"| `{name}` | {said} |" for name, said in entries.items()]
    return [f"| {title} | |", "| --- | --- |", *rows, ""]


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
