"""Regular expressions as a model writes them, and what can be said of one without running it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from moorage_workspace.errors import Refusal, ToolRefusedError
from moorage_workspace.searching.matching import NO_PATTERN, LineMatcher
from moorage_workspace.searching.required import RequiredTexts

MAX_PATTERN: Final = 2_000
_CHEAP_LENGTH: Final = 100
_CHEAP_ATOMS: Final = 8

_LITERAL: Final = r"[^\x00-\x1f\x7f\\\[\](){}*+?|.^$]"
_ESCAPED: Final = r"\\[.\\+*?()|\[\]{}^$/\-#&~\"'`%!,;:=@_ ]"
_CLASS_ITEM: Final = r"[A-Za-z0-9](?:-[A-Za-z0-9])?|[_ .,;:/@#%+*=<>!?\"'(){}|$]|\\[dwst.\\\]\[^/\-]"
_CLASS: Final = rf"\[\^?(?:{_CLASS_ITEM})+-?\]"
_ATOM: Final = rf"{_LITERAL}|{_ESCAPED}|\\[dDwWsSbBt]|{_CLASS}|[.^$]"
_CHEAP: Final = re.compile(rf"(?:{_ATOM}|\|){{1,{_CHEAP_ATOMS}}}", re.DOTALL)
_LITERALS: Final = re.compile(rf"(?:{_LITERAL})*")
_TOKEN: Final = re.compile(
    rf"(?P<unicode>\\[dDwWsSbB])|(?P<end>\$)|(?P<class>{_CLASS})|(?P<atom>{_LITERAL}|{_ESCAPED}|\\t|[.^|)])"
    r"|(?P<group>\((?:\?:)?(?!\?))|(?P<repeat>[*+?]|\{\d{1,3}(?:,\d{0,3})?\})(?P<lazy>\??)",
    re.DOTALL,
)
_WITHIN_LINES: Final = {r"\s": r"[^\S\n]", r"\W": r"[^\w\n]", r"\D": r"[^\d\n]"}
_LINE_END_IN_CLASS: Final = re.compile(r"\[(?!\^)[^\]]*\\s")
_AFTER_END: Final = ("", "|", ")")
"""Only here can ``$`` take the carriage return along without changing what comes next."""
_NO_LITERAL: Final = (".", "^", ")")
_NOT_REPEATED: Final = ("^", "|", r"\b", r"\B")


@dataclass(frozen=True, slots=True)
class Expression:
    """A pattern. Of one that is not :attr:`is_plain`, only a worker finds out whether it compiles: that may take long.

    Raises:
        ToolRefusedError: from :meth:`parse`, with what is wrong and where.
    """

    pattern: str
    ignore_case: bool = False

    @classmethod
    def parse(cls, pattern: str, *, ignore_case: bool = False) -> Expression:
        if not pattern:
            raise ToolRefusedError("the pattern is empty; every line would match", refusal=Refusal.PATTERN)
        if len(pattern) > MAX_PATTERN:
            raise ToolRefusedError(
                f"the pattern has more than {MAX_PATTERN:,} characters; shorten it", refusal=Refusal.PATTERN
            )
        expression = cls(pattern, ignore_case)
        if expression.is_plain:
            try:
                expression.compiled()
            except NO_PATTERN as error:
                raise no_expression(str(error)) from None
        return expression

    def compiled(self) -> LineMatcher:
        return LineMatcher.compiled(self.pattern, self.of_text, ignore_case=self.ignore_case)

    @property
    def of_text(self) -> str | None:
        """The pattern of :attr:`LineMatcher.of_text`."""
        translated = None if _LINE_END_IN_CLASS.search(self.pattern) else _translated(self.pattern, _WITHIN_LINES)
        return None if translated is None else translated[0]

    @property
    def is_cheap(self) -> bool:
        """Whether matching takes little time: without repetition and groups, and short or literal, there is little to
        try.
        """
        literal = not self.ignore_case and _LITERALS.fullmatch(self.pattern) is not None
        return len(self.pattern) <= _CHEAP_LENGTH and (literal or _CHEAP.fullmatch(self.pattern) is not None)

    @property
    def required(self) -> RequiredTexts:
        """Texts that every text holds of which a line matches; maybe none."""
        texts = _required(self.pattern)
        if self.ignore_case:
            texts = [text.lower() for text in texts if text.isascii()]
        return RequiredTexts(tuple(dict.fromkeys(texts)), self.ignore_case)

    @property
    def is_plain(self) -> bool:
        """Whether it compiles fast, and whether what it matches in a part of a line it also matches in the whole line:
        nothing looks ahead, behind or back. Only then may text be passed over that has no match before redaction.
        """
        return _translated(self.pattern, {}) is not None


def no_expression(reason: str) -> ToolRefusedError:
    """The refusal of what does not compile."""
    return ToolRefusedError(
        f"the pattern is no valid regular expression: {reason}. To find such text literally, put a backslash "
        "before each of . ^ $ * + ? { } [ ] \\ | ( )",
        refusal=Refusal.PATTERN,
    )


def for_ripgrep(expression: Expression) -> tuple[str, ...] | None:
    """Patterns for ripgrep that match in every file in which the expression matches, and in few others; ``None`` where
    the two engines may understand it differently.

    Beside the pattern itself they match in what has to be looked at in any case: what is no UTF-8 text, text with a
    byte order mark, and, for an expression whose meaning depends on Unicode's tables, text beyond ASCII.
    """
    if not _encodable(expression.pattern) or (expression.ignore_case and not expression.pattern.isascii()):
        return None
    translated = _translated(expression.pattern, {})
    if translated is None:
        return None
    text, by_tables = translated
    own = f"(?i:{text})" if expression.ignore_case else f"(?:{text})"
    anyway = [_BEYOND_ASCII] if by_tables or expression.ignore_case else [_NO_UTF8, r"^\x{FEFF}"]
    return (own, NUL, *anyway)


NUL: Final = r"\x00"
"""For ripgrep: what no text has."""

_BEYOND_ASCII: Final = r"(?-u:[\x1c-\x1f\x80-\xff])"
"""Also the four separators among the control characters, which only one of the engines counts as white space."""

_NO_UTF8: Final = (
    r"(?-u:[\xc0\xc1\xf5-\xff]|^[\x80-\xbf]|[\x00-\x7f][\x80-\xbf]|[\xc2-\xf4](?:[^\x80-\xbf]|$)"
    r"|[\xe0-\xf4][\x80-\xbf](?:[^\x80-\xbf]|$)|[\xf0-\xf4][\x80-\xbf]{2}(?:[^\x80-\xbf]|$)"
    r"|[\xc2-\xdf][\x80-\xbf]{2}|[\xe0-\xef][\x80-\xbf]{3}|[\xf0-\xf4][\x80-\xbf]{4}"
    r"|\xe0[\x80-\x9f]|\xed[\xa0-\xbf]|\xf0[\x80-\x8f]|\xf4[\x90-\xbf])"
)


def _encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _translated(pattern: str, instead: Mapping[str, str]) -> tuple[str, bool] | None:
    """The pattern for where lines keep their ends, a carriage return included, with some parts replaced; and whether it
    depends on Unicode's tables.
    """
    out: list[str] = []
    by_tables = False
    at = 0
    repeatable = False
    while at < len(pattern):
        found = _TOKEN.match(pattern, at)
        if found is None or (found["repeat"] and not repeatable):
            return None
        if found["end"] and pattern[found.end() : found.end() + 1] not in _AFTER_END:
            return None
        out.append(_replaced(found, instead))
        by_tables |= found["unicode"] is not None or (found["class"] or "").find("\\") >= 0
        repeatable = found["end"] is found["group"] is found["repeat"] is None and found[0] not in _NOT_REPEATED
        at = found.end()
    return "".join(out), by_tables


def _replaced(token: re.Match[str], instead: Mapping[str, str]) -> str:
    if token["end"]:
        return r"(?:\r?$)"
    if instead and token[0].startswith("[^"):
        return r"[^\n" + token[0][2:]
    return instead.get(token[0], token[0])


def _required(pattern: str) -> list[str]:
    """Runs of literals outside of groups; none where there are alternatives, or what :data:`_TOKEN` does not know."""
    tokens: list[re.Match[str]] = []
    at = 0
    while at < len(pattern):
        found = _TOKEN.match(pattern, at)
        if found is None:
            return []
        tokens.append(found)
        at = found.end()
    runs, depth = [""], 0
    for token, after in zip(tokens, [*tokens[1:], None], strict=True):
        depth += (token["group"] is not None) - (token[0] == ")")
        if depth == 0 and token[0] == "|":
            return []
        repeated = after is not None and after["repeat"] is not None
        if depth == 0 and not repeated and token["atom"] and token[0] not in _NO_LITERAL:
            runs[-1] += "\t" if token[0] == r"\t" else token[0][-1]
        elif runs[-1]:
            runs.append("")
    return [run for run in runs if run]
