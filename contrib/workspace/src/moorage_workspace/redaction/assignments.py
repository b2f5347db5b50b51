"""Secrets that are known by the name beside them: ``password = …`` in all its spellings."""

from __future__ import annotations

import re
from typing import Final

from moorage_workspace.redaction.shapes import PLACEHOLDER, Shape

_SHORTEST: Final = 4
_LONGEST_JUDGED: Final = 128
"""Characters; no name, type or word is longer."""

_NAMES: Final = {
    "pass": r"(?: pass(?:word|wd|phrase)(?:[_-]?(?:\d{1,2}|confirm(?:ation)?))? | (?<=_)pass )",
    "secret": r"secret(?:[_-]?(?:access[_-]?)?(?:key|token|value)(?:[_-]base)?)?",
    "token": r"token(?:[_-]?(?:secret|value|key))?",
    "key": r"""(?: (?<=api)|(?<=api[_. -])|(?<=access)|(?<=access[_. -])|(?<=account)|(?<=account[_. -])
        |(?<=private[_-])|(?<=signing[_-])|(?<=encryption[_-])|(?<=master[_-])|(?<=shared[_-]) ) key""",
}
_TYPE: Final = r"""(?:\s{0,2}:\s{0,2} (?:Final\[|Optional\[)? &?(?:str|bytes|[Ss]tring|SecretStr|any|Any|Final)\]?
    (?:\s?\|\s?(?:None|null|undefined))? (?=\s{0,4}=) )?"""
_INSIDE: Final = {
    '\\"': r"""(?:[^"'\\\n]|\\++(?!["']))++""",
    "\\'": r"""(?:[^"'\\\n]|\\++(?!["']))++""",
    '"': r"""(?:[^"\\\n]|\\.)++""",
    "'": r"""(?:[^'\\\n]|\\.)++""",
    "`": r"""[^`\n]++""",
}
"""What a string goes on with, by the quote that opened it."""
_BARE: Final = r"""[^\s"'`,;&|<>(){}\[\]\\]"""
_MORE: Final = rf"""(?:(?:[,;|>(){{}}\[\]]|\\(?![nrt]))++{_BARE}++)*+"""
"""What else may belong to a value without quotes, which has these characters inside, where code has them at the end."""
_VALUE: Final = rf"""
    (?: [bfru]{{0,2}} (?P<quote>\\*(?:\"{{3}}|'{{3}}|["'`])) )?
    (?P<secret> (?(quote) (?: {"|".join(f"(?<={re.escape(quote)}){inside}" for quote, inside in _INSIDE.items())} )
                        | (?P<bare>{_BARE}++){_MORE} ) )
"""
_GROWS: Final = {quote: re.compile(inside, re.DOTALL) for quote, inside in _INSIDE.items()}
_GROWS_BARE: Final = re.compile(f"{_BARE}*+{_MORE}")
_QUERY: Final = re.compile(r"[?&][\w.-]{0,40}\Z")
_OPTION: Final = re.compile(r"(?:^|[\s\"'`=,\[])--?[\w-]{0,40}\Z")
_HEADER: Final = re.compile(r"(?i)(?<![a-z])(?:private|job|deploy|x)-[\w-]{0,40}\Z")
_VARIABLE: Final = re.compile(r"[A-Z0-9_]*\Z")

_NAME: Final = re.compile(r"[A-Za-z_$][\w$-]*(?:(?:\.|::|->|\?\.)[A-Za-z_$][\w$-]*)*[:!?]?")
_PLACE: Final = re.compile(r"[a-z][a-z0-9+.-]*://.*|(?:~|\.{1,2})?/(?:[\w.@-]+/)+[\w.@-]*", re.DOTALL)
_KEYWORD: Final = re.compile(r"(?i)pass|secret|token|key|cred|auth")
_LABEL: Final = re.compile(r"(?i)\b(?:pass(?:word|phrase)|secret|token|key)s?\b")
_NUMBER: Final = re.compile(r"[-+]?[\d_]+(?:\.\d+)?[a-zA-Z%]?")
_PROSE: Final = re.compile(r"[.:!?]?[ \t]+[A-Za-z(]")
_COMPARISON: Final = re.compile(r"[!=]={1,2}")
_PLAIN: Final = re.compile(r"[A-Za-z_]{1,15}")
_DEFAULT: Final = re.compile(r"[A-Za-z_][\w.]*=(?:None|True|False|null|nil|undefined)")
"""A type, and what a parameter of it is by default."""
_ASSIGNED_ON: Final = re.compile(r"[ \t]{1,4}=[ \t]")
_AFTER_A_STRING: Final = re.compile(r"[ \t]{0,4}[,)\]}+%.;]")
_OPENED: Final = {
    quote: re.compile(rf"(?:^|[\s=(,\[{{:+])[bfru]{{0,2}}{quote}[^{quote}\\]{{0,40}}\Z") for quote in "\"'"
}
"""A string up to a name in it."""
_WORDS: Final = frozenset(
    """
    str string bytes bool boolean int integer number object any none null nil undefined true false type types optional
    required invalid missing wrong incorrect empty expired hidden changed unchanged default value values data input
    result response request config settings options args kwargs params text self this user prompt field fields return
    yes disabled enabled unset redacted masked example placeholder sensitive never always char void unknown
    """.split()  # noqa: SIM905 (a list of quoted words is hard to read)
)


