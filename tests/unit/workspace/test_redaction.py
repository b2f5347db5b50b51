"""What the gate hides, what it leaves, and that a text in pieces comes out as the whole does."""

from __future__ import annotations

import base64
import copy
import json
import pickle
import random
from collections.abc import Iterable
from urllib.parse import quote

import pytest
from pydantic import SecretStr

from moorage_workspace.redaction import MASK, Gate, holds_mask

WORD = "abcdefghij0123456789"
JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9P"
HOST = {"/srv/tenant-1/data": "/", "/srv/tenant-1/cache dir": "/cache"}

GITLAB = ["pat", "rt", "dt", "cbt", "ptt", "ft", "soat", "imt", "agent", "oas"]
# what must go, in the text around it
HIDDEN = [
    *[("see {} there", f"gl{kind}-{WORD}") for kind in GITLAB],
    *[("x={}", f"gh{kind}_{WORD}{WORD[:16]}") for kind in "pousr"],
    ("{}", f"github_pat_{WORD}_{WORD}"),
    ("id {}.", "AKIAIOSFODNN7EXAMPLE"),
    ("id {}.", "ASIAIOSFODNN7EXAMPLE"),
    ("{}", f"xoxb-123456789012-{WORD}"),
    ("{}", f"xapp-1-A012-{WORD}"),
    ("https://hooks.slack.com/services/{}", "T0000/B0000/XXXXyyyyZZZZ"),
    ("\\n{}\\n", JWT),
    ("{}", f"AIza{WORD}{WORD[:15]}"),
    ("{}", f"sk-ant-api03-{WORD}{WORD}"),
    ("Authorization: Bearer {}", "abc123"),
    ("Authorization: Basic {}", "dXNlcjpwYXNz"),
    ("authorization: {}", "zyx987zyx987"),
    ("Authorization: Custom {}", "abcdefgh1"),
    ("Authorization: Digest {}", 'username="Mufasa", response="6629fae4"'),
    ('{{"Authorization": "Bearer {}"}}', "abc.def"),
    ('curl -H "Authorization: Bearer {}" https://x', "abc123"),
    ("saw bearer {} in it", WORD),
    ("PRIVATE-TOKEN: {}", "abcdef"),
    ("curl --header 'PRIVATE-TOKEN: {}' x", "abcdef"),
    ("X-Api-Key: {}", "abcdefgh"),
    ("password = {}", "hunter2"),
    ("password: {}", "swordfish"),
    ("password: {}  # as agreed", "correct-horse_battery"),
    ("PASSWORD={} run", "swordfish"),
    ("PASSWORD={}", "ab,cd;ef(g)h"),
    ('export DB_PASSWORD="{}"', "three words here"),
    ("passwd: '{}'", "it is, (here)"),
    ("db_pass={}", "abc-123"),
    ('  "password": "{}",', "hunter2"),
    ('{{\\"password\\": \\"{}\\"}}', "hunter2"),
    ("password: str = '{}'", "hunter2"),
    ('os.environ["API_TOKEN"] = "{}"', "abcdefg"),
    ("<password>{}</password>", "hunter2"),
    ("client_secret => '{}'", "qwertz"),
    ("secret: {}", "12345678"),
    ("token: {}", "abcdef123456"),
    ("api_key: {}", "abcd1234"),
    ("apiKey = `{}`", "abcd"),
    ("aws_secret_access_key = {}", "/JalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"),
    ("https://example.com/x?token={}&page=2", "abcdef"),
    ("postgres://user:{}@db/x", "pa.ss"),
    ("https://{}@github.com/x", f"{WORD}"),
    ("mysql --password {} -u root", "hunter2"),
    ("tool --api-key={}", "abcdef"),
    ("certificate: {}", "LS0tLS1CRUdJTiBSU0EgUFJJVkFURSBLRVktLS0tLQpNSUlF"),
]

LEFT = [
    "token = get_token()",
    "token = response.token",
    "token = self._token",
    "token = lexer",
    "for token in tokens: print(token)",
    "if token == other:",
    "max_tokens: 5",
    "token: 8192",
    "secret_name=abc12345",
    "password: str",
    "def f(password: str, token: str | None = None) -> None:",
    "connect(password=password, token=token)",
    "connect(password=value)",
    'password = os.environ["PASSWORD"]',
    "password = args.password",
    "password = getpass.getpass()",
    "The password: it is needed. A secret: tell nobody.",
    "token=${TOKEN} password: $PASSWORD secret: {{ secret }}",
    'token = "{token}"',
    "password: ********",
    'password = ""',
    "secret: SecretStr",
    "secret: /run/secrets/database",
    "Authorization: Bearer <token>",
    'headers = {"Authorization": f"Bearer {token}"}',
    "Authorization: required for all calls",
    "git@github.com:a/b.git https://example.com/a:b@c",
    "the token format is eyJ, the key AKIA, the prefix glpat- and ghp_",
    'if "-----BEGIN RSA PRIVATE KEY-----" in text: return None',
    "-----BEGIN CERTIFICATE-----\nMIIEabcd\n-----END CERTIFICATE-----",
]


