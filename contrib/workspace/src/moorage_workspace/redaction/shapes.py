"""Secrets that are known by how they look."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from moorage_workspace.redaction.mask import Found

WORD: Final = re.compile(r"[A-Za-z0-9_-]+")
_DOTTED: Final = re.compile(r"[A-Za-z0-9_.~+/=-]+")
_LINE: Final = re.compile(r"[^\n]+")
PLACEHOLDER: Final = re.compile(
    r"<[^<>]*>|\{.*\}|\[.*\]|%\(?\w+\)?s|%s|%\w+%|\$\{.*\}|\$\(.*\)|\$[A-Za-z_]\w*|.*\{\{.*\}\}.*|[\W_]*|[xX*.•]+"
    r"|(?:%[sdr]|[^\w\s%])+"
)
"""What stands where a secret would: a reference, a blank, our own mask."""
_CODE: Final = re.compile(r"[A-Za-z_$][\w$]*(?:\??\.[A-Za-z_$][\w$]*)*[(\[].*|[A-Za-z_$]+(?:\??\.[A-Za-z_$]+)+")
"""A call, an item or an attribute."""


@dataclass(frozen=True, slots=True)
class Shape:
    """One kind of secret.

    Attributes:
        trigger: lower-case text without which there is none; cheap to look for.
        pattern: matches at the trigger; its group ``secret`` is what is hidden.
        grows: what such a secret goes on with; a function where that depends on the match.
        judge: whether a match is one after all.
        over: where the pattern does not match, no trigger within this matches either.
    """

    trigger: str
    pattern: re.Pattern[str]
    grows: re.Pattern[str] | Callable[[re.Match[str]], re.Pattern[str]] = WORD
    judge: Callable[[re.Match[str]], bool] | None = None
    over: re.Pattern[str] | None = None

    def find(self, text: str, lower: str, start: int) -> Iterator[Found]:
        """``lower`` is the text in lower case, character by character."""
        at = lower.find(self.trigger, start)
        while at >= 0:
            match = self.pattern.match(text, at)
            if match is not None and (self.judge is None or self.judge(match)):
                begin, end = match.span("secret")
                yield Found(match.start(), begin, end, self._growth(match))
                after = max(end, at + 1)
            else:
                run = self.over.match(text, at) if self.over is not None else None
                after = run.end() if run is not None else at + len(self.trigger)
            at = lower.find(self.trigger, after)

    def _growth(self, match: re.Match[str]) -> re.Pattern[str]:
        return self.grows if isinstance(self.grows, re.Pattern) else self.grows(match)


def _token(trigger: str, rest: str, grows: re.Pattern[str] = WORD) -> Shape:
    """A token that a fixed prefix gives away; ``rest`` takes as much as it can."""
    return Shape(trigger.lower(), re.compile(f"(?P<secret>{rest})"), grows)


def _has_digit(match: re.Match[str]) -> bool:
    return any(character.isdigit() for character in match["secret"])


def _is_credential(match: re.Match[str]) -> bool:
    return not PLACEHOLDER.fullmatch(match["secret"])


def _is_fetched(match: re.Match[str]) -> bool:
    """A program has it from elsewhere."""
    if match["name"].isupper() or match.string[max(0, match.start() - 1) : match.start()] in ("?", "&", "-"):
        return False
    if match["separator"] != "=" or match["quote"] or match["scheme"]:
        return False
    return _CODE.fullmatch(match["secret"]) is not None


def _is_authorization(match: re.Match[str]) -> bool:
    """Any scheme will do; one that is not known only with what looks random, since prose speaks of these, too."""
    value = match["secret"]
    if not _is_credential(match) or _is_fetched(match):
        return False
    if re.fullmatch(r"(?i)tokens?|auth\w*|access|scheme|header|required", value):
        return False
    if re.fullmatch(
        r"(?i)bearer|basic|token|digest|negotiate|apikey|aws4-hmac-sha256|hawk|oauth", match["scheme"] or ""
    ):
        return len(value) >= 4
    return len(value) >= 16 or (len(value) >= 8 and _has_digit(match))


_IN_NO_ADDRESS: Final = r"""\s/@"'<>\x00-\x1f\x7f"""
_GITLAB: Final = ("pat", "rt", "dt", "cbt", "ptt", "ft", "soat", "imt", "agent", "oas", "ffct")
_AUTHORIZATION: Final = r"""(?ix)
    (?P<name>authorization) (?:\\*["'])? \s{0,4} (?P<separator>[:=]) \s{0,4} (?P<quote> [bfru]? \\*["'])?
    (?: (?P<scheme>[a-z][a-z0-9-]{1,20}) [ ]{1,4} )?
    (?P<secret> (?<=digest[ ]) [^\n]{1,4096} | (?<=sha256[ ]) [^\n]{1,4096} | (?<=oauth[ ]) [^\n]{1,4096}
        | [^\s"'\\,;]++ )
"""

