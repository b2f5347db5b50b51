"""Work in a thread, told in order, with nothing lost when the event loop ends."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable

import anyio
import pytest

from moorage_workspace.redaction import MASK, Gate, StreamGate
from moorage_workspace.sandbox.port import CommandResult
from moorage_workspace.tools.background import BackgroundProcesses, Listener, ProcessEvent
from moorage_workspace.tools.steps import Steps

pytestmark = pytest.mark.anyio

MIB = 1 << 20


@pytest.mark.parametrize("anyio_backend", ["asyncio", "trio"])
async def test_a_listeners_text_is_redacted_in_slices_in_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    slices: list[tuple[int, bool]] = []
    feed = StreamGate.feed

    def watched(gate: StreamGate, text: str) -> str:
        slices.append((len(text), threading.current_thread() is threading.main_thread()))
        return feed(gate, text)

    monkeypatch.setattr(StreamGate, "feed", watched)
    over = anyio.Event()
    heard: list[str] = []

    def hear(text: str, event: ProcessEvent) -> None:
        heard.append(text)

    def end(event: ProcessEvent) -> None:
        heard.append(f"end of {event.pid}: {event.stdout[-12:]}")
        over.set()

    wanted = BackgroundProcesses(on_stdout=hear, on_exit=end)
    listener = Listener(wanted, Gate(["swordfish"]))
    said = "".join(f"{number} swordfish\n" for number in range(100_000))
    room = listener.on_stdout(said)
    listener.on_exit(CommandResult(exit_code=0, stdout=said[-MIB:], stderr="", duration=1))
    assert (heard, slices) == ([], [])  # whose it is is not known yet
    listener.begin(7)
    assert room is not None
    await room
    await over.wait()
    assert "".join(heard[:-1]) == said.replace("swordfish", MASK)
    assert heard[-1] == f"end of 7: {said[-16:].replace('swordfish', MASK)[-12:]}"
    assert max(size for size, _ in slices) <= 1 << 16
    assert not any(in_loop for _, in_loop in slices)
    assert listener.on_stdout("") is None


async def test_what_an_ending_event_loop_leaves_is_done_at_once() -> None:
    steps = Steps(1)
    begun, go = threading.Event(), threading.Event()
    told: list[int] = []

    def slow() -> Callable[[], None]:
        begun.set()
        go.wait()
        return lambda: told.append(0)

    steps.add(slow)
    steps.add(lambda: lambda: told.append(1))
    steps.add(lambda: lambda: told.append(2))
    task = asyncio.create_task(steps.run())
    await anyio.to_thread.run_sync(begun.wait)
    threading.Timer(0.2, go.set).start()
    task.cancel()
    await asyncio.wait([task])
    assert told == [0, 1, 2]
    steps.add(lambda: lambda: told.append(3), size=5)
    assert told == [0, 1, 2, 3]
    assert steps.room is None


async def test_work_that_fails_keeps_nothing_up(caplog: pytest.LogCaptureFixture) -> None:
    steps = Steps(1)
    told: list[int] = []

    def fail() -> None:
        raise RuntimeError("broken")

    steps.add(lambda: fail, size=5)
    steps.add(fail, size=5)
    steps.add(lambda: lambda: told.append(1))
    rooms = [steps.room]
    steps.close()
    await steps.run()
    assert told == [1]
    assert [room is None for room in (*rooms, steps.room)] == [False, True]
    assert "could not be passed on" in caplog.text
    assert "a function of background_processes failed" in caplog.text