@pytest.mark.parametrize(("around", "secret"), HIDDEN)
def test_secrets_go_and_what_is_around_them_stays(around: str, secret: str) -> None:
    assert Gate().redact(f"before\n{around.format(secret)}\nafter") == f"before\n{around.format(MASK)}\nafter"


@pytest.mark.parametrize("text", LEFT)
def test_prose_and_code_stay(text: str) -> None:
    assert Gate().redact(text) == text


@pytest.mark.parametrize("kind", ["PRIVATE KEY", "RSA PRIVATE KEY", "OPENSSH PRIVATE KEY", "PGP PRIVATE KEY BLOCK"])
@pytest.mark.parametrize("prefix", ["", "    ", "+", "  12\N{RIGHTWARDS ARROW}"])
def test_a_key_loses_its_lines_but_not_their_number(kind: str, prefix: str) -> None:
    body = ["Proc-Type: 4,ENCRYPTED", "", "MIIEpAIBAAKCAQEA0Z3VS5JJcds3xfn/ygWyF8PbnGy0AHB7Muh+abcdefgh=", "Zz9="]
    lines = [f"-----BEGIN {kind}-----", *body, f"-----END {kind}-----", "after it"]
    shown = Gate().redact("\n".join(prefix + line for line in lines)).split("\n")
    assert len(shown) == len(lines)
    assert not any(line and line in "\n".join(shown) for line in body)
    assert shown[-1] == f"{prefix}after it"


def test_a_key_without_an_end_is_hidden_up_to_what_can_be_no_key() -> None:
    key = "-----BEGIN PRIVATE KEY-----\n" + "MIIEabcdefgh/+123456\n" * 20
    assert "MIIE" not in Gate().redact(key)
    assert Gate().redact(f"{key}def f(x): pass\n").endswith(f"{MASK}\ndef f(x): pass\n")


def test_a_key_in_one_line_of_json() -> None:
    key = "-----BEGIN PRIVATE KEY-----\n" + "MIIEabcdefgh/+1234567890\n" * 20 + "-----END PRIVATE KEY-----\n"
    assert "MIIE" not in Gate().redact(json.dumps({"private_key": key, "id": 1}))
    assert Gate().redact(json.dumps({"k": key, "id": 1})).endswith('-----END PRIVATE KEY-----\\n", "id": 1}')


@pytest.mark.parametrize(
    "written",
    [
        str,
        lambda secret: quote(secret, safe=""),
        lambda secret: quote(secret, safe="").lower(),
        lambda secret: json.dumps(secret)[1:-1],
        lambda secret: base64.b64encode(secret.encode()).decode().rstrip("="),
        *[lambda secret, n=n: base64.urlsafe_b64encode(b"u:x:y"[:n] + secret.encode() + b"!") for n in range(4)],
    ],
)
def test_a_known_secret_is_found_however_it_is_written(written: object) -> None:
    secret = 'ä/"k?!lmnö+opq r'
    assert callable(written)
    text = written(secret)
    text = text.decode() if isinstance(text, bytes) else str(text)
    shown = Gate([SecretStr(secret)]).redact(f"a {text} b")
    assert MASK in shown
    assert text[4:-6] not in shown


def test_of_a_secret_of_many_lines_each_is_hidden() -> None:
    assert Gate(["first-line-of-it\r\nsecond-line-of-it\n"]).redact("a second-line-of-it b") == f"a {MASK} b"


def test_secrets_that_overlap_leave_nothing_between_them() -> None:
    assert Gate(["abcdef", "defghi"]).redact("xabcdefghiy") == f"x{MASK}y"


def test_what_is_too_short_to_be_a_secret_is_left() -> None:
    assert Gate(["", "abc", "   "]).redact("abc   def") == "abc   def"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("/srv/tenant-1/data/a.txt: no such file", "/a.txt: no such file"),
        ("in /srv/tenant-1/data.", "in /."),
        ("file:///srv/tenant-1/data/a", "file:///a"),
        ("'/srv/tenant-1/cache dir/a'", "'/cache/a'"),
        ("/srv/tenant-1/cache%20dir/a", "/cache/a"),
        ("/srv/tenant-1/database", "/srv/tenant-1/database"),
        ("\\n/srv/tenant-1/data/a", "\\n/a"),
    ],
)
def test_host_paths_become_paths_of_the_workspace(text: str, shown: str) -> None:
    assert Gate(host_paths=HOST).redact(text) == shown


