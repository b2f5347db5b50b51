"""The local sandbox conforms, with and without isolation."""

from __future__ import annotations

from pathlib import Path

from moorage_workspace import LocalSandbox, Sandbox
from moorage_workspace.testing import SandboxConformance, SandboxOnEveryLoop


class TestUnsandboxed(SandboxOnEveryLoop, SandboxConformance):
    isolated, network, read_only_mounts = False, True, False

    def make_sandbox(self, directory: Path, *, timeout: float) -> Sandbox:
        return LocalSandbox(directory, timeout=timeout)

    def shell_path(self, path: str) -> str:
        return f".{path}"


class TestBubblewrap(SandboxConformance):
    def make_sandbox(self, directory: Path, *, timeout: float) -> Sandbox:
        return LocalSandbox(directory, timeout=timeout, isolation="bwrap")
