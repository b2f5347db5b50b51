"""Objects in one SQLite database, in ordinary blocking code. Every method is one transaction, from any thread.

An object's content is a row of blocks under its version, and versions are never used twice. A large upload adds its
blocks under a version that no object has yet; the last step names it. A read holds a snapshot of its own, so that a
replacement meanwhile is not mixed in.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from moorage import ClosedError, NoSpaceError, PathNotFoundError, StorageError, UnavailableError
from moorage.objects import (
    ABSENT,
    Condition,
    CopyOptions,
    Matches,
    ObjectInfo,
    ObjectPage,
    PreconditionFailed,
    PutOptions,
)

BLOCK: Final = 1 << 20
"""Bytes of one block; only the last of an object is smaller."""

_WAIT: Final = 30.0
"""Seconds to wait for another process's transaction."""

_ABANDONED: Final = timedelta(days=1)
"""An upload this old was left by a process that is gone."""

_SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS objects (
    key TEXT PRIMARY KEY, version INTEGER NOT NULL, size INTEGER NOT NULL, modified INTEGER NOT NULL, media_type TEXT
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS blocks (
    version INTEGER NOT NULL, number INTEGER NOT NULL, data BLOB NOT NULL, PRIMARY KEY (version, number)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS uploads (
    version INTEGER PRIMARY KEY AUTOINCREMENT, begun INTEGER NOT NULL, size INTEGER NOT NULL DEFAULT 0
);
"""
_GET: Final = "SELECT key, version, size, modified, media_type FROM objects WHERE key = ?"
_LIST: Final = "SELECT key, version, size, modified, media_type FROM objects WHERE key >= ? ORDER BY key LIMIT ?"
_EPOCH: Final = datetime.fromtimestamp(0, UTC)


class Store:
    def __init__(self, file: Path) -> None:
        self._file = file
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None

    def open(self) -> None:
        with self._lock, _our_errors():
            if self._connection is not None:
                return
            _make_directory(self._file.parent)
            connection = _connect(self._file)
            try:
                connection.execute("PRAGMA journal_mode = WAL")
                connection.executescript(_SCHEMA)
            except BaseException:
                connection.close()
                raise
            self._connection = connection
        self._sweep()

    def close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def head(self, key: str) -> ObjectInfo:
        with self._transaction() as connection:
            return _get(connection, key)

    def snapshot(self, key: str, version: str | None) -> Snapshot:
        """One version of one object, which stays readable until the snapshot is closed."""
        with _our_errors():
            connection = _connect(self._file)
            try:
                connection.execute("BEGIN")
                info = _get(connection, key)
                if version is not None and info.version != version:
                    raise PreconditionFailed(key)
            except BaseException:
                connection.close()
                raise
            return Snapshot(connection, info)

    def put(self, key: str, data: bytes, options: PutOptions) -> ObjectInfo:
        with self._transaction() as connection:
            _check(connection, key, options.condition)
            version = _begin(connection)
            for start in range(0, len(data), BLOCK):
                _add(connection, version, data[start : start + BLOCK])
            return _finish(connection, version, key, options.media_type)

    def begin(self) -> int:
        with self._transaction() as connection:
            return _begin(connection)

    def add(self, version: int, block: bytes) -> None:
        with self._transaction() as connection:
            _add(connection, version, block)

    def finish(self, version: int, key: str, options: PutOptions) -> ObjectInfo:
        with self._transaction() as connection:
            _check(connection, key, options.condition)
            return _finish(connection, version, key, options.media_type)

    def abandon(self, version: int) -> None:
        with self._transaction() as connection:
            _abandon(connection, version)

    def delete(self, key: str, condition: Condition | None) -> None:
        with self._transaction() as connection:
            if not isinstance(condition, Matches):
                _get(connection, key)
            _check(connection, key, condition)
            _remove(connection, key)

    def delete_many(self, keys: Sequence[str]) -> None:
        with self._transaction() as connection:
            for key in keys:
                _remove(connection, key)

    def copy(self, src: str, dst: str, options: CopyOptions) -> ObjectInfo:
        with self._transaction() as connection:
            source = _source(connection, src, options)
            _check(connection, dst, options.condition)
            if src == dst and options.media_type is None:
                return source
            version = _begin(connection)
            connection.execute(
                "INSERT INTO blocks SELECT ?, number, data FROM blocks WHERE version = ?",
                (version, int(source.version)),
            )
            connection.execute("UPDATE uploads SET size = ? WHERE version = ?", (source.size, version))
            return _finish(connection, version, dst, options.media_type or source.media_type)

    def move(self, src: str, dst: str, options: CopyOptions) -> ObjectInfo:
        with self._transaction() as connection:
            source = _source(connection, src, options)
            _check(connection, dst, options.condition)
            if src != dst:
                _remove(connection, dst)
                connection.execute("UPDATE objects SET key = ? WHERE key = ?", (dst, src))
            return _get(connection, dst) if src != dst else source

    def page(self, prefix: str, delimiter: str | None, cursor: str, size: int) -> tuple[ObjectPage, str]:
        """At most ``size`` items whose keys are not below ``cursor``, and the cursor of the next page."""
        objects: list[ObjectInfo] = []
        prefixes: list[str] = []
        with self._transaction() as connection:
            while (room := size - len(objects) - len(prefixes)) > 0:
                rows = connection.execute(_LIST, (max(cursor, prefix), room)).fetchall()
                for row in rows:
                    key: str = row[0]
                    if not key.startswith(prefix):
                        return ObjectPage(tuple(objects), tuple(prefixes)), cursor
                    cut = key.find(delimiter, len(prefix)) if delimiter else -1
                    if delimiter and cut >= 0:
                        prefixes.append(key[: cut + len(delimiter)])
                        cursor = key[:cut] + chr(ord(delimiter) + 1)
                        break
                    objects.append(_info(row))
                    cursor = following(key)
                else:
                    if len(rows) < room:
                        return ObjectPage(tuple(objects), tuple(prefixes)), cursor
        return ObjectPage(tuple(objects), tuple(prefixes), more=True), cursor

    def _sweep(self) -> None:
        limit = _microseconds(datetime.now(UTC) - _ABANDONED)
        with self._transaction() as connection:
            for (version,) in connection.execute("SELECT version FROM uploads WHERE begun < ?", (limit,)).fetchall():
                _abandon(connection, version)

    @contextmanager
    def _transaction(self) -> Generator[sqlite3.Connection]:
        with self._lock, _our_errors():
            connection = self._connection
            if connection is None:
                raise ClosedError("the store is closed")
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
            except BaseException:
                connection.execute("ROLLBACK")
                raise
            connection.execute("COMMIT")


class Snapshot:
    """One version of one object, with a transaction of its own."""

    def __init__(self, connection: sqlite3.Connection, info: ObjectInfo) -> None:
        self._connection = connection
        self.info = info
        self.size = info.size or 0

    def read(self, start: int, end: int) -> bytes:
        """The bytes from ``start`` up to ``end``, which lie within the object."""
        if start >= end:
            return b""
        first = start // BLOCK
        with _our_errors():
            rows = self._connection.execute(
                "SELECT data FROM blocks WHERE version = ? AND number BETWEEN ? AND ? ORDER BY number",
                (int(self.info.version), first, (end - 1) // BLOCK),
            ).fetchall()
        return b"".join(row[0] for row in rows)[start - first * BLOCK : end - first * BLOCK]

    def close(self) -> None:
        self._connection.close()


def following(key: str) -> str:
    """The smallest text that is greater than ``key``."""
    return key + "\0"


def _make_directory(directory: Path) -> None:
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UnavailableError(f"the directory of the database cannot be made: {error.strerror}") from None


def _connect(file: Path) -> sqlite3.Connection:
    return sqlite3.connect(file, timeout=_WAIT, isolation_level=None, check_same_thread=False)


@contextmanager
def _our_errors() -> Generator[None]:
    """SQLite's errors, in the words that callers know. None of them shows the file's name."""
    try:
        yield
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode == sqlite3.SQLITE_FULL:
            raise NoSpaceError("the disk is full") from error
        raise UnavailableError(f"the database cannot be used: {error}") from error
    except sqlite3.Error as error:
        raise StorageError(f"the database failed: {error}") from error


def _get(connection: sqlite3.Connection, key: str) -> ObjectInfo:
    row = connection.execute(_GET, (key,)).fetchone()
    if row is None:
        raise PathNotFoundError("no such object")
    return _info(row)


def _info(row: tuple[str, int, int, int, str | None]) -> ObjectInfo:
    key, version, size, modified, media_type = row
    return ObjectInfo(key, size, str(version), _EPOCH + timedelta(microseconds=modified), media_type=media_type)


def _check(connection: sqlite3.Connection, key: str, condition: Condition | None) -> None:
    row = connection.execute(_GET, (key,)).fetchone()
    version = None if row is None else str(row[1])
    if isinstance(condition, Matches):
        holds = version == condition.version
    elif condition is ABSENT:
        holds = version is None
    else:
        holds = condition is None or version is not None
    if not holds:
        raise PreconditionFailed(key)


def _source(connection: sqlite3.Connection, key: str, options: CopyOptions) -> ObjectInfo:
    source = _get(connection, key)
    if options.source_version not in (None, source.version):
        raise PreconditionFailed(key)
    return source


def _begin(connection: sqlite3.Connection) -> int:
    now = _microseconds(datetime.now(UTC))
    version = connection.execute("INSERT INTO uploads (begun) VALUES (?)", (now,)).lastrowid
    if version is None:
        raise StorageError("the database gave no version")
    return version


def _add(connection: sqlite3.Connection, version: int, block: bytes) -> None:
    connection.execute(
        "INSERT INTO blocks SELECT ?, count(*), ? FROM blocks WHERE version = ?", (version, block, version)
    )
    connection.execute("UPDATE uploads SET size = size + ? WHERE version = ?", (len(block), version))


def _finish(connection: sqlite3.Connection, version: int, key: str, media_type: str | None) -> ObjectInfo:
    upload = connection.execute("SELECT size FROM uploads WHERE version = ?", (version,)).fetchone()
    if upload is None:
        raise UnavailableError("the upload took so long that it was given up")
    before = connection.execute("SELECT modified FROM objects WHERE key = ?", (key,)).fetchone()
    modified = max(_microseconds(datetime.now(UTC)), before[0] + 1 if before else 0)
    _remove(connection, key)
    connection.execute("INSERT INTO objects VALUES (?, ?, ?, ?, ?)", (key, version, upload[0], modified, media_type))
    connection.execute("DELETE FROM uploads WHERE version = ?", (version,))
    return _info((key, version, upload[0], modified, media_type))


def _abandon(connection: sqlite3.Connection, version: int) -> None:
    connection.execute("DELETE FROM blocks WHERE version = ?", (version,))
    connection.execute("DELETE FROM uploads WHERE version = ?", (version,))


def _remove(connection: sqlite3.Connection, key: str) -> None:
    connection.execute("DELETE FROM blocks WHERE version = (SELECT version FROM objects WHERE key = ?)", (key,))
    connection.execute("DELETE FROM objects WHERE key = ?", (key,))


def _microseconds(time: datetime) -> int:
    return (time - _EPOCH) // timedelta(microseconds=1)
