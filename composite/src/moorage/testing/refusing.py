"""Say exactly which refusal is due."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Generic, TypeVar

import pytest

from moorage import MoorageError

E = TypeVar("E", bound=MoorageError)


@dataclass(slots=True)
class Refusal(Generic[E]):
    """The error that the block raised; there once the block has ended."""

    raised: list[E] = field(default_factory=list[E])

    @property
    def error(self) -> E:
        return self.raised[0]


@contextmanager
def refused(kind: type[E], *, path: str | None = None, operation: str | None = None) -> Generator[Refusal[E]]:
    """The block must raise exactly ``kind``, not a class below it, with its code, and with this path if given."""
    refusal = Refusal[E]()
    with pytest.raises(MoorageError) as caught:
        yield refusal
    error = caught.value
    assert type(error) is kind, f"{kind.__name__} was due, not {error!r} [{error.path}]"
    assert error.code == kind.code
    if path is not None:
        assert error.path == path
    if operation is not None:
        assert error.operation == operation
    check_discreet(error)
    refusal.raised.append(error)


def check_discreet(error: MoorageError) -> None:
    """Neither the error nor what caused it names a place of the machine this runs on."""
    places = {os.path.expanduser("~"), os.getcwd(), tempfile.gettempdir()} - {"/"}
    told: BaseException | None = error
    text = f"{error.message} {error.args!r}"
    while told is not None:
        for place in places:
            assert f"{place}/" not in text, f"names a place of this machine: {text}"
        told = told.__cause__
        text = str(told)