def _is_secret(match: re.Match[str]) -> bool:
    """Whether the value beside the name is one, rather than a word, a type, or code that fetches it."""
    value = match["secret"]
    if len(value) > _LONGEST_JUDGED:
        return True
    if len(value) < _SHORTEST or value.lower() in _WORDS or PLACEHOLDER.fullmatch(value) or _is_place(match):
        return False
    if match["separator"] == ">":
        return match.string.startswith("</", match.end()) and not _LABEL.fullmatch(value.rstrip(":"))
    if match["quote"]:
        return _is_secret_string(match, value)
    if match["separator"].isspace():
        return _is_option(match) and not _NUMBER.fullmatch(value) and not value.startswith("-")
    return _is_named_outright(match) or _is_secret_word(match, match["bare"])


def _is_place(match: re.Match[str]) -> bool:
    """A path or an address; but the keys of AWS may begin like a path."""
    return "access" not in match["name"].lower() and _PLACE.fullmatch(match["secret"]) is not None


def _is_secret_string(match: re.Match[str], value: str) -> bool:
    if match["separator"].isspace():
        return _is_option(match)
    if _is_after_string(match, value):
        return False
    weak = "token" in match["name"].lower()
    if weak and _COMPARISON.fullmatch(match["separator"].strip()) and _PLAIN.fullmatch(value):
        return False
    spaced = any(character.isspace() for character in value)
    return not spaced or (not weak and not _LABEL.search(value))


def _is_after_string(match: re.Match[str], value: str) -> bool:
    """The quote ends a string that the name is in, ``input("Password: ")``, and code follows it."""
    opened = _OPENED.get(match["quote"])
    if opened is None or _is_quoted(match) or not _AFTER_A_STRING.match(value):
        return False
    return opened.search(match.string[max(0, match.start() - 44) : match.start()]) is not None


def _is_quoted(match: re.Match[str]) -> bool:
    """The name is a string itself, or ends one."""
    return match.string[match.end("name")] in "\\\"'`"


def _is_option(match: re.Match[str]) -> bool:
    return bool(_OPTION.search(match.string[max(0, match.start() - 44) : match.start()]))


def _is_named_outright(match: re.Match[str]) -> bool:
    """In a query, a header, a command's option or a variable of the environment, the value stands for itself."""
    before = match.string[max(0, match.start() - 44) : match.start()]
    if _QUERY.search(before) or _OPTION.search(before):
        return True
    if _HEADER.search(before):
        return not (_is_quoted(match) and _is_code(match, match["bare"]))
    upper = match["name"].isupper() and _VARIABLE.search(before) is not None
    return upper and match["separator"] == "="


def _is_secret_word(match: re.Match[str], value: str) -> bool:
    digits = sum(character.isdigit() for character in value)
    weak = "token" in match["name"].lower()
    if _NUMBER.fullmatch(value):
        return not weak and digits >= _SHORTEST
    if _is_code(match, value) or _DEFAULT.fullmatch(value):
        return False
    if digits or not _NAME.fullmatch(value):
        return not weak or len(value) >= 8
    return _is_secret_name(match, value, _after(match), weak=weak)


def _after(match: re.Match[str]) -> str:
    return match.string[match.end("bare") : match.end("bare") + 8]


def _is_code(match: re.Match[str], value: str) -> bool:
    """What a program has in the place of a value: a call, an attribute, a variable that is named after its value."""
    if not _NAME.fullmatch(value):
        return False
    digits = sum(character.isdigit() for character in value)
    called = _after(match).startswith(("(", "[", "{", "<"))
    return called or ("." in value and not digits) or (digits < 2 and _KEYWORD.search(value) is not None)


def _is_secret_name(match: re.Match[str], value: str, after: str, *, weak: bool) -> bool:
    """What could be a variable of a program is a secret only where a program would not have one."""
    if after.startswith((")", ";")) or _PROSE.match(after) or _ASSIGNED_ON.match(after):
        return False
    if "_" in value and (weak or ":" not in match["separator"]):
        return False
    if after.startswith(",") and match["separator"] == "=":
        return False
    if "-" in value and "pass" not in match["name"].lower():
        return False
    return not weak or len(value) >= 16


def _growth(match: re.Match[str]) -> re.Pattern[str]:
    quote: str | None = match["quote"]
    return _GROWS_BARE if quote is None else _GROWS[quote[-2:] if quote[-2:] in _GROWS else quote[-1]]


def _shape(trigger: str, name: str) -> Shape:
    pattern = rf"""(?xi)
        (?P<name>{name}) (?:\\*["'`])? \]? {_TYPE}
        (?P<separator> [ \t]{{0,8}} (?: [:!=]?={{1,3}}>? | : ) [ \t]{{0,8}} | > | [ ]{{1,4}} )
        {_VALUE}
    """
    return Shape(trigger, re.compile(pattern), _growth, _is_secret)


ASSIGNMENTS: Final = tuple(_shape(trigger, name) for trigger, name in _NAMES.items())


def is_named_secret(name: str, value: str) -> bool:
    """Whether a field of this name, with this value, holds a secret."""
    text = f'{name}": "{value}"'
    lower = text.lower()
    return any(found.begin >= len(name) for shape in ASSIGNMENTS for found in shape.find(text, lower, 0))