def test_a_host_path_that_would_read_as_another_is_hidden() -> None:
    gate = Gate(host_paths={"/a": "/b/x", "/b": "/c", "/same": "/same"})
    assert gate.redact("/a/1 /b/1 /same/1") == "/[host]/1 /c/1 /same/1"


def test_data_is_redacted_by_value_and_by_name() -> None:
    data = {
        "password": "swordfish",
        "n": [1, None, True, {"k hunter-lit": "hunter-lit"}],
        "at": object,
        "token": "str",
        "pin": 90817263,
    }
    assert Gate(["hunter-lit", "class", "90817263"]).redact_data(data) == {
        "password": MASK,
        "n": [1, None, True, {f"k {MASK}": MASK}],
        "at": f"<{MASK} 'object'>",
        "token": "str",
        "pin": MASK,
    }


def test_a_gate_shows_no_secret_and_does_not_travel() -> None:
    gate = Gate(["hunter-lit"], HOST)
    assert repr(gate) == "Gate(1 secrets, 2 host paths)"
    for take in (pickle.dumps, copy.copy):
        with pytest.raises(TypeError, match="neither pickled nor copied"):
            take(gate)


def test_a_gate_that_knows_more_leaves_the_other_as_it_is() -> None:
    gate = Gate(["hunter-lit"])
    more = gate.knowing(["other-lit"], HOST)
    text = "hunter-lit other-lit /srv/tenant-1/data/a"
    assert more.redact(text) == f"{MASK} {MASK} /a"
    assert gate.redact(text) == f"{MASK} other-lit /srv/tenant-1/data/a"
    assert more.knowing(["hunter-lit"], HOST) is more


def test_the_mask_is_known_in_any_case_and_without_its_brackets() -> None:
    assert holds_mask(f"a{MASK}b")
    assert holds_mask(MASK.upper().strip("[]"))
    assert not holds_mask("[[redacted]]")
    assert not holds_mask("redacted--by-moorage, un-by-moorage")
    for before in (0, 1, 2 * 1024 * 1024 - 10):
        assert holds_mask("x" * before + "Redacted-By-Moorage" + "-" * 9)


def fed(gate: Gate, pieces: Iterable[str]) -> str:
    stream = gate.stream()
    return "".join([*map(stream.feed, pieces), stream.finish()])


FRAGMENTS = [
    *["password = ", "token=", "secret", "api_", "key", "--token ", "Authorization: ", "Bearer ", "Basic "],
    *[
        '"',
        "'",
        "`",
        "\n",
        "\n",
        " ",
        ",",
        ";",
        "(",
        ")",
        "[",
        "]",
        "{",
        "}",
        "<",
        ">",
        "\\n",
        "\\",
        "\r",
        "$",
        "&",
        "?",
    ],
    *["abc123", "glpat-", WORD, "hunter-lit", "hunter", "-lit", "two words", " lit", "redacted", MASK, "[[", "é", "İ"],
    *["eyJhbGciOi", ".eyJzdWIi", ".sig-abc_def", "AKIA", "ABCDEFGHIJKLMNOP", "://", "user:", "pass", "@", "x" * 50],
    *["-----BEGIN RSA PRIVATE KEY-----", "-----END RSA PRIVATE KEY-----", "MIIEabcd+/==", "first-line-of-it"],
    *["/srv/tenant-1/data", "/srv/tenant-1/cache dir", "/x"],
]
LONG = [
    *["x" * 9_000, " " * 9_000, "token=" * 3_000, "eyJ" * 4_000, "glpat-" + "a" * 20_000, "MIIE" * 4_000],
    "password='" + "a b" * 5_000 + "'",
    "-----BEGIN PRIVATE KEY-----\\n" + "MIIE" * 5_000,
]
KNOWING = Gate(["hunter-lit", "two words lit", "redacted", "first-line-of-it\nsecond-line-of-it"], HOST)


@pytest.mark.parametrize("seed", range(6))
def test_pieces_come_out_as_the_whole_does(seed: int) -> None:
    chance = random.Random(seed)
    for number in range(300):
        long = LONG if number % 20 == 0 else []
        text = "".join(chance.choices(FRAGMENTS + long, k=chance.randint(1, 25)))
        whole = KNOWING.redact(text)
        assert whole.count("\n") == text.count("\n")
        assert "hunter-lit" not in whole
        assert "two words lit" not in whole
        assert long or KNOWING.redact(whole) == whole
        stream, shown, at = KNOWING.stream(), "", 0
        while at < len(text):
            size = chance.choice([1, 2, 3, 7, 50, 5_000])
            shown += stream.feed(text[at : at + size])
            at += size
        assert shown + stream.finish() == whole


