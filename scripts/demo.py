"""The main job on real input: several storages as one safe tree, every claim measured against the real thing.

``scripts/demo`` runs it on this machine's disk; ``--s3`` and ``--gcs`` on servers of these kinds that it starts on
loopback ports and ends again; ``--workspace`` replays an agent at work. It needs no network and leaves nothing behind.
Exit code 0 when every claim holds, 1 when one does not.
"""

from __future__ import annotations

import argparse
import signal
import sys
import sysconfig
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="scripts/demo",
        description="Mounts a directory, memory, Python's standard library (read-only) and a directory per tenant as "
        "one tree, works in it, and checks everything it says against the real disk.",
        epilog="Exit code 0: every claim holds; 1: one does not. Example: scripts/demo --s3",
    )
    parser.add_argument("--s3", action="store_true", help="on buckets of a real S3 server instead")
    parser.add_argument("--gcs", action="store_true", help="on buckets of the project's own GCS server instead")
    parser.add_argument("--workspace", action="store_true", help="replay an agent at work, with tools and a sandbox")
    options = parser.parse_args(arguments)
    sys.dont_write_bytecode = True
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        return _tours(options, Path(sysconfig.get_paths()["stdlib"]))
    except KeyboardInterrupt:
        print("interrupted; nothing is left behind", file=sys.stderr)
        return 130


def _tours(options: argparse.Namespace, source: Path) -> int:
    if options.workspace:
        from scripts.demonstration.workspace_run import demonstrate_workspace

        return demonstrate_workspace()
    stores = [name for name in ("s3", "gcs") if getattr(options, name)]
    if not stores:
        from scripts.demonstration.run import demonstrate

        return demonstrate(source)
    from scripts.demonstration.bucket_run import demonstrate_store

    return max([demonstrate_store(name, source) for name in stores])


if __name__ == "__main__":
    sys.exit(main())
