"""Times, versions, options, locks, and what importing costs."""

from __future__ import annotations

import os
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moorage import ConfigError, ReadOnly, open_url
from moorage_local import LocalFilesystem
from moorage_local.locks import Contended, DirectoryLock
from moorage_local.options import LocalOptions
from moorage_local.stats import later_than, time_of

EPOCH = datetime.fromtimestamp(0, UTC)


@given(st.integers(min_value=-(2**62), max_value=2**63))
def test_times_are_floored_exactly(nanoseconds: int) -> None:
    time = time_of(nanoseconds)
    assert time is not None
    microseconds = (time - EPOCH) // timedelta(microseconds=1)
    assert microseconds * 1000 <= nanoseconds < (microseconds + 1) * 1000
    following = time_of(later_than(nanoseconds))
    assert following == time + timedelta(microseconds=1)


def test_a_time_beyond_the_calendar_is_none() -> None:
    assert time_of(10**30) is None
    assert time_of(-(10**30)) is None


def test_importing_is_cheap() -> None:
    code = "import moorage_local, sys; print(*[m for m in ('pydantic', 'trio', 'fsspec') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == ""


def test_options_build_what_they_say(tmp_path: Path) -> None:
    options = LocalOptions(base_path=tmp_path, read_only=True, display_name="Notes", durable=True)
    fs = options.build()
    assert isinstance(fs, LocalFilesystem)
    assert isinstance(fs.provider, ReadOnly)
    assert (fs.info().read_only, fs.info().labels.display_name) == (True, "Notes")
    assert LocalOptions(base_path=Path("~/x")).base_path == Path.home() / "x"


@pytest.mark.parametrize(
    ("url", "path"), [("local:///a/b%20c", "/a/b c"), ("local://./rel", "rel"), ("local:///a?durable=true", "/a")]
)
def test_urls_name_a_path(url: str, path: str) -> None:
    from urllib.parse import urlsplit

    found = LocalOptions.from_url(urlsplit(url))["base_path"]
    assert Path(str(found)) == Path(path)


@pytest.mark.parametrize("url", ["local://host/path", "local://", "local:///a%00b"])
def test_urls_that_make_no_sense_are_refused(url: str) -> None:
    with pytest.raises(ConfigError):
        open_url(url)


def test_a_lock_excludes_others_and_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    a, b, again = (os.open(tmp_path / name, os.O_RDONLY) for name in ("a", "b", "a"))
    try:
        with DirectoryLock(a, b) as lock:
            assert not lock.is_one
            with pytest.raises(Contended), DirectoryLock(again):
                pytest.fail("two at once")
        with DirectoryLock(again, a) as lock:
            assert lock.is_one
    finally:
        for handle in (a, b, again):
            os.close(handle)
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["a", "b"]
