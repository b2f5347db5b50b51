"""seaweedfs: a real S3 server that checks signatures, enforces conditions atomically, and knows several identities."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Final

from tests.servers.ports import LOOPBACK, free_ports
from tests.servers.processes import enter_one, installed, running
from tests.servers.s3_server import ADMIN, BUCKET, S3Server, UnexpectedAnswerError
from tests.servers.signing import Identity

READER: Final = Identity("readkey", "readsecret")
TEAM: Final = Identity("teamkey", "teamsecret")
TEAM_PREFIX: Final = "team/"
PARTS: Final = ("s3", "filer", "master", "volume", "admin")
# Every bucket takes volumes of its own, by default seven at once and of few there are: one at a time, and many.
ONE_VOLUME_AT_A_TIME: Final = {"WEED_MASTER_VOLUME_GROWTH_COPY_1": "1"}
VOLUMES: Final = 5000
OFF: Final = ("-admin.ui=false", "-webdav=false", "-s3.iam=false", "-s3.port.iceberg=0", "-s3.port.lance=0")


@contextmanager
def running_seaweedfs() -> Iterator[S3Server]:
    """A server of its own, with an empty bucket ``bucket1``; its data are thrown away.

    Raises:
        ServerError: it is not installed, or did not start.
    """
    with ExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory(ignore_cleanup_errors=True)))
        config = directory / "identities.json"
        config.write_text(json.dumps({"identities": _identities()}), encoding="utf-8")
        yield enter_one(stack, lambda: _attempt(directory, config))


def _identities() -> list[dict[str, Any]]:
    where = f"{BUCKET}/{TEAM_PREFIX}*"
    rights = {
        ADMIN: ["Admin", "Read", "List", "Tagging", "Write"],
        READER: ["Read", "List"],
        TEAM: [f"{action}:{where}" for action in ("Read", "List", "Tagging", "Write")],
    }
    return [
        {
            "name": each.access_key_id,
            "credentials": [{"accessKey": each.access_key_id, "secretKey": each.secret_access_key}],
            "actions": actions,
        }
        for each, actions in rights.items()
    ]


@contextmanager
def _attempt(directory: Path, config: Path) -> Iterator[S3Server]:
    data = tempfile.mkdtemp(dir=directory)
    ports = free_ports(2 * len(PARTS))
    server = S3Server(ports[0], reader=READER, team=TEAM, master_port=ports[PARTS.index("master")])
    command: list[str | Path] = [
        installed("weed"), "-logtostderr=true", "mini", f"-dir={data}",
        f"-ip={LOOPBACK}", f"-ip.bind={LOOPBACK}", f"-s3.config={config}", *OFF, f"-volume.max={VOLUMES}",
        *(f"-{part}.port={port}" for part, port in zip(PARTS, ports[: len(PARTS)], strict=True)),
        *(f"-{part}.port.grpc={port}" for part, port in zip(PARTS, ports[len(PARTS) :], strict=True)),
    ]  # fmt: skip
    with running(command, lambda: _serves(server), environment={"S3_BUCKET": BUCKET, **ONE_VOLUME_AT_A_TIME}):
        yield server


def _serves(server: S3Server) -> bool:
    """Whether the bucket takes an object and gives it back: it does so some time after the port answers."""
    try:
        server.put(".ready", b"yes")
        server.delete(".ready")
    except (UnexpectedAnswerError, KeyError):
        return False
    return True
