"""The gate: one function that every text for a model goes through."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import cast

from pydantic import SecretStr

from moorage import ConfigError
from moorage_workspace.redaction.assignments import is_named_secret
from moorage_workspace.redaction.finding import Finder
from moorage_workspace.redaction.lines import Lines
from moorage_workspace.redaction.literals import HostPaths, Literals
from moorage_workspace.redaction.mask import MASK
from moorage_workspace.redaction.stream import StreamGate


class Gate:
    """Puts :data:`MASK` in the place of secrets, and workspace paths in the place of host paths.

    Secrets are known by value (also percent-encoded, escaped for JSON, in base64), by their look (tokens of the usual
    services, JWTs, private keys) or by the name beside them (``password = …``, ``Authorization: …``). Immutable, and
    its ``repr`` shows no secret.

    Args:
        secrets: values to hide wherever they are. Those of fewer than four characters are ignored, since they would be
            found in every text; of one with many lines, each line of eight characters and more is hidden by itself.
        host_paths: path of the host to its path in the workspace.
    """

    def __init__(self, secrets: Iterable[str | SecretStr] = (), host_paths: Mapping[str, str] | None = None) -> None:
        self._secrets = _values(secrets)
        self._host_paths = dict(host_paths or {})
        self._knowing: Gate | None = None
        self._finder = Finder(Literals(self._secrets), HostPaths(self._host_paths))

    def __repr__(self) -> str:
        return f"Gate({len(self._secrets)} secrets, {len(self._host_paths)} host paths)"

    def __reduce__(self) -> str:
        raise TypeError("a gate holds secrets: it is neither pickled nor copied")

    def knowing(self, secrets: Iterable[str | SecretStr] = (), host_paths: Mapping[str, str] | None = None) -> Gate:
        """A gate that knows these, too. The one that was asked for last is kept, since making one takes long."""
        values, paths = self._secrets | _values(secrets), self._host_paths | dict(host_paths or {})
        for gate in (self, self._knowing):
            if gate is not None and gate._secrets == values and gate._host_paths == paths:
                return gate
        self._knowing = gate = Gate(values, paths)
        return gate

    def redact(self, text: str) -> str:
        """The text without secrets and host paths.

        Pure, and every line break stays, so that line numbers mean the same before and after. Idempotent, but for
        lines of more than 8 KiB, of which a second pass may hide more. Takes time in proportion to the text.
        """
        if not self._finder.suspects(text):
            return text
        lines = Lines(self._finder)
        head, newline, tail = text.rpartition("\n")
        return lines.text(head + newline) + lines.last(tail)

    def redact_start(self, text: str, most: int) -> str:
        """The start of the text, ``most`` characters or fewer, as :meth:`redact` shows it; takes no longer for more.

        What the cut parts may no longer be known as a secret, so a little more is looked at, and left out.
        """
        margin = Lines(self._finder).margin
        if len(text) <= most + margin:
            return self.redact(text)[:most]
        return self.redact(text[: most + margin])[:-margin][:most]

    def redact_data(self, value: object) -> object:
        """JSON-compatible data with every string, number and key redacted, and fields whose name says they are secret.

        What is not JSON-compatible, and a number that holds a secret, becomes a redacted string.
        """
        if value is None or isinstance(value, bool | int | float):
            text = str(value)
            shown = self.redact(text)
            return value if shown == text else shown
        if isinstance(value, Mapping):
            fields = cast("Mapping[object, object]", value)
            return {self.redact(str(name)): self._field(str(name), one) for name, one in fields.items()}
        if isinstance(value, Sequence) and not isinstance(value, str | bytes | bytearray):
            return [self.redact_data(one) for one in cast("Sequence[object]", value)]
        return self.redact(str(value))

    def stream(self) -> StreamGate:
        """A gate for one text that arrives in pieces."""
        return StreamGate(self._finder)

    def _field(self, name: str, value: object) -> object:
        if isinstance(value, str) and is_named_secret(name, value):
            return MASK
        return self.redact_data(value)


def _values(secrets: Iterable[str | SecretStr]) -> frozenset[str]:
    values = {secret.get_secret_value() if isinstance(secret, SecretStr) else secret for secret in secrets}
    if isinstance(secrets, str) or not all(isinstance(value, str) for value in cast("set[object]", values)):
        raise ConfigError("secrets must be a list of texts")
    return frozenset(values)
