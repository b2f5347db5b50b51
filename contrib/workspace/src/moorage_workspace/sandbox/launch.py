"""Runs one command and whatever comes of it, and ends it all when told to, or when whoever asked for it is gone.

A program of its own on the standard library alone: ``python -I -S launch.py FD``, where FD is a socket. What comes in
first is the order, eight bytes of length and a marshalled dictionary; anything after it, and so the socket's end,
means: end everything. Out go lines: ``pid N`` at the start, and when nothing is left ``ended CODE KILLED`` or ``failed
REASON``. It starts for every command, so it imports little.

On Linux orphans are handed to this process, so whatever the command starts is found, daemons included. Elsewhere
only the command's process group is.
"""

from __future__ import annotations

import ctypes
import errno
import marshal
import os
import resource
import select
import signal
import sys
import time
from contextlib import suppress

TYPE_CHECKING = False  # typing is slow to import
if TYPE_CHECKING:
    from types import FrameType
    from typing import Any, Final, NoReturn

_LINUX: Final = sys.platform == "linux"
_PR_SET_PDEATHSIG: Final = 1
_PR_SET_CHILD_SUBREAPER: Final = 36
_FIRST_PAUSE: Final = 0.002
_LONGEST_PAUSE: Final = 0.1
_JOIN_ATTEMPTS: Final = 32
_PARENT_SECONDS: Final = 1.0
_KEYCTL: Final = {"aarch64": 219, "loongarch64": 219, "ppc64le": 271, "riscv64": 219, "s390x": 280, "x86_64": 250}
_KEYCTL_JOIN_SESSION_KEYRING: Final = 1


def main(channel: int) -> None:
    os.set_inheritable(channel, False)
    order = _receive(channel)
    if order is None:
        return
    answer = _supervise(order, channel)
    for group in order["groups"]:
        with suppress(OSError):  # another command of the sandbox is still in it
            os.rmdir(group["directory"])
    _say(channel, answer)


def _receive(channel: int) -> dict[str, Any] | None:
    received = bytearray()
    while len(received) < 8 or len(received) < 8 + int.from_bytes(received[:8], "big"):
        data = os.read(channel, 1 << 16)
        if not data:
            return None
        received += data
    order: dict[str, Any] = marshal.loads(received[8:])  # noqa: S302 (from the process that started this one)
    return order


def _say(channel: int, text: str) -> None:
    with suppress(OSError):
        os.write(channel, text.encode() + b"\n")


def _supervise(order: dict[str, Any], channel: int) -> str:
    if _LINUX:
        _prctl(_PR_SET_CHILD_SUBREAPER, 1)
    tree = _Tree(channel, order["parent"], wrapped=order["wrapper"] is not None)
    status_file = None
    try:
        if order["wrapper"] is not None:
            status_file = _wrap(order)
        tree.child, failure = _start(order, channel)
    except OSError as error:
        return _failed(error.errno)
    _let_go_of_streams()
    if failure is None:
        tree.wait(order["grace"])
    tree.kill()
    if failure is not None:
        return _failed(failure)
    exit_code = os.waitstatus_to_exitcode(tree.status or 0)
    if status_file is not None and exit_code > 0 and not tree.ended and not _was_set_up(status_file):
        return "failed the isolation could not be set up"
    return f"ended {exit_code if exit_code >= 0 else 128 - exit_code} {int(tree.ended)}"


def _failed(number: int | None) -> str:
    return f"failed {os.strerror(number or errno.EIO)}"


def _prctl(option: int, value: int) -> None:
    ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0)


def _let_go_of_streams() -> None:
    """Keep no end of the command's pipes: their readers wait until all are closed."""
    null = os.open(os.devnull, os.O_RDWR)
    for stream in range(3):
        os.dup2(null, stream)
    os.close(null)