@pytest.mark.parametrize(("around", "secret"), HIDDEN)
def test_a_secret_across_pieces_is_in_none(around: str, secret: str) -> None:
    text = f"before {around.format(secret)} after\n"
    for cut in range(len(text)):
        assert fed(Gate(), [text[:cut], text[cut:]]) == Gate().redact(text)


@pytest.mark.parametrize(
    "start", ["password=", "password='", "glpat-", f"{JWT}", "Authorization: Bearer ", "api_key: "]
)
def test_a_secret_without_end_is_swallowed_in_bounded_memory(start: str) -> None:
    stream, shown = KNOWING.stream(), 0
    shown += len(stream.feed(start + WORD))
    for fed_so_far in range(1, 200):
        piece = stream.feed("a1B2" * 256)
        shown += len(piece)
        assert "a1B2" not in piece
        assert shown <= len(start) + len(MASK), fed_so_far
    assert stream.finish() == ""
    assert shown >= len(MASK)


def test_a_long_line_is_shown_while_it_goes_on() -> None:
    stream, text = KNOWING.stream(), "my token, " + "nothing to hide here " * 5_000
    shown = "".join(stream.feed(text[at : at + 1_000]) for at in range(0, len(text), 1_000))
    assert len(shown) > len(text) - 10_000
    assert shown + stream.finish() == text


def test_words_without_suspicion_are_shown_before_their_line_ends() -> None:
    stream = KNOWING.stream()
    assert stream.feed("Continue? [y/N] ") == "Continue? [y/N] "
    assert stream.feed("two ") == ""
    assert stream.feed("words") == ""
    assert stream.feed(" more ") == "two words more "
    assert stream.feed("Password: ") == ""
    assert stream.feed("hunter2\n") == f"Password: {MASK}\n"


@pytest.mark.parametrize("edge", [6_144, 8_192])
@pytest.mark.parametrize(
    ("around", "secret"),
    [("password='{}';", "it\\'s, (here)"), ("see {} .", f"glpat-{WORD}"), ("a {} b", "hunter-lit"), ("key={}", "a")],
)
def test_a_secret_anywhere_in_a_long_line_is_found(around: str, secret: str, edge: int) -> None:
    expected = around.format(MASK if len(secret) > 1 else secret)
    for before in range(edge - len(around) - len(secret) - 2, edge + 3):
        filler = "x. " * (before // 3) + "y " * (before % 3)
        shown = KNOWING.redact(f"{filler}{around.format(secret)}{filler}")
        assert shown == f"{filler}{expected}{filler}", before


@pytest.mark.parametrize("before", range(4))
def test_an_escaped_quote_does_not_end_a_long_secret(before: int) -> None:
    start = " " * before + "password='"
    assert Gate().redact(start + "b\\'aa" * 5_000 + "';") == f"{start}{MASK}';"


def test_what_is_known_is_found_wherever_it_begins() -> None:
    assert Gate(["aXaXa"]).redact("aXaXaXaXa hunter") == f"{MASK} hunter"


def test_what_was_masked_in_a_key_stays_as_it_is() -> None:
    text = f'-----BEGIN PRIVATE KEY-----\n  {MASK}",\n'
    assert Gate().redact(text) == text


HOSTILE = [
    *["eyJ", "token=", "token=' ", "token: ", "token=a,", "glpat-", "://a:", "-----BEGIN PRIVATE KEY-----", "bearer "],
    *[
        "-----BEGIN PRIVATE KEY-----\n",
        "authorization: x ",
        "password=\\",
        "{{",
        "token={{ ",
        "secret: str ",
        "token='''",
    ],
    *['password=\\"', "password" + " " * 50, "token=abc123\n", "a", "QUJD", MASK, 'password="\\\\\\', "eyJaaaaaaa."],
]


@pytest.mark.parametrize("size", [100_000, pytest.param(1_000_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("unit", HOSTILE)
def test_hostile_text_takes_time_in_proportion(unit: str, size: int) -> None:
    """It ends at all: anything worse would take hours."""
    text = unit * (size // len(unit))
    shown = Gate(["aaaa-lit"], HOST).redact(text)
    assert shown.count("\n") == text.count("\n")


@pytest.mark.parametrize("most", [*range(20, 120, 7), 5_000])
def test_a_start_shows_no_part_of_a_secret(most: int) -> None:
    secret = "swordfish-" * 9
    gate = Gate([secret])
    text = f"{'a word ' * 3}{secret} and {'what follows ' * 1_000}"
    shown = gate.redact_start(text, most)
    assert max(0, most - len(secret)) <= len(shown) <= most
    assert gate.redact(text).startswith(shown)
    assert gate.redact_start("short", 200) == "short"
    assert "swordfish" not in gate.redact_start("x" * 8_000 + secret * 500, 8_040)
