"""Sandboxes with one mistake each, and the tests of the suite that must notice it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from subprocess import DEVNULL, PIPE
from typing import Final

import anyio

from moorage_workspace import (
    CommandResult,
    ExecuteOptions,
    LocalSandbox,
    Sandbox,
    SandboxInfo,
    SandboxMount,
)


class LeavesDaemons(LocalSandbox):
    """Ends the shell at the time limit, and nothing that it started."""

    async def execute_command(
        self, command: str, args: Sequence[str] | None = None, options: ExecuteOptions | None = None
    ) -> CommandResult:
        limit = (options or ExecuteOptions()).timeout
        directory = self.get_info().working_directory
        words = ["/bin/sh", "-c", command] if args is None else [command, *args]
        process = await anyio.open_process(words, stdin=DEVNULL, stdout=PIPE, stderr=DEVNULL, cwd=directory)
        with anyio.move_on_after(limit) as scope:
            await process.wait()
        if scope.cancelled_caught:
            process.kill()
        with anyio.CancelScope(shield=True):
            await process.aclose()
        code = process.returncode or 0
        return CommandResult(
            exit_code=code if code >= 0 else 128 - code,
            stdout="",
            stderr="",
            duration=0,
            timed_out=scope.cancelled_caught,
            killed=scope.cancelled_caught,
        )


class RunsAnywhere(LocalSandbox):
    """Takes any directory to run in."""

    async def execute_command(
        self, command: str, args: Sequence[str] | None = None, options: ExecuteOptions | None = None
    ) -> CommandResult:
        options = options or ExecuteOptions()
        if options.cwd is not None:
            command, options = f"cd '{options.cwd}'; {command}", replace(options, cwd=None)
        return await super().execute_command(command, args, options)


class MountsWritable(LocalSandbox):
    """Says that a mount is read-only, and lets everybody write."""

    async def mount(self, path: str, source: str, *, read_only: bool) -> SandboxMount:
        return replace(await super().mount(path, source, read_only=False), read_only=read_only)


class CountsNothing(LocalSandbox):
    """Drops output without a word."""

    async def execute_command(
        self, command: str, args: Sequence[str] | None = None, options: ExecuteOptions | None = None
    ) -> CommandResult:
        result = await super().execute_command(command, args, options)
        return replace(result, dropped_stdout=0, dropped_stderr=0)


class ClaimsIsolation(LocalSandbox):
    """Isolates nothing, and says otherwise."""

    def get_info(self) -> SandboxInfo:
        return replace(super().get_info(), isolation="perfect")


CAUGHT: Final[dict[type[Sandbox], tuple[str, ...]]] = {
    LeavesDaemons: ("test_the_time_limit_ends_the_whole_tree", "test_a_daemon_without_its_environment_ends_too"),
    RunsAnywhere: ("test_nothing_leads_out[..]", "test_nothing_leads_out[/etc]", "test_nothing_leads_out[out]"),
    MountsWritable: ("test_nothing_can_be_written_through_a_read_only_one",),
    CountsNothing: ("test_the_end_is_kept_and_what_was_dropped_is_counted[stdout]",),
    ClaimsIsolation: ("test_files_of_this_machine_are_out_of_reach", "test_nothing_can_be_written_outside"),
}