class _Tree:
    """The command and everything that descends from it."""

    def __init__(self, channel: int, parent: int, *, wrapped: bool) -> None:
        self.child = 0
        self.status: int | None = None
        self.ended = False
        self._channel = channel
        self._parent = parent
        self._parents_end = _end_of(parent)
        self._wrapped = wrapped
        self._woken, wake = os.pipe()
        os.set_blocking(self._woken, False)
        os.set_blocking(wake, False)
        for ignored in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM):
            signal.signal(ignored, signal.SIG_IGN)
        signal.signal(signal.SIGCHLD, _only_wake)
        signal.set_wakeup_fd(wake, warn_on_full_buffer=False)

    def wait(self, grace: float) -> None:
        """Until the command has ended, asked to with SIGTERM once somebody wants it to."""
        while self.status is None and not self.ended:
            self.ended = self._pause(None)
            self._reap()
        if self.status is None:
            self._terminate()
        over = time.monotonic() + grace
        while self.status is None and (left := over - time.monotonic()) > 0:
            self._pause(left)
            self._reap()

    def kill(self) -> None:
        """Until nothing is left, descendants of descendants included."""
        pause = _FIRST_PAUSE
        with suppress(OSError):  # a group goes at one stroke, however fast it forks
            os.killpg(self.child, signal.SIGKILL)
        while not self._reap():
            for pid in _descendants():
                _send(pid, signal.SIGKILL)
            self._pause(pause)
            pause = min(pause * 2, _LONGEST_PAUSE)

    def _terminate(self) -> None:
        for pid in _descendants() if _LINUX else ():
            # Whoever isolates the command would end with it, without telling the command.
            if not (self._wrapped and pid == self.child):
                _send(pid, signal.SIGTERM)
                _send(pid, signal.SIGCONT)
        if not _LINUX:
            with suppress(OSError):
                os.killpg(self.child, signal.SIGTERM)

    def _pause(self, seconds: float | None) -> bool:
        """Until a child's state changes; whether somebody wants the end, or who asked for the command is gone.

        The channel alone does not tell the latter: a fork of that process holds it, too.
        """
        watched: list[Any] = [self._woken]
        if seconds is None:
            watched += [self._channel, *self._parents_end]
            seconds = None if self._parents_end else _PARENT_SECONDS
        ready, _, _ = select.select(watched, [], [], seconds)
        with suppress(BlockingIOError):
            while os.read(self._woken, 4096):
                pass
        return self._channel in ready or os.getppid() != self._parent

    def _reap(self) -> bool:
        """Whether no child is left."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return True
            if pid == 0:
                return False
            if pid == self.child:
                self.status = status


def _end_of(process: int) -> list[int]:
    """A descriptor that is readable once the process has ended, where the system has such."""
    with suppress(OSError, AttributeError):
        return [os.pidfd_open(process)]
    return []


def _only_wake(_number: int, _frame: FrameType | None) -> None:
    pass


def _send(pid: int, number: signal.Signals) -> None:
    with suppress(OSError):
        os.kill(pid, number)


def _descendants() -> list[int]:
    if not _LINUX:
        return []
    children: dict[int, list[int]] = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            with suppress(OSError), open(f"/proc/{name}/stat", "rb") as file:
                parent = int(file.read().rpartition(b")")[2].split()[1])
                children.setdefault(parent, []).append(int(name))
    found = children.get(os.getpid(), [])
    for pid in found:
        found.extend(children.get(pid, ()))
    return found


def _wrap(order: dict[str, Any]) -> int:
    """Put the isolation's program before the command; what it reports comes in the file that is returned.

    Its arguments go through a file, because inside everybody can read those of process 1, and they hold host paths.
    So do the command's variables: that program runs outside, and some would have the loader run code there.
    """
    wrapper = order["wrapper"]
    arguments: list[str] = []
    for path, text in wrapper["files"].items():
        arguments += ["--perms", "0644", "--ro-bind-data", str(_memory_file(text.encode())), path]
    for name, value in order["env"].items():
        arguments += ["--setenv", name, value]
    arguments += wrapper["arguments"]
    given = _memory_file("".join(argument + "\0" for argument in arguments).encode("utf-8", "surrogateescape"))
    status = _memory_file(b"")
    order["env"] = {}
    order["program"] = wrapper["program"]
    order["argv"] = ["bwrap", "--args", str(given), "--json-status-fd", str(status), "--", *order["argv"]]
    return status


def _memory_file(content: bytes) -> int:
    file = os.memfd_create("order", 0)
    os.write(file, content)
    os.lseek(file, 0, os.SEEK_SET)
    return file


def _was_set_up(status: int) -> bool:
    os.lseek(status, 0, os.SEEK_SET)
    return b'"exit-code"' in os.read(status, 1 << 16)


def _start(order: dict[str, Any], channel: int) -> tuple[int, int | None]:
    """The child's pid, and what kept it from becoming the command."""
    problem, report = os.pipe()
    child = os.fork()
    if child == 0:
        _become(order, channel, report)
    os.close(report)
    number = os.read(problem, 32)
    os.close(problem)
    return child, int(number) if number else None


