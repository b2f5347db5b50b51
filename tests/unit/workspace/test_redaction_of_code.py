"""What looks like a secret beside its name, and is code: it stays readable. What could be one does not."""

from __future__ import annotations

import pytest

from moorage_workspace.redaction import MASK, Gate

CODE = [
    'authorization = self.headers.get("authorization")',
    "const authorization = req.headers.authorization;",
    "authorization = headers[wanted_name_of_it]",
    "authorization=AuthorizationPolicyOf(request)",
    "headers['X-Amz-Security-Token'] = self.credentials.token",
    'header = {"X-aws-ec2-metadata-token": token}',
    "headers['X-Api-Key'] = get_it(x)",
    "if token == 'async':",
    'while token != "lambda":',
    "assert response.json()['token'] == 'expected'",
    "def f(prompt='Password: ', stream=None):",
    'pw = getpass.getpass("Password: ") or os.environ["X"]',
    "print('password: ' + name + ' and more')",
    "def g(a, startToken:Token=None, b=1):",
    "userid = passwd = acct = ''",
    "user_pass = '%s:%s' % (unquote(user), unquote(word))",
    '<label for="password">Password:</label>',
]

SECRET = [
    ("Authorization={}", "abcdef123456.7890abcdef"),
    ("authorization = {}", "abcdefghijklmnopqrst"),
    ("authorization='{}'", "self.headers.gettokenx"),
    ("authorization: {}", "self.headers.gettoken"),
    ("AUTHORIZATION={}", "abcdefgh.ijklmnopqrst"),
    ("https://x/?authorization={}", "abc.defghijklmnopq"),
    ("Authorization=Bearer {}", "abcd.efgh(ij"),
    ("PRIVATE-TOKEN: {}", "self.token"),
    ("'PRIVATE-TOKEN': {}", "abcdef"),
    ("{{'X-Api-Key': {}}}", "abc12345"),
    ("if password == '{}':", "async"),
    ("if token == '{}':", "abc123def"),
    ("token = '{}'", "async"),
    ("if token == '{}':", "abcdefghijklmnopqrstuvwxyz"),
    ("password: '{}'", ", stream=None)"),
    ("it's password: '{}'", ", stream"),
    ("x='a' password: '{}'", ") stream"),
    ("{{'password': '{}'}}", ", stream"),
    ("token:{}", "abcdefgh=None1"),
    ("passwd = {}", "acct"),
    ("password = '{}'", "%s:%sx"),
    ("<password>{}</password>", "Password1:"),
    ("SECRET_KEY = '{}'", "AWS_SECRET_ACCESS_KEY"),
    ("postgres://user:{}@db/x", "pä.ss"),
]


@pytest.mark.parametrize("text", CODE)
def test_code_is_left(text: str) -> None:
    assert Gate().redact(text) == text


@pytest.mark.parametrize(("around", "secret"), SECRET)
def test_what_could_be_a_secret_is_not(around: str, secret: str) -> None:
    assert Gate().redact(f"before\n{around.format(secret)}\nafter") == f"before\n{around.format(MASK)}\nafter"


def test_a_digest_hides_no_more_than_a_header_may_have() -> None:
    text = f'Authorization: Digest response="{"a1" * 1_000}" ' + "it is over, and more is here " * 1_000
    shown = Gate().redact(text)
    assert "a1a1" not in shown
    assert shown.endswith("it is over, and more is here ")
