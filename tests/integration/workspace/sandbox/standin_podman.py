"""Stands in for podman where there is none: namespaces by bubblewrap, and commands that enter them.

A program of its own on the standard library: ``standin_podman.py STATE-DIRECTORY BWRAP argument…``. It takes exactly
the options that the container sandbox may use, does what they say, and refuses every other, so that a wrong argument
list fails. The image is this machine's system, read-only.
"""

from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import NoReturn

FLAGS = {"--interactive", "--rm", "--read-only", "--force", "--volumes"}
NEEDED = {
    "--read-only": "",
    "--cap-drop": "all",
    "--security-opt": "no-new-privileges",
    "--network": "none",
    "--pid": "private",
    "--ipc": "private",
    "--uts": "private",
    "--http-proxy": "false",
    "--entrypoint": "/bin/sh",
    "--tmpfs": "/tmp:rw,nosuid,nodev,mode=1777",
}
KNOWN = {*NEEDED, "--name", "--label", "--pull", "--user", "--mount", "--workdir", "--env", "--pids-limit", "--ulimit"}
SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib64", "/etc")


def main(state: Path, bwrap: str, words: list[str]) -> int:
    with (state / "calls").open("a") as log:
        log.write(json.dumps(words) + "\n")
    command, words = words[0], words[1:]
    if command == "version":
        print("stand-in")
        return 0
    options, rest = parsed(words)
    return {"run": run, "exec": execute, "rm": remove}[command](state, bwrap, options, rest)


def parsed(words: list[str]) -> tuple[list[tuple[str, str]], list[str]]:
    options: list[tuple[str, str]] = []
    while words and words[0].startswith("-"):
        name, _, value = words.pop(0).partition("=")
        if name not in KNOWN | FLAGS:
            fail(f"unknown option {name}")
        options.append((name, value))
    return options, words


def fail(reason: str) -> NoReturn:
    print(f"Error: {reason}", file=sys.stderr)
    raise SystemExit(125)


def variables(options: list[tuple[str, str]]) -> dict[str, str]:
    found: dict[str, str] = {}
    for text in [value for name, value in options if name == "--env"]:
        name, given, value = text.partition("=")
        found[name] = value if given else os.environ[name]
    return found


def run(state: Path, bwrap: str, options: list[tuple[str, str]], rest: list[str]) -> int:
    if not set(NEEDED.items()) <= set(options):
        fail(f"not walled in: {sorted(set(NEEDED.items()) - set(options))}")
    given = dict(options)
    environment = {"PATH": "/usr/local/bin:/usr/bin:/bin", **variables(options)}
    words = [bwrap, "--unshare-all", "--as-pid-1", "--die-with-parent", "--cap-drop", "ALL", "--json-status-fd", "9"]
    for directory in SYSTEM:
        if Path(directory).is_symlink():
            words += ["--symlink", os.readlink(directory), directory]
        elif Path(directory).exists():
            words += ["--ro-bind", directory, directory]
    words += ["--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp"]
    for text in [value for name, value in options if name == "--mount"]:
        fields = dict(field.partition("=")[::2] for field in next(csv.reader([text])))
        words += ["--ro-bind" if "readonly" in fields else "--bind", fields["source"], fields["target"]]
    words += ["--remount-ro", "/", "--chdir", given["--workdir"], "--clearenv"]
    for name, value in environment.items():
        words += ["--setenv", name, value]
    status = state / given["--name"]
    with status.open("w") as file:
        os.dup2(file.fileno(), 9)
        (state / f"{given['--name']}.env").write_text(json.dumps(environment))
        child = subprocess.Popen([*words, "--", "/bin/sh", *rest[1:]], pass_fds=[9])
    code = child.wait()
    status.unlink(missing_ok=True)
    return code


def inner_pid(state: Path, name: str) -> int:
    try:
        line = (state / name).read_text().splitlines()[0]
    except (OSError, IndexError):
        fail(f'no container with name or ID "{name}" found: no such container')
    pid: int = json.loads(line)["child-pid"]
    return pid


def execute(state: Path, bwrap: str, options: list[tuple[str, str]], rest: list[str]) -> int:
    name, program = rest[0], rest[1:]
    pid = inner_pid(state, name)
    enter = ["nsenter", f"--target={pid}", "--mount", "--pid", "--net", "--ipc", "--uts", "--wd=/"]
    if os.getuid() != 0:
        enter += ["--user", "--preserve-credentials"]
    drop = ["setpriv", "--no-new-privs", "--bounding-set=-all", "--inh-caps=-all"]
    environment = {**json.loads((state / f"{name}.env").read_text()), **variables(options)}
    interactive = ("--interactive", "") in options
    stdin = None if interactive else subprocess.DEVNULL
    entered = subprocess.Popen([*enter, *drop, "--", *program], env=environment, stdin=stdin)
    return ended(entered.pid)


def ended(pid: int) -> int:
    """nsenter stops itself when what it started is stopped, so somebody must wake it to see that be killed."""
    while True:
        _, status = os.waitpid(pid, os.WUNTRACED)
        if os.WIFEXITED(status):
            return os.WEXITSTATUS(status)
        if os.WIFSIGNALED(status):
            return 128 + os.WTERMSIG(status)
        time.sleep(0.2)
        os.kill(pid, signal.SIGCONT)


def remove(state: Path, bwrap: str, options: list[tuple[str, str]], rest: list[str]) -> int:
    pid = inner_pid(state, rest[0])
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return 0
    while Path(f"/proc/{pid}").exists():
        time.sleep(0.01)
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2], sys.argv[3:]))