def _become(order: dict[str, Any], channel: int, report: int) -> NoReturn:
    try:
        os.setsid()
        _say(channel, f"pid {os.getpid()}")  # from here, so that it is said before the command can do anything
        _die_with_parent()
        for group in order["groups"]:
            _join(group)
        if order["wrapper"] is None:
            _stand_between(report)
        else:
            _leave_keyring()
        _reset_signals()
        if order["directory"] is not None:
            os.chdir(order["directory"])
        _limit(order["limits"])
        os.execve(order["program"], order["argv"], order["env"])  # noqa: S606 (its whole purpose)
    except OSError as error:
        os.write(report, str(error.errno).encode())
    except ValueError:
        os.write(report, str(errno.EINVAL).encode())
    finally:
        os._exit(127)


def _stand_between(report: int) -> None:
    """Go on as a child, with a parent whose death the supervisor sees: a command that kills its parent gains nothing.

    A program that isolates the command is such a parent itself.
    """
    child = os.fork()
    if child == 0:
        _die_with_parent()
        return
    os.close(report)
    _let_go_of_streams()
    _, status = os.waitpid(child, 0)
    exit_code = os.waitstatus_to_exitcode(status)
    os._exit(exit_code if exit_code >= 0 else 128 - exit_code)


def _leave_keyring() -> None:
    """For an empty one: what holds the keys of whoever uses this machine is no namespace's."""
    number = _KEYCTL.get(os.uname().machine) if _LINUX and sys.maxsize > 1 << 32 else None
    if number is not None:
        keyctl = ctypes.CDLL(None, use_errno=True).syscall
        keyctl(ctypes.c_long(number), ctypes.c_long(_KEYCTL_JOIN_SESSION_KEYRING), ctypes.c_void_p(None))


def _die_with_parent() -> None:
    if _LINUX:
        _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def _reset_signals() -> None:
    signal.set_wakeup_fd(-1)
    for number in signal.valid_signals():
        with suppress(OSError, ValueError):
            signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, [])


def _join(group: dict[str, Any]) -> None:
    """Enter the sandbox's control group. A command that ends removes it, so it may vanish before this one is in."""
    directory = group["directory"]
    for attempt in range(_JOIN_ATTEMPTS):
        try:
            with suppress(FileExistsError):
                os.mkdir(directory)
            for name, value in [*group["settings"].items(), ("cgroup.procs", "0")]:
                with open(os.path.join(directory, name), "w") as file:
                    file.write(value)
            return
        except OSError as error:
            if error.errno not in {errno.ENOENT, errno.ENODEV} or attempt == _JOIN_ATTEMPTS - 1:
                raise


def _limit(limits: dict[str, int]) -> None:
    for name, value in limits.items():
        number = getattr(resource, name)
        if name == "RLIMIT_NPROC" and os.getuid() != 0:
            value += _tasks_of_this_user()  # the kernel counts all of them
        _, hard = resource.getrlimit(number)
        if hard != resource.RLIM_INFINITY:
            value = min(value, hard)
        resource.setrlimit(number, (value, value))


def _tasks_of_this_user() -> int:
    if not _LINUX:
        return 0
    tasks = 0
    for name in os.listdir("/proc"):
        with suppress(OSError):
            if name.isdigit() and os.stat(f"/proc/{name}").st_uid == os.getuid():
                tasks += len(os.listdir(f"/proc/{name}/task"))
    return tasks


if __name__ == "__main__":
    main(int(sys.argv[1]))
    os._exit(0)
