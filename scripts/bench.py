"""Prints how fast Moorage is, each row a ratio to a yardstick measured in the same run. See docs/benchmarks.md."""

from __future__ import annotations

import argparse
import json
import signal
import sys
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Final

import anyio

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from scripts.benches import (
    agent_tools,
    header,
    importing,
    large_file,
    loop_gap,
    many_entries,
    router,
    small_files,
    trees,
)
from scripts.benches.place import NoPlaceError, fresh
from scripts.benches.rows import Row, Setting, heading
from scripts.benches.stores import measure as stores
from scripts.benches.stores.comparing import WrongResultError
from scripts.benches.stores.reference import PACKAGES, NodeError

GROUPS: Final[dict[str, tuple[Callable[[Setting], Awaitable[None]], str]]] = {
    "router": (router.measure, "a call through 30 mounts, and through the user's class"),
    "small-files": (small_files.measure, "single operations on 10,000 local files of 1 KiB"),
    "large-file": (large_file.measure, "1 GiB written, read, copied across mounts: speed and memory"),
    "many-entries": (many_entries.measure, "one directory of 200,000 entries"),
    "trees": (trees.measure, "a tree of 5,000 files listed and removed"),
    "loop-gap": (loop_gap.measure, "how long the event loop stands still under load"),
    "import": (importing.measure, "what `import moorage` costs"),
}
STORES: Final[dict[str, tuple[Callable[[Setting], Awaitable[None]], str]]] = {
    "s3": (stores.measure_s3, "S3: small objects, large ones, listings, trees and tenants, on seaweedfs"),
    "gcs": (stores.measure_gcs, "the same on GCS, on the project's own server"),
}
TOOLS: Final[dict[str, tuple[Callable[[Setting], Awaitable[None]], str]]] = {
    "workspace": (agent_tools.measure, "an agent's tools: grep and list_files over 100,000 files, calls, a large edit"),
}


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parse(arguments)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        return _run(options)
    except (NoPlaceError, NodeError, WrongResultError, agent_tools.NoRipgrepError) as error:
        print(f"bench: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("bench: interrupted", file=sys.stderr)
        return 130


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    groups = "\n".join(f"  {name:14}{text}" for name, (_, text) in GROUPS.items())
    tools = "\n".join(f"  --{name:12}{text}" for name, (_, text) in TOOLS.items())
    servers = "\n".join(f"  --{name:12}{text}" for name, (_, text) in STORES.items())
    parser = argparse.ArgumentParser(
        prog="scripts/bench",
        description=__doc__,
        epilog=f"groups:\n{groups}\n\nor, on servers that it starts:\n{servers}\n\nor:\n{tools}\n\n"
        "examples: scripts/bench --only small-files --ext4; scripts/bench --s3 --gcs --reference ./node",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--only", metavar="NAME", action="append", choices=GROUPS, help="one group; may be repeated")
    parser.add_argument("--quick", action="store_true", help="small sizes, one repetition: does it run, not how fast")
    parser.add_argument("--json", action="store_true", help="one JSON object in place of the table")
    for name in STORES:
        parser.add_argument(f"--{name}", action="store_true", help="on such a store; without --only nothing else")
    for name in TOOLS:
        parser.add_argument(f"--{name}", action="store_true", help="this; without --only nothing else")
    parser.add_argument(
        "--reference",
        metavar="DIRECTORY",
        type=Path,
        help="where `npm install @mastra/core @mastra/s3 @mastra/gcs node@22` ran, to compare with these, too",
    )
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--directory", type=Path, help="measure in a directory made in there (default: tmpfs)")
    where.add_argument("--ext4", action="store_true", help="measure on a fresh, loop-mounted ext4; needs root")
    return parser.parse_args(arguments)


def _run(options: argparse.Namespace) -> int:
    rows: list[Row] = []
    wanted = [name for name in STORES if getattr(options, name)]
    tools = [name for name in TOOLS if getattr(options, name)]
    local: list[str] = options.only or ([] if wanted or tools else list(GROUPS))
    with fresh(options.directory, ext4=options.ext4) as place:
        described = header.describe(place.file_system, quick=options.quick, stores=bool(wanted))
        described |= {PACKAGES[name]: stores.reference_state(name, options.reference) for name in wanted}
        if not options.json:
            print("\n".join(f"{name}: {text}" for name, text in described.items()))
            print(f"\n{heading()}", flush=True)
        for name in (*local, *wanted, *tools):
            directory = place.directory / name
            directory.mkdir(exist_ok=True)
            emit = rows.append if options.json else _print_row
            measure, _ = {**GROUPS, **STORES, **TOOLS}[name]
            anyio.run(measure, Setting(directory, options.quick, emit, options.reference))
    if options.json:
        print(json.dumps({"header": described, "rows": [row.as_json() for row in rows]}, indent=2, ensure_ascii=False))
    return 0


def _print_row(row: Row) -> None:
    print(row.as_line(), flush=True)


if __name__ == "__main__":
    sys.exit(main())
