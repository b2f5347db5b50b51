"""The error tree as a whole."""

from __future__ import annotations

import builtins
import errno
import inspect
import pickle
from collections.abc import Iterator
from copy import copy

import pytest

from moorage import MoorageError, PathNotFoundError, StaleFileError, TransferError, errors


def tree(root: type[MoorageError] = MoorageError) -> Iterator[type[MoorageError]]:
    for child in root.__subclasses__():
        if child.__module__ == errors.__name__:
            yield child
            yield from tree(child)


CLASSES = sorted(set(tree()), key=lambda each: each.__name__)


@pytest.mark.parametrize("kind", CLASSES)
def test_each_class_is_drawn_has_a_builtin_and_survives_pickling(kind: type[MoorageError]) -> None:
    assert kind.__name__ in (errors.__doc__ or "")
    assert kind.code in (errors.__doc__ or "")
    assert [base for base in kind.__mro__ if base.__module__ == "builtins" and base not in (Exception, object)]
    error = kind("what happened", operation="write", path="a//b", provider="s3", retryable=True)
    for again in (pickle.loads(pickle.dumps(error)), copy(error)):
        assert type(again) is kind
        assert vars(again) == vars(error)
        assert str(again) == str(error) == "what happened: 'a//b' [write] (s3)"
    if isinstance(error, OSError):
        assert error.errno in errno.errorcode


def test_codes_are_unique() -> None:
    codes = [kind.code for kind in CLASSES]
    assert len(set(codes)) == len(codes)


def test_every_class_of_the_module_is_public() -> None:
    import moorage

    assert {kind.__name__ for kind in CLASSES} <= set(moorage.__all__)
    assert all(not hasattr(builtins, kind.__name__) for kind in CLASSES)


def test_context_fills_gaps_and_never_overwrites_but_the_path() -> None:
    error = PathNotFoundError("gone", operation="read", path="/inner")
    assert error.with_context(operation="stat", path="/outer", provider="local") is error
    assert (error.operation, error.path, error.provider) == ("read", "/outer", "local")


def test_fields_are_keyword_only() -> None:
    for kind in CLASSES:
        positional = [
            name
            for name, parameter in inspect.signature(kind).parameters.items()
            if parameter.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD
        ]
        assert positional == ["message"], kind


def test_what_some_carry_beside() -> None:
    stale = pickle.loads(pickle.dumps(StaleFileError("changed", expected="1", actual="2")))
    assert (stale.expected, stale.actual) == ("1", "2")
    inner = PathNotFoundError("gone", path="/b")
    transfer = pickle.loads(pickle.dumps(TransferError("part", done=("/a",), failed=(("/b", inner),))))
    assert (transfer.done, transfer.failed[0][0], transfer.failed[0][1].path) == (("/a",), "/b", "/b")
