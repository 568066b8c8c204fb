"""What `headrace serve` is told."""

from __future__ import annotations

import ctypes
import ipaddress
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from headrace.arrival_times import Clock, wall_clock
from headrace.background.config import ServiceConfig
from headrace.dialects.settings import check_settings
from headrace.errors import SettingError
from headrace.launching import RunnerKind
from headrace.serve.limits import DEFAULT, Limits

HOST: Final = "127.0.0.1"
PORT: Final = 7870
_SHORTEST_TOKEN: Final = 16


@dataclass(frozen=True, slots=True)
class Settings:
    """What a server is started with.

    Attributes:
        location: where all of it is kept.
        host: the address to listen on.
        port: the port; any free one if zero.
        token: what a client must know; none is needed on loopback.
        read_token: what a client must know who only reads.
        hosts: further names that the server is known by.
        static: files of the default graph and of named graphs.
        schemas: files of the schema that queries read their data under.
        settings: what `--set` takes, for all queries.
        services: which endpoints SERVICE may ask.
        runner: where the pipeline runs.
        master: the Spark to run on.
        interval: seconds from batch to batch.
        demo: whether the demos are started.
        limits: what is too much.
        clock: the clock of the machine.
    """

    location: Path
    host: str = HOST
    port: int = PORT
    token: str | None = field(default=None, repr=False)
    read_token: str | None = field(default=None, repr=False)
    hosts: Sequence[str] = ()
    static: Sequence[tuple[str | None, Path]] = ()
    schemas: Sequence[tuple[str | None, Path]] = ()
    settings: Mapping[str, str] = field(default_factory=dict)
    services: ServiceConfig | None = None
    runner: RunnerKind = RunnerKind.INLINE
    master: str | None = None
    interval: float = 0.05
    demo: bool = False
    limits: Limits = DEFAULT
    clock: Clock = wall_clock

    def __post_init__(self) -> None:
        """Refuse settings with which every query would stop, and addresses without a token."""
        check_settings(self.settings)
        if self.token is None and not is_loopback(self.host):
            raise SettingError(
                f"'{self.host}' can be reached from other machines, so a token is needed: set "
                "HEADRACE_TOKEN, or give --token @FILE; without --host only this machine gets in"
            )
        if self.read_token is not None and self.token is None:
            raise SettingError(
                "there is a token that only reads, and none that may do all: set HEADRACE_TOKEN, "
                "or give --token @FILE, too"
            )
        for name, token in (("token", self.token), ("token that only reads", self.read_token)):
            if token is not None:
                _check_token(name, token)
        if self.token is not None and self.token == self.read_token:
            raise SettingError(
                "the token that only reads is the same as the other one, so it could write too; "
                "choose another"
            )

    @property
    def allowed_hosts(self) -> frozenset[str]:
        """The names that requests may call the server by."""
        own = {self.host.lower(), *(each.lower() for each in self.hosts)}
        if is_loopback(self.host):
            own |= {"localhost", "127.0.0.1", "::1"}
        if self.host in {"0.0.0.0", "::"}:
            own -= {self.host}
            own |= {"localhost", "127.0.0.1", "::1"}
        return frozenset(own)

    @property
    def url(self) -> str:
        """Where a person finds it."""
        host = "127.0.0.1" if self.host in {"0.0.0.0", "::"} else self.host
        return f"http://[{host}]:{self.port}" if ":" in host else f"http://{host}:{self.port}"


def _check_token(name: str, token: str) -> None:
    if len(token) < _SHORTEST_TOKEN or not token.isascii():
        raise SettingError(
            f"the {name} has {len(token)} characters, and needs {_SHORTEST_TOKEN} or more, all of "
            "them ASCII; `openssl rand -hex 32` makes one"
        )
    if any(each.isspace() for each in token):
        raise SettingError(f"the {name} has white space in it; a token is one word")


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach an address.

    >>> is_loopback("127.0.0.1"), is_loopback("localhost"), is_loopback("0.0.0.0")
    (True, True, False)
    """
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _take_variable(name: str) -> str | None:
    """Read a variable and remove it from the environment, which other processes can see.

    The text that the process was started with is overwritten too: the list of processes shows it.
    """
    found = os.environ.get(name)
    if found is not None:
        library = ctypes.CDLL(None)
        library.getenv.restype = ctypes.c_void_p
        place = library.getenv(name.encode())
        if place:
            ctypes.memset(place, ord("*"), len(os.fsencode(found)))
        del os.environ[name]
    return found


def token_of(option: str, given: str | None, variable: str) -> str | None:
    """Read a token from the file that an option names, or from a variable of the environment.

    The variable is removed from the environment, so that no child process inherits it.

    Args:
        option: the name of the option.
        given: its value, a file after an @.
        variable: the variable, which has the token itself or a file after an @.

    Raises:
        SettingError: the option has the token itself, or the file cannot be read.
    """
    known = _take_variable(variable)
    if given is not None and not given.startswith("@"):
        raise SettingError(
            f"{option} with the token itself would show it in the list of processes; write it "
            f"into a file that only you can read and give {option} @FILE, or set {variable}"
        )
    text = known if given is None else given
    if text is None or not text.startswith("@"):
        return text
    try:
        return Path(text[1:]).read_text("utf-8").strip()
    except OSError as error:
        named = f"'{text[1:]}', which {option} or {variable} names"
        raise SettingError(f"cannot read the token in {named}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise SettingError(
            f"the token in '{text[1:]}' is not text; `openssl rand -hex 32` makes one"
        ) from None
