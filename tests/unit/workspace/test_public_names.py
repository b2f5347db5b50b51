"""What the package exports, and that importing it loads nothing else."""

from __future__ import annotations

import ast
import inspect
import subprocess
import sys

import pytest

import moorage_workspace


def test_every_public_name_is_where_the_table_says_and_where_type_checkers_look() -> None:
    checked: dict[str, str] = {}
    for node in ast.walk(ast.parse(inspect.getsource(moorage_workspace))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("moorage_workspace."):
            checked |= {alias.name: (node.module or "").removeprefix("moorage_workspace.") for alias in node.names}
    assert checked == moorage_workspace._HOME
    assert sorted(moorage_workspace.__all__) == sorted(checked)
    for name in moorage_workspace.__all__:
        assert getattr(moorage_workspace, name) is not None
    assert set(moorage_workspace.__all__) <= set(dir(moorage_workspace))
    with pytest.raises(AttributeError, match="nothing_of_the_kind"):
        _ = moorage_workspace.nothing_of_the_kind


@pytest.mark.parametrize(
    ("statement", "absent"),
    [
        ("import moorage_workspace", ["moorage", "pydantic", "anyio", "tiktoken", "opentelemetry"]),
        ("from moorage_workspace import Workspace", ["tiktoken", "opentelemetry", "typer", "rich", "fsspec"]),
    ],
)
def test_what_an_import_does_not_load(statement: str, absent: list[str]) -> None:
    code = f"import sys; {statement}; print(*(name for name in {absent!r} if name in sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []
