"""What is wrong with a value, in the words of a configuration file rather than of Python."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

_WORDS: Final = {
    "bool_parsing": "must be true or false",
    "bool_type": "must be true or false",
    "callable_type": "must be a function, which only a program can give",
    "dict_type": "must be a table",
    "float_parsing": "must be a number",
    "float_type": "must be a number",
    "int_from_float": "must be a whole number",
    "int_parsing": "must be a whole number",
    "int_parsing_size": "must be a smaller number",
    "int_type": "must be a whole number",
    "list_type": "must be a list",
    "path_type": "must be a path, as a text",
    "set_type": "must be a list",
    "string_type": "must be a text",
    "tuple_type": "must be a list",
}
_OF_AN_AUTHOR: Final = {"value_error": "Value error, ", "assertion_error": "Assertion failed, "}
_SUBJECT: Final = re.compile(r"\A\w+ should ")


def wording(detail: ErrorDetails) -> str:
    """The reason, to stand behind the key."""
    kind, message = detail["type"], detail["msg"]
    if kind in _WORDS:
        return _WORDS[kind]
    if kind in _OF_AN_AUTHOR:
        return message.removeprefix(_OF_AN_AUTHOR[kind])
    if "<class" in message or " instance of " in message:
        return "is not what this option takes"
    return _SUBJECT.sub("must ", message).replace(" after validation", "")
