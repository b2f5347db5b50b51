"""An image made of nothing but busybox, for whichever container program works here."""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from moorage_workspace import IsolationUnavailableError
from moorage_workspace.sandbox.container_program import find_program

_NAME = "localhost/moorage-test-busybox:latest"
_SETTINGS = """
[containers]
default_ulimits = ["nofile=1024:1024", "nproc=4096:4096"]
[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
"""
"""For a machine without systemd, whose root may not raise its own limits."""


@contextmanager
def container_image(factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The image's name; skips, with the reason, on a machine without a container program."""
    busybox = shutil.which("busybox")
    if busybox is None:
        pytest.skip("there is no busybox to make an image of")
    try:
        program = find_program(None)
    except IsolationUnavailableError as error:
        pytest.skip(str(error))
    if shutil.which("runc") is not None and not Path("/run/systemd/system").exists():
        settings = factory.mktemp("containers") / "containers.conf"
        settings.write_text(_SETTINGS)
        monkeypatch.setenv("CONTAINERS_CONF", str(settings))
    if subprocess.run([program.path, "image", "inspect", _NAME], capture_output=True, check=False).returncode != 0:
        subprocess.run([program.path, "import", "-", _NAME], input=_root(busybox), capture_output=True, check=True)
    yield _NAME


def _root(busybox: str) -> bytes:
    names = subprocess.run([busybox, "--list"], capture_output=True, text=True, check=True).stdout.split()
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        archive.add(os.path.realpath(busybox), "bin/busybox")
        for name in {*names, "sh"} - {"busybox"}:
            link = tarfile.TarInfo(f"bin/{name}")
            link.type, link.linkname = tarfile.SYMTYPE, "busybox"
            archive.addfile(link)
        for directory in ("tmp", "proc", "etc", "usr"):
            made = tarfile.TarInfo(directory)
            made.type, made.mode = tarfile.DIRTYPE, 0o755
            archive.addfile(made)
    return packed.getvalue()
