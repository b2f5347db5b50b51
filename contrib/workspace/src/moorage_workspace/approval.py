"""Asking a person before a call happens: the port, the question, and the rules that answer for a whole session."""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, field
from json import dumps
from typing import cast

from moorage import InvalidArgumentError, StoragePath
from moorage_workspace.checks import ARGUMENTS


@dataclass(frozen=True, slots=True)
class ApprovalRule:
    """What a kept approval covers: calls of one tool, below one directory, at exact paths, or with one exact command.

    Nothing that a link leads to is covered by its path.

    Attributes:
        tool: the tool's key.
        below: every target of a call must lie below it, both as written and as stored.
        command: the exact command; ``None`` for a tool without one.
        cwd: where the command is run, as written; ``None`` for where commands run by default.
        background: the command is run in the background.
        path: the first target of a call must be this.
        whole_directories: directories may be taken with all that is in them.
        further: with ``path``: the other targets of the call, in its order, as a copy's destination; else it has none.

    Raises:
        InvalidArgumentError: a value is of another kind, more than one of ``below``, ``path`` and ``command`` is
            given, or ``further`` without ``path``.
    """

    tool: str
    below: StoragePath | None = None
    command: str | None = None
    cwd: str | None = None
    background: bool = False
    path: StoragePath | None = None
    whole_directories: bool = False
    further: tuple[StoragePath, ...] = ()

    def __post_init__(self) -> None:
        ARGUMENTS.text("tool", self.tool)
        for name, path in (("below", self.below), ("path", self.path)):
            if not isinstance(cast("object", path), StoragePath | None):
                raise ARGUMENTS.wrong(name, "a StoragePath", path)
        for name, text in (("command", self.command), ("cwd", self.cwd)):
            if not isinstance(cast("object", text), str | None):
                raise ARGUMENTS.wrong(name, "a text", text)
        ARGUMENTS.flag("background", self.background)
        ARGUMENTS.flag("whole_directories", self.whole_directories)
        if [self.below, self.path, self.command].count(None) < 2:
            raise InvalidArgumentError("a rule is for what is below a directory, for a path or for a command: give one")
        if not all(isinstance(cast("object", path), StoragePath) for path in ARGUMENTS.listed("further", self.further)):
            raise ARGUMENTS.wrong("further", "a list of StoragePath", self.further)
        if self.further and self.path is None:
            raise InvalidArgumentError("further are the paths after the first one: give that as path")

    def __str__(self) -> str:
        whole = ", directories with all that is in them too" if self.whole_directories else ""
        if self.path is not None:
            order = " in this order" if self.further else ""
            return f"{self.tool} of {', '.join(map(str, (self.path, *self.further)))}{order} only{whole}"
        if self.below is not None:
            return f"{self.tool} under {str(self.below).rstrip('/')}/**{whole}"
        where = f" in {dumps(self.cwd, ensure_ascii=False)}" if self.cwd is not None else ""
        how = " in the background" if self.background else ""
        return f"{self.tool}{where}{how}: {self.command}" if self.command is not None else self.tool


@dataclass(frozen=True, slots=True)
class ApprovalRequest:
    """The question. Everything in it is redacted; nothing in it is a host path.

    Characters that cannot be seen or that turn the text around them are spelled out everywhere (``\\u{202e}``); only
    ``diff`` and ``arguments`` have line feeds and tabs.

    Attributes:
        id: unique; what an application shows and answers by.
        tool: the exposed name.
        key: the tool's key.
        paths: the targets, resolved: what is read first.
        arguments: as validated.
        summary: one line; it names the links on the way to the targets.
        diff: a unified diff of every file that would change, or ``""``.
        byte_count: of what would be written.
        rule: the rule that :meth:`Approval.for_session` keeps, in words; exactly this is applied from then on. ``""``
            where none can be kept: a link leads elsewhere.
        context: of the request, so that an application can tell its tenants apart.
    """

    tool: str
    key: str
    paths: tuple[str, ...]
    arguments: Mapping[str, object]
    summary: str
    diff: str
    byte_count: int
    rule: str
    session_id: str
    context: Mapping[str, object] = field(default_factory=dict[str, object], repr=False)
    id: str = field(default_factory=lambda: secrets.token_urlsafe(12))


@dataclass(frozen=True, slots=True)
class Approval:
    """The answer.

    Attributes:
        approved: whether the call may happen.
        keep: apply the request's rule for the rest of the session.
        reason: words for the model when refused.

    Raises:
        InvalidArgumentError: a value is of another kind: ``"no"`` must not count as a yes.
    """

    approved: bool
    keep: bool = False
    reason: str = ""

    def __post_init__(self) -> None:
        ARGUMENTS.flag("approved", self.approved)
        ARGUMENTS.flag("keep", self.keep)
        if not isinstance(cast("object", self.reason), str):
            raise ARGUMENTS.wrong("reason", "a text", self.reason)

    @classmethod
    def once(cls) -> Approval:
        return cls(True)

    @classmethod
    def for_session(cls) -> Approval:
        return cls(True, keep=True)

    @classmethod
    def refused(cls, reason: str = "") -> Approval:
        return cls(False, reason=reason)


Approver = Callable[[ApprovalRequest], Awaitable[Approval]]
"""How an application answers. It may take its time; after ``approval_timeout`` it is cancelled: the answer is no.

One that fails, or gives anything but an :class:`Approval`, has not approved: the call is refused, and why is logged.
"""


class ApprovalRules:
    """The rules that were kept in one session; an application may keep its own from the start."""

    def __init__(self) -> None:
        self._rules: list[ApprovalRule] = []

    def keep(self, rule: ApprovalRule) -> None:
        if rule not in self._rules:
            self._rules.append(rule)

    def drop(self, rule: ApprovalRule) -> None:
        """Ask again from now on. Nothing happens where the rule is not kept."""
        if rule in self._rules:
            self._rules.remove(rule)

    def __iter__(self) -> Iterator[ApprovalRule]:
        return iter(tuple(self._rules))


def suggested_rule(
    key: str, paths: tuple[StoragePath, ...], arguments: Mapping[str, object], *, whole_directories: bool = False
) -> ApprovalRule:
    """Its tool below the directory that holds all its paths; where only the root does, for those paths alone."""
    if not paths:
        command, cwd = arguments.get("command"), arguments.get("cwd")
        return ApprovalRule(
            key,
            command=command if isinstance(command, str) else None,
            cwd=cwd if isinstance(cwd, str) else None,
            background=arguments.get("background") is True,
        )
    common = paths[0].parent
    while not (common.is_root or all(path.is_below(common) for path in paths)):
        common = common.parent
    if common.is_root:
        return ApprovalRule(key, path=paths[0], whole_directories=whole_directories, further=paths[1:])
    return ApprovalRule(key, below=common, whole_directories=whole_directories)
