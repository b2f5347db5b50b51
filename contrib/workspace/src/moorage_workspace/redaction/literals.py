"""Secrets that are known by value, and paths of the host."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Final
from urllib.parse import quote, quote_plus

from moorage_workspace.redaction.mask import Found

SHORTEST: Final = 4
"""Characters. Anything shorter would be found in every text."""
_SHORTEST_PART: Final = 8
"""Characters of a line of a secret of many lines, and of an encoding that says the value without its ends."""


def forms(secret: str) -> set[str]:
    """How a secret may be written: as it is, percent-encoded, escaped for JSON, in base64 at any offset.

    None holds a line break: of a secret of many lines, each line is one.
    """
    if len(secret.strip()) < SHORTEST:
        return set()
    lines = secret.splitlines()
    escaped = {secret, json.dumps(secret)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1]}
    for encode in (quote, quote_plus):
        encoded = encode(secret, safe="", errors="replace")
        escaped |= {
            encoded,
            re.sub("%..", lambda match: match[0].lower(), encoded),
            encode(secret, "/", errors="replace"),
        }
    parts = {line.strip() for line in lines} if len(lines) > 1 else set[str]()
    parts |= set(_in_base64(secret))
    found = {secret.strip()} | escaped | {part for part in parts if len(part) >= _SHORTEST_PART}
    return {form for form in found if "\n" not in form and "\r" not in form}


def _in_base64(secret: str) -> Iterator[str]:
    """The characters that depend on the secret alone, whatever surrounds it in the encoded bytes."""
    value = secret.encode("utf-8", "replace")
    for before in range(3):
        encoded = base64.b64encode(bytes(before) + value).decode()
        sure = encoded[-(-8 * before // 6) : 8 * (before + len(value)) // 6]
        yield sure
        yield sure.replace("+", "-").replace("/", "_")


class Literals:
    """Finds known texts exactly."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self._forms = tuple(sorted({form for secret in secrets for form in forms(secret)}, key=len, reverse=True))
        self.longest = len(self._forms[0]) if self._forms else 0

    def present(self, text: str) -> bool:
        return any(form in text for form in self._forms)

    def find(self, text: str, start: int) -> Iterator[Found]:
        for form in self._forms:
            at = text.find(form, start)
            while at >= 0:
                yield Found(at, at, at + len(form))
                at = text.find(form, at + 1)

    def begun(self, text: str) -> int:
        """How many characters at the end may be the start of a known text."""
        return max((_begun(text, form) for form in self._forms), default=0)


class HostPaths:
    """Finds paths of the host, and says what they are called in the workspace.

    One whose name in the workspace is, or lies below, a path of the host could be taken for that: it is hidden.
    """

    def __init__(self, paths: Mapping[str, str]) -> None:
        known = {host.rstrip("/"): virtual.rstrip("/") for host, virtual in paths.items()}
        known = {host: virtual for host, virtual in known.items() if host and host != virtual}
        self._names = {
            form: "/[host]" if any(f"{virtual}/".startswith(f"{each}/") for each in known) else virtual
            for host, virtual in known.items()
            for form in (host, quote(host))
        }
        self.longest = max(map(len, self._names), default=0)
        longest_first = sorted(self._names, key=len, reverse=True)
        either = "|".join(re.escape(form) for form in longest_first) or r"(?!)"
        self._pattern = re.compile(rf"(?:(?<![\w.-])|(?<=\\[nrt]))(?:{either})(?![\w-]|\.\w)")

    def present(self, text: str) -> bool:
        return any(form in text for form in self._names)

    def find(self, text: str, start: int) -> Iterator[Found]:
        if not self.present(text):
            return
        for match in self._pattern.finditer(text, start):
            root = "" if text.startswith("/", match.end()) else "/"
            yield Found(match.start(), match.start(), match.end(), instead=self._names[match[0]] or root)

    def begun(self, text: str) -> int:
        """How many characters at the end may be the start of a path of the host."""
        return max((_begun(text, form) for form in self._names), default=0)


def _begun(text: str, form: str) -> int:
    for length in range(min(len(form) - 1, len(text)), 0, -1):
        if text.endswith(form[:length]):
            return length
    return 0
