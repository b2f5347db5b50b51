"""Isolation on macOS by a profile for ``sandbox-exec``: paths stay the host's, what may be done with them does not."""

from __future__ import annotations

import functools
import os
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from moorage_workspace.errors import IsolationUnavailableError
from moorage_workspace.sandbox.isolation import IsolationName, Surroundings, Wrapper
from moorage_workspace.sandbox.places import Place, Places

_PROGRAM: Final = "/usr/bin/sandbox-exec"
_TRIAL_SECONDS: Final = 60
_READABLE: Final = (
    "/Library/Apple",
    "/Library/Developer/CommandLineTools",
    "/System",
    "/bin",
    "/dev",
    "/opt/homebrew",
    "/private/etc/localtime",
    "/private/etc/ssl",
    "/private/var/db/dyld",
    "/private/var/db/timezone",
    "/sbin",
    "/usr",
)
_DEVICES: Final = ("/dev/null", "/dev/tty", "/dev/zero")
_ALWAYS: Final = (
    "(allow process-exec process-fork)",
    "(allow signal (target same-sandbox))",
    "(allow process-info* (target same-sandbox))",
    "(allow sysctl-read)",
    "(allow ipc-posix-sem)",
    '(allow mach-lookup (global-name "com.apple.system.opendirectoryd.libinfo"))',
    '(allow file-read-metadata (literal "/") (literal "/private") (literal "/tmp") (literal "/var"))',
)
_NETWORK: Final = (
    "(allow network*)",
    "(allow system-socket)",
    '(allow mach-lookup (global-name "com.apple.SecurityServer") (global-name "com.apple.networkd"))',
    '(allow file-read* (literal "/private/etc/hosts") (literal "/private/etc/resolv.conf"))',
)


class Seatbelt:
    """``sandbox-exec``, which works here."""

    name: IsolationName = "seatbelt"
    moves = False
    holds_read_only = True
    words = "Commands run isolated: of the machine's files they reach the working directory, the mounts and programs."

    def wrapper(self, surroundings: Surroundings, directory: str) -> Wrapper | None:
        return None

    def prefix(self, surroundings: Surroundings) -> Sequence[str]:
        return (_PROGRAM, "-p", profile(surroundings))

    def environment(self, places: Places, given: Mapping[str, str]) -> dict[str, str]:
        home = places.home.host
        return {**given, "HOME": home, "TMPDIR": home}


def profile(surroundings: Surroundings) -> str:
    """The rules; what no rule allows is denied."""
    places = [surroundings.home, *surroundings.extra, *surroundings.mounts.values()]
    writable = [place.host for place in places if not place.read_only]
    lines = [
        "(version 1)",
        "(deny default)",
        *_ALWAYS,
        f"(allow file-read* {_subpaths([*_READABLE, *(place.host for place in places)])})",
        f"(allow file-read-metadata {_literals(_above(places))})",
        f"(allow file-write-data {_literals(_DEVICES)})",
    ]
    if writable:
        lines.append(f"(allow file-write* {_subpaths(writable)})")
    lines += _denied_again(places)
    return "\n".join([*lines, *(_NETWORK if surroundings.network else ())]) + "\n"


def _denied_again(places: Iterable[Place]) -> list[str]:
    """A later rule wins: what is read-only stays so also below what is writable."""
    read_only = [place.host for place in places if place.read_only]
    return [f"(deny file-write* {_subpaths(read_only)})"] if read_only else []


def _above(places: Iterable[Place]) -> list[str]:
    """The directories on the way, which programs look at to find out where they are."""
    found: dict[str, None] = {"/": None}
    for place in places:
        path = os.path.dirname(place.host)
        while path != "/":
            found[path] = None
            path = os.path.dirname(path)
    return list(found)


def _subpaths(paths: Iterable[str]) -> str:
    return " ".join(f"(subpath {_quoted(path)})" for path in paths)


def _literals(paths: Iterable[str]) -> str:
    return " ".join(f"(literal {_quoted(path)})" for path in paths)


def _quoted(path: str) -> str:
    escaped = path.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


@functools.cache
def find_seatbelt() -> Seatbelt:
    """Raises: IsolationUnavailableError where it does not work."""
    if sys.platform == "darwin" and _works():
        return Seatbelt()
    raise IsolationUnavailableError(
        "seatbelt needs macOS with a working sandbox-exec; on Linux install bubblewrap and choose bwrap"
    )


def _works() -> bool:
    home = Place("/usr/share", "/usr/share", read_only=True)
    rules = profile(Surroundings(home, {}, (), network=False))
    try:
        done = subprocess.run(  # noqa: S603 (a fixed program)
            [_PROGRAM, "-p", rules, "/bin/sh", "-c", ":"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
            timeout=_TRIAL_SECONDS,
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0
