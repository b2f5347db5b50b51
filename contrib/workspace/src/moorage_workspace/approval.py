"""Asking a person before a call happens: the port, the question, and the rules that answer for a whole session."""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, field
from json import dumps

from moorage import StoragePath


@dataclass(frozen=True, slots=True)
class ApprovalRule:
    """What a kept approval covers: calls of one tool, below one directory, at one path, or with one exact command.

    Nothing that a link leads to is covered by its path.

    Attributes:
        tool: the tool's key.
        below: every target of a call must lie below it, both as written and as stored.
        command: the exact command; ``None`` for a tool without one.
        cwd: where the command is run, as written; ``None`` for where commands run by default.
        background: the command is run in the background.
        path: the only target of a call must be this.
        whole_directories: directories may be taken with all that is in them.
    """

    tool: str
    below: StoragePath | None = None
    command: str | None = None
    cwd: str | None = None
    background: bool = False
    path: StoragePath | None = None
    whole_directories: bool = False

    def __str__(self) -> str:
        whole = ", directories with all that is in them too" if self.whole_directories else ""
        if self.path is not None:
            return f"{self.tool} of {self.path} only{whole}"
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
        rule: the rule that :meth:`Approval.for_session` keeps, in words; exactly this is applied from then on.
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
    """

    approved: bool
    keep: bool = False
    reason: str = ""

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
"""How an application answers. It may take its time; after ``approval_timeout`` it is cancelled: the answer is no."""


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
    """Its tool below the directory that holds all its paths; for one path at the top of the tree, that path alone."""
    if not paths:
        command, cwd = arguments.get("command"), arguments.get("cwd")
        return ApprovalRule(
            key,
            command=command if isinstance(command, str) else None,
            cwd=cwd if isinstance(cwd, str) else None,
            background=arguments.get("background") is True,
        )
    common = paths[0].parent
    while not all(path.is_within(common) for path in paths):
        common = common.parent
    if common.is_root and len(paths) == 1:
        return ApprovalRule(key, path=paths[0], whole_directories=whole_directories)
    return ApprovalRule(key, below=common, whole_directories=whole_directories)
