"""Settings of every test: what counts as slow, and which event loop async tests run on."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from typing import Any

import pytest

pytest_plugins = ["tests.servers.fixtures"]
LEFT_OUT = pytest.StashKey[int]()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--slow", action="store_true", help="run the tests marked slow, too")


def pytest_configure(config: pytest.Config) -> None:
    config.stash[LEFT_OUT] = 0


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--slow"):
        return
    slow = [item for item in items if item.get_closest_marker("slow")]
    if slow:
        config.hook.pytest_deselected(items=slow)
        items[:] = [item for item in items if not item.get_closest_marker("slow")]
    config.stash[LEFT_OUT] = len(slow)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Tell the process that prints the summary, where this one only runs its share of the tests."""
    output: dict[str, Any] | None = getattr(session.config, "workeroutput", None)
    if output is not None:
        output["slow_left_out"] = session.config.stash[LEFT_OUT]


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    left_out: int = getattr(node, "workeroutput", {}).get("slow_left_out", 0)
    node.config.stash[LEFT_OUT] = max(node.config.stash[LEFT_OUT], left_out)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    left_out = terminalreporter.config.stash[LEFT_OUT]
    if left_out:
        terminalreporter.write_line(f"{left_out} slow tests were left out; --slow runs them, too")


@pytest.fixture
def interruptible() -> Iterator[None]:
    """Ctrl-C means what it means on a terminal, here and in processes started here, also where the run itself was
    started with it ignored, as `nohup` and a shell's `&` do.
    """
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def anyio_backend() -> str:
    """Async tests, marked with `pytest.mark.anyio`, run on asyncio unless they ask for another backend."""
    return "asyncio"
