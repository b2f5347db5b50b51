"""What began so far before a part that it is out of sight: it stays masked, and what is no secret stays readable."""

from __future__ import annotations

import base64
import json
import random

import pytest

from moorage_workspace.redaction import MASK, Gate
from moorage_workspace.text.begun import Begun, is_known, may_be_one_secret
from moorage_workspace.text.excerpts import REACH, excerpt
from moorage_workspace.text.hidden import Hidden

LITERAL = "swordfish-literal"
REDACT = Gate([LITERAL]).redact
CHANCE = random.Random(7)
BLOB = base64.b64encode(CHANCE.randbytes(90_000)).decode().replace("/", "a")
FAR = 60_000
LINES = "\n".join(BLOB[at : at + 64] for at in range(0, 80_000, 64))
ESCAPED = BLOB[:80_000].replace("A", '\\"').replace("B", "'")

SECRET = {
    "a string": f'{{"id": 1, "password": "{BLOB}"}}',
    "a string with quotes in it": f'x = 1; password = "{ESCAPED}"',
    "a string in other quotes": f"password = '{BLOB}'",
    "a string in backticks": f"api_key: `{BLOB}`",
    "a string within a string": f'"{{\\"password\\": \\"{BLOB}\\"}}"',
    "no string": f"x password={BLOB} y",
    "no string, within a run": f"{BLOB[:30_000]}&x.password={BLOB} y",
    "a long run": f"password={BLOB * 5} y",
    "named within a long run": f"{BLOB[:40_000]};secret_key={BLOB} y",
    "a header": f"Authorization: Bearer {BLOB}",
    "a key in base64": f"data: LS0tLS1CRUdJTiBSU0EgUFJJVkFURSBLRVkt{BLOB}",
    "a key in one line": f'{{"k": "-----BEGIN PRIVATE KEY-----{BLOB}-----END PRIVATE KEY-----"}}',
    "a key": f"-----BEGIN PGP PRIVATE KEY BLOCK-----\nVersion: 1 of it\n\n{LINES}\n-----END PGP PRIVATE KEY BLOCK-----",
    "a numbered key": f"  1→-----BEGIN PRIVATE KEY-----\n  2→{LINES}",
    "a key with a long line": f"-----BEGIN PRIVATE KEY-----\n{BLOB}\n{BLOB}",
}


@pytest.mark.parametrize("content", SECRET.values(), ids=SECRET.keys())
@pytest.mark.parametrize("around", ["", "one\n"])
def test_a_secret_is_masked_however_far_it_began(around: str, content: str) -> None:
    data = f"{around}{content}\nafter it\n".encode()
    for start in range(FAR, FAR + 200, 33):
        text = excerpt(data, start, start + 90, REDACT)
        assert MASK in text
        assert data[start : start + 90].decode() not in text
        assert not any(data[at : at + 20].decode() in text for at in range(start, start + 70, 10))
    assert not Hidden(data, REDACT).shows(FAR, FAR + 20)
    assert Hidden(data, REDACT).shows(len(data) - 6, len(data))
    assert excerpt(data, len(data) - 9, len(data), REDACT) == "after it\n"


CODE = "".join(f"    def f{number}(self): return {{'name': `x`, \"b\": 'it'}}\n" for number in range(2_000))
JSON = json.dumps([{"id": number, "name": f"user{number}", "tokens": 3, "says": "it's so"} for number in range(3_000)])
OPEN = {
    "code": CODE,
    "code after a marker": f'if "-----BEGIN PRIVATE KEY-----" in text:\n    return None\n{CODE}',
    "code after a key without end": f"-----BEGIN PRIVATE KEY-----\n{LINES[:650]}\n{CODE}",
    "lines of base64": LINES,
    "lines of base64 after a key": f"-----BEGIN PRIVATE KEY-----\n{LINES[:640]}\n-----END PRIVATE KEY-----\n{LINES}",
    "base64 in one line": f"x: {BLOB}",
    "more base64 in one line": f"data:font/woff;base64,{BLOB * 4}",
    "JSON in one line": JSON,
    "JSON within JSON": json.dumps({"password": "short-one1", "body": JSON}),
    "code in one line": CODE.replace("\n", ";"),
    "after a secret in the line": f"password = 'short-one1'; x = `{BLOB}`",
    "numbers": "0123456789,-" * 10_000,
}


@pytest.mark.parametrize("content", OPEN.values(), ids=OPEN.keys())
def test_what_is_no_secret_is_shown(content: str) -> None:
    data = content.encode()
    for start in (FAR, FAR + 777, len(data) - 500):
        assert excerpt(data, start, start + 400, REDACT) == data[start : start + 400].decode()
    assert Hidden(data, REDACT).shows(FAR, FAR + 2_000)


def test_parts_are_told_alike_in_any_order() -> None:
    data = "\n".join([*SECRET.values(), *OPEN.values()]).encode()
    places = range(0, len(data), 19_997)
    begun = Begun(data, REDACT)
    forwards = [begun.before(at) for at in places]
    assert [begun.before(at) for at in reversed(places)] == forwards[::-1]


@pytest.mark.parametrize(
    "unit", ["x", '\\"', "key=", "key:!", "'", "-----BEGIN PRIVATE KEY-----A", "\n", "PRIVATE KEY\n"]
)
def test_no_line_is_gone_through_for_each_of_its_parts(unit: str) -> None:
    """What is redacted is in proportion to the content, though each part is asked for."""
    redacted = 0

    def redact(text: str) -> str:
        nonlocal redacted
        redacted += len(text)
        return text

    data = (unit * 2_000_000)[:2_000_000].encode()
    begun = Begun(data, redact)
    for at in range(0, len(data), 16_384):
        start, _ = begun.before(at)
        assert start >= at - REACH
    assert redacted <= 3 * len(data)


def test_what_is_before_a_part_of_a_content_matters_or_not() -> None:
    assert not is_known(BLOB.encode(), FAR)
    assert not is_known(LINES.encode(), FAR)
    assert is_known(f"-----BEGIN PRIVATE KEY-----\n{LINES}".encode(), FAR)
    assert is_known(CODE.encode(), FAR)
    assert is_known(b"\0" * FAR, FAR)
    assert may_be_one_secret(BLOB.encode(), FAR)
    assert may_be_one_secret(LINES.encode(), FAR)
    assert not may_be_one_secret(JSON.encode(), FAR)