SHAPES: Final = (
    *(_token(f"gl{kind}-", rf"gl{kind}-[\w-]{{16,}}(?:\.[\w.-]+)?", _DOTTED) for kind in _GITLAB),
    *(_token(f"gh{kind}_", rf"gh{kind}_[A-Za-z0-9]{{20,}}") for kind in "pousr"),
    _token("github_pat_", r"github_pat_\w{22,}"),
    *(_token(kind, rf"{kind}[A-Z0-9]{{16,}}") for kind in ("AKIA", "ASIA")),
    _token("xox", r"xox[a-z](?:\.xox[a-z])?-[A-Za-z0-9-]{10,}"),
    _token("xapp-", r"xapp-[A-Za-z0-9-]{10,}"),
    Shape("hooks.slack.com", re.compile(r"hooks\.slack\.com/[a-z]+/(?P<secret>[\w/+-]{8,})"), _DOTTED),
    _token("AIza", r"AIza[\w-]{30,}"),
    _token("GOCSPX-", r"GOCSPX-[\w-]{20,}"),
    _token("ya29.", r"ya29\.[\w.-]{20,}", _DOTTED),
    _token("sk-", r"sk-(?:[a-z]{3,10}[0-9]{0,2}-[\w-]{32,}|[A-Za-z0-9]{32,})"),
    *(_token(f"k_{kind}_", rf"k_{kind}_[A-Za-z0-9]{{16,}}") for kind in ("live", "test")),
    _token("npm_", r"npm_[A-Za-z0-9]{36,}"),
    _token("pypi-", r"pypi-[\w-]{50,}"),
    _token("hf_", r"hf_[A-Za-z]{30,}"),
    # PEM private keys in base64, as in a kubeconfig
    _token(
        "LS0tLS1CRUdJTi",
        r"LS0tLS1CRUdJTi(?:BQUklWQVRF|BSU0EgUFJJVkFURS|BFQyBQUklWQVRF|BPUEVOU1NI|BFTkNSWVBURUQ)[\w+/=-]*",
        _DOTTED,
    ),
    Shape(
        "eyj",
        re.compile(r"(?P<secret>eyJ[\w-]{6,2000}\.[\w-]{6}[\w.-]*)"),
        _DOTTED,
        over=WORD,
    ),
    Shape("authorization", re.compile(_AUTHORIZATION), _LINE, judge=_is_authorization),
    Shape("bearer", re.compile(r"(?i)bearer {1,4}(?P<secret>[\w.~+/=-]{16,})"), _DOTTED, judge=_has_digit),
    Shape(
        "://",
        re.compile(rf"""://[^:{_IN_NO_ADDRESS}]{{0,256}}:(?P<secret>[^{_IN_NO_ADDRESS}]{{1,256}})@"""),
        judge=_is_credential,
    ),
    Shape("://", re.compile(rf"""://(?P<secret>[^:{_IN_NO_ADDRESS}]{{16,256}})@"""), judge=_has_digit),
)
