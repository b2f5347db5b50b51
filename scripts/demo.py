"""The main job on real input: several storages as one safe tree, every claim measured against the real disk.

``scripts/demo`` runs it; it takes no arguments, needs no network, and leaves nothing behind. Exit code 0 when every
claim holds, 1 when one does not.
"""

from __future__ import annotations

import argparse
import signal
import sys
import sysconfig
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from scripts.demonstration.run import demonstrate


def main(arguments: list[str] | None = None) -> int:
    argparse.ArgumentParser(
        prog="scripts/demo",
        description="Mounts a directory, memory, Python's standard library (read-only) and a directory per tenant as "
        "one tree, works in it, and checks everything it says against the real disk.",
        epilog="Takes no arguments. Exit code 0: every claim holds; 1: one does not. Example: scripts/demo",
    ).parse_args(arguments)
    sys.dont_write_bytecode = True
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        return demonstrate(Path(sysconfig.get_paths()["stdlib"]))
    except KeyboardInterrupt:
        print("interrupted; nothing is left behind", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
