"""What the package exports, and that importing it costs next to nothing."""

from __future__ import annotations

import ast
import inspect
import subprocess
import sys

import pytest

import moorage


def test_every_public_name_is_where_the_table_says_and_where_type_checkers_look() -> None:
    checked: dict[str, str] = {}
    for node in ast.walk(ast.parse(inspect.getsource(moorage))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("moorage."):
            checked |= {alias.name: (node.module or "").removeprefix("moorage.") for alias in node.names}
    assert checked == moorage._HOME
    assert sorted(moorage.__all__) == sorted(checked)
    for name in moorage.__all__:
        assert getattr(moorage, name) is not None
    assert set(moorage.__all__) <= set(dir(moorage))
    with pytest.raises(AttributeError, match="nothing_of_the_kind"):
        _ = moorage.nothing_of_the_kind


@pytest.mark.parametrize(
    ("statement", "absent"),
    [
        ("import moorage", ["moorage.errors", "dataclasses", "pydantic", "typer", "rich", "fsspec"]),
        (
            "from moorage import CompositeFilesystem",
            ["pydantic", "typer", "rich", "fsspec", "opentelemetry", "logging"],
        ),
        ("from moorage_local import LocalFilesystem", ["pydantic", "typer", "rich", "fsspec"]),
    ],
)
def test_what_an_import_does_not_load(statement: str, absent: list[str]) -> None:
    code = f"import sys; {statement}; print(*(name for name in {absent!r} if name in sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []
