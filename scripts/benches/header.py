"""On what the figures were measured; no names or paths of the machine."""

from __future__ import annotations

import os
import platform
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Final

_PACKAGES: Final = ("moorage-core", "moorage-local", "anyio", "pluggy", "fsspec")
_CLIENTS: Final = ("moorage-s3", "moorage-gcs", "aiobotocore", "aiohttp", "gcsfs", "obstore", "s3fs")
_PROCESSORS: Final = Path("/proc/cpuinfo")


def describe(file_system: str, *, quick: bool, stores: bool = False) -> dict[str, str]:
    names = (*_PACKAGES, *_CLIENTS) if stores else _PACKAGES
    packages = ", ".join(f"{name} {version(name)}" for name in names)
    described = {
        "machine": f"{platform.machine()}, {_processor()}, {os.cpu_count()} cores",
        "kernel": f"{platform.system()} {platform.release().partition('-')[0]}",
        "file system": file_system,
        "python": f"{platform.python_implementation()} {platform.python_version()} ({sys.platform})",
        "packages": packages,
        "load": f"{os.getloadavg()[0]:.1f} processes were running in the minute before",
    }
    return described | ({"sizes": "--quick: a smoke run whose figures mean nothing"} if quick else {})


def _processor() -> str:
    """The model, where the system tells it."""
    try:
        lines = _PROCESSORS.read_text().splitlines()
    except OSError:
        return platform.processor() or "unknown processor"
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return models[0] if models else "unknown processor"
