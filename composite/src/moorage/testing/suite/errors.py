"""What an error tells: its class, its code, what was done, where as the caller wrote it, and by whom."""

from __future__ import annotations

import pickle

import pytest

from moorage import (
    DirectoryNotEmptyError,
    Filesystem,
    MoorageError,
    PathExistsError,
    PathIsDirectoryError,
    PathNotDirectoryError,
    PathNotFoundError,
    StaleFileError,
)
from moorage.testing.harness import Harness
from moorage.testing.suite.calls import mutating_calls, reading_calls

OPERATIONS = {
    "exists": "stat",
    "is_file": "stat",
    "is_dir": "stat",
    "read_bytes": "read",
    "read_text": "read",
    "open_read": "read",
    "list_dir": "list",
    "scan_dir": "list",
    "write_bytes": "write",
    "write_text": "write",
    "write_stream": "write",
    "append_bytes": "append",
    "append_text": "append",
    "move away": "move",
}


class Errors(Harness):
    async def test_missing_is_said_by_every_method_with_the_path_as_it_was_written(self, fs: Filesystem) -> None:
        missing = "dir//missing/"
        calls = reading_calls(fs, missing) | mutating_calls(fs, missing)
        for name in ("stat", "read_bytes", "read_text", "open_read", "list_dir", "scan_dir", "walk", "du", "delete",
                     "move away", "remove_dir"):  # fmt: skip
            with pytest.raises(MoorageError) as caught:
                await calls[name]()
            self._check_error(fs, caught.value, PathNotFoundError, missing, OPERATIONS.get(name, name))

    async def test_every_refusal_has_its_class_code_operation_and_provider(self, fs: Filesystem) -> None:
        await self.put("/dir/file")
        await self.put("/dir/file2")
        cases = (
            (fs.read_bytes("dir/"), PathIsDirectoryError, "dir/", "read"),
            (fs.write_bytes("./dir", b""), PathIsDirectoryError, "./dir", "write"),
            (fs.delete("//dir"), PathIsDirectoryError, "//dir", "delete"),
            (fs.copy("dir", "/new"), PathIsDirectoryError, "dir", "copy"),
            (fs.write_bytes("dir/./file", b"", overwrite=False), PathExistsError, "dir/./file", "write"),
            (fs.copy("/dir/file", "dir//file2", overwrite=False), PathExistsError, "dir//file2", "copy"),
            (fs.make_dir("dir/", exist_ok=False), PathExistsError, "dir/", "make_dir"),
            (fs.make_dir("dir/file/", exist_ok=True), PathExistsError, "dir/file/", "make_dir"),
            (fs.list_dir("dir/file/"), PathNotDirectoryError, "dir/file/", "list"),
            (fs.remove_dir("dir/file/"), PathNotDirectoryError, "dir/file/", "remove_dir"),
            (fs.remove_dir("./dir"), DirectoryNotEmptyError, "./dir", "remove_dir"),
        )
        for awaitable, kind, path, operation in cases:
            with pytest.raises(MoorageError) as caught:
                await awaitable
            self._check_error(fs, caught.value, kind, path, operation)

    async def test_an_error_survives_pickling(self, fs: Filesystem) -> None:
        with pytest.raises(MoorageError) as caught:
            await fs.read_bytes("gone//away")
        restored = pickle.loads(pickle.dumps(caught.value))  # noqa: S301 (our own)
        assert type(restored) is type(caught.value)
        assert str(restored) == str(caught.value)
        assert (restored.code, restored.path, restored.operation) == ("not_found", "gone//away", "read")

    async def test_a_stale_error_survives_pickling_with_what_was_expected(self, fs: Filesystem) -> None:
        if (await fs.capabilities("/")).conditional_write == "none":
            return
        await fs.write_bytes("/file", b"x")
        with pytest.raises(StaleFileError) as caught:
            await fs.write_bytes("/file", b"y", expected_version="never given")
        restored = pickle.loads(pickle.dumps(caught.value))  # noqa: S301 (our own)
        assert (restored.expected, restored.actual) == (caught.value.expected, caught.value.actual)

    def _check_error(
        self, fs: Filesystem, error: MoorageError, kind: type[MoorageError], path: str, operation: str
    ) -> None:
        assert type(error) is kind, f"{kind.__name__} was due, not {error!r}"
        assert (error.code, error.path, error.operation) == (kind.code, path, operation)
        assert error.provider == (self.reported_as or fs.provider.scheme)
        assert error.retryable is kind.retryable_by_default
        if isinstance(error, OSError):
            assert error.errno == kind.errno_value
