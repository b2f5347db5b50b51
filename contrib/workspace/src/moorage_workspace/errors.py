"""What a workspace refuses, as part of core's tree of errors.

::

    MoorageError
    ├── NoProvidersError                              NO_PROVIDERS
    ├── FileReadRequiredError                         read_required
    │   └── ChangedSinceReadError  (StaleFileError)   stale
    ├── ToolRefusedError                              one of Refusal's codes
    └── SandboxError                                  sandbox
        ├── IsolationUnavailableError                 isolation_unavailable
        ├── NoProcessError         (LookupError)      no_process
        └── SandboxUnsupportedError (UnsupportedError) unsupported

Inside a tool call they never come out as exceptions: the model gets a result with their code and message.
"""

from __future__ import annotations

from enum import StrEnum

from moorage import MoorageError, StaleFileError, UnsupportedError


class Refusal(StrEnum):
    """Why a tool did not do what it was asked to: the stable codes that are the workspace's own."""

    UNKNOWN_TOOL = "unknown_tool"
    DISABLED = "disabled"
    INVALID_ARGUMENTS = "invalid_arguments"
    POLICY = "policy"
    MASKED_CONTENT = "masked_content"
    NO_MATCH = "no_match"
    NOT_UNIQUE = "not_unique"
    BINARY = "binary"
    TOO_LARGE = "too_large"
    APPROVAL_REFUSED = "approval_refused"
    APPROVAL_TIMEOUT = "approval_timeout"
    APPROVAL_UNAVAILABLE = "approval_unavailable"
    LOCK_TIMEOUT = "lock_timeout"
    PATTERN = "pattern"


class NoProvidersError(MoorageError, ValueError):
    """A workspace without filesystem, mounts, sandbox or skills would have nothing to offer."""

    code = "NO_PROVIDERS"


class FileReadRequiredError(MoorageError):
    """The file exists, and this session has not read what the tool would change."""

    code = "read_required"


class ChangedSinceReadError(FileReadRequiredError, StaleFileError):
    """The file is no longer what this session read."""

    code = "stale"


class ToolRefusedError(MoorageError):
    """A tool declined; ``refusal`` says why, and the message says what to do instead."""

    def __init__(
        self,
        message: str,
        *,
        refusal: Refusal = Refusal.INVALID_ARGUMENTS,
        operation: str | None = None,
        path: str | None = None,
        provider: str | None = None,
        retryable: bool | None = None,
    ) -> None:
        super().__init__(message, operation=operation, path=path, provider=provider, retryable=retryable)
        self.refusal = refusal


class SandboxError(MoorageError):
    """The sandbox could not do it; the message says why."""

    code = "sandbox"


class IsolationUnavailableError(SandboxError):
    """This machine cannot isolate as asked."""

    code = "isolation_unavailable"


class NoProcessError(SandboxError, LookupError):
    """No process of this sandbox has this pid."""

    code = "no_process"


class SandboxUnsupportedError(SandboxError, UnsupportedError):
    """This sandbox has no such ability."""

    code = "unsupported"


def code_of(error: MoorageError) -> str:
    """The stable code that a model sees."""
    return str(error.refusal) if isinstance(error, ToolRefusedError) else error.code
