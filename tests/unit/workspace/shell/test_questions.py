"""What a person at the terminal may answer."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.workspace.on_memory import ASK
from tests.unit.workspace.shell.test_loop import Terminal

from moorage_local import LocalFilesystem
from moorage_workspace import Workspace
from moorage_workspace.shell.loop import Shell

pytestmark = pytest.mark.anyio


async def test_always_is_no_answer_where_no_rule_can_be_kept(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    terminal = Terminal(["always", "y"])
    workspace = Workspace(filesystem=LocalFilesystem(tmp_path), tools=ASK)
    async with workspace, workspace.session() as session:
        shell = Shell(session, terminal.screen, terminal.read_line)
        session.approver = shell.approve
        assert await shell.obey("write_file /link/a x")
        assert list(session.rules) == []
    assert terminal.text.count("[y]es, [n]o? \n") == 2
    assert "y or n" in terminal.text
    assert "always" not in terminal.text
