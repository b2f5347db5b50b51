"""moorage.toml and URLs: every refusal names the file, the key, the reason and the nearest valid key, and no value."""

from __future__ import annotations

import traceback
from pathlib import Path
from typing import Literal
from urllib.parse import SplitResult

import pytest
from pydantic import AliasChoices, ConfigDict, Field, SecretStr, field_validator

from moorage import (
    ConfigError,
    Filesystem,
    InvalidArgumentError,
    MemoryFilesystem,
    MemoryProvider,
    ProviderOptions,
    ProviderSpec,
    Registry,
    from_config,
    hookimpl,
    open_url,
)
from moorage.config import read_config

SECRET = "hunter2-hunter2"


class VaultOptions(ProviderOptions):
    model_config = ConfigDict(arbitrary_types_allowed=True)

    bucket: str
    secret_access_key: SecretStr | None = Field(
        default=None, validation_alias=AliasChoices("secret_access_key", "secret")
    )
    addressing: Literal["auto", "path"] = "auto"
    retries: int = 3
    place: Path | None = None
    tags: list[str] = Field(default_factory=list)
    headers: dict[str, str] = Field(default_factory=dict)
    attempts: int = Field(default=1, ge=1)
    zone: str = Field(default="a", pattern="^[a-z]+$")
    made: MemoryProvider | None = None

    def build(self) -> Filesystem:
        if self.bucket == "refused":
            raise InvalidArgumentError("this bucket is refused")
        if self.bucket == "broken":
            raise RuntimeError(f"the key is {self.secret_access_key and self.secret_access_key.get_secret_value()}")
        return MemoryFilesystem(self.read_only, display_name=self.display_name)

    @field_validator("secret_access_key")
    @classmethod
    def _long_enough(cls, value: SecretStr | None) -> SecretStr | None:
        if value is not None and len(value.get_secret_value()) < 20:
            raise ValueError(f"{value.get_secret_value()} is too short")
        return value

    @classmethod
    def from_url(cls, url: SplitResult) -> dict[str, object]:
        return {"bucket": url.netloc}


class VaultPlugin:
    @hookimpl
    def moorage_providers(self) -> list[ProviderSpec]:
        return [ProviderSpec("vault", "For these tests", f"{__name__}:VaultOptions")]


@pytest.fixture
def registry() -> Registry:
    return Registry([VaultPlugin()])


def refusal(text: str, registry: Registry, tmp_path: Path, **env: str) -> str:
    """What a file with this content is refused with."""
    file = tmp_path / "moorage.toml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError) as caught:
        from_config(file, registry=registry, env=env)
    message = str(caught.value)
    assert message.startswith(f"{file}: ")
    return message.removeprefix(f"{file}: ")


def vault(*lines: str) -> str:
    return "\n".join(['[mounts."/data"]', 'provider = "vault"', *lines])


@pytest.mark.anyio
async def test_a_file_becomes_a_tree(registry: Registry, tmp_path: Path) -> None:
    file = tmp_path / "moorage.toml"
    file.write_text(
        vault('bucket = "b"', "read_only = true", 'display_name = "D"') + '\n[mounts.m]\nprovider = "memory"'
    )
    async with from_config(file, registry=registry) as tree:
        mounts = {str(mount.path): mount for mount in tree.mounts()}
        assert list(mounts) == ["/data", "/m"]
        assert mounts["/data"].read_only
        assert mounts["/data"].labels.display_name == "D"
        await tree.write_text("/m/x", "one")


def test_a_mapping_is_read_like_a_file(registry: Registry) -> None:
    configuration = read_config({"mounts": {"/a": {"provider": "vault", "bucket": "b"}}}, registry=registry)
    assert configuration.mounts["/a"] == VaultOptions(bucket="b")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[mount.x]", "mount: unknown key; did you mean 'mounts'?"),
        ("nested = 1", "nested: must be true or false"),
        ("nested = true", "mounts: there are none"),
        ("mounts = 3", "mounts: must be tables"),
        ('mounts = ["x"]', "mounts: must be tables; write [mounts"),
        ("[mounts]\nx = 1", "mounts.x: must be a table"),
        ("[mounts.'/../x']\nprovider = 'memory'", "mounts.\"/../x\": not a mount path: '..' at segment 1"),
        (
            '[mounts."/a"]\nprovder = "memory"',
            'mounts."/a".provider: a provider\'s name is required; did you mean it by',
        ),
        ('[mounts."/a"]\nprovider = 3', 'mounts."/a".provider: a provider\'s name is required; known: '),
        (
            '[mounts."/a"]\nprovider = "memroy"',
            "mounts.\"/a\".provider: no installed package brings the provider 'memroy'",
        ),
        (vault('bucket = "b"', "retrys = 3"), "mounts.\"/data\".retrys: unknown option; did you mean 'retries'?"),
        (vault('bucket = "b"', 'secrt = "x"'), "mounts.\"/data\".secrt: unknown option; did you mean 'secret'?"),
        (vault(), 'mounts."/data".bucket: this option is required'),
        (vault('bucket = "b"', 'retries = "many"'), 'mounts."/data".retries: must be a whole number'),
        (vault('bucket = "b"', 'addressing = "x"'), "mounts.\"/data\".addressing: must be 'auto' or 'path'"),
        (vault('bucket = "b"', "place = 3"), 'mounts."/data".place: must be a path, as a text'),
        (vault('bucket = "b"', "place = [1]", "tags = 1"), 'mounts."/data".tags: must be a list'),
        (vault('bucket = "b"', "display_name = 3"), 'mounts."/data".display_name: must be a text'),
        (vault('bucket = "b"', "retries = 1.5"), 'mounts."/data".retries: must be a whole number'),
        (vault('bucket = "b"', "attempts = 0"), 'mounts."/data".attempts: must be greater than or equal to 1'),
        (vault('bucket = "b"', 'zone = "A"'), "mounts.\"/data\".zone: must match pattern '^[a-z]+$'"),
        (vault('bucket = "b"', "made = 1"), 'mounts."/data".made: is not what this option takes'),
        (vault('bucket = "refused"'), 'mounts."/data": this bucket is refused'),
        (
            '[mounts."/a"]\nprovider="memory"\n[mounts."/a/b"]\nprovider="memory"',
            "mounts: mounts overlap: /a/b lies inside /a; nested = true allows it",
        ),
        ('[mounts."/a"]\nprovider="memory"\n[mounts."a/"]\nprovider="memory"', "mounts: two mounts at /a"),
        ("nested = ", "is not TOML: Invalid value (at end of document)"),
    ],
)
def test_a_refusal_names_key_and_reason(text: str, expected: str, registry: Registry, tmp_path: Path) -> None:
    assert expected in refusal(text, registry, tmp_path)


def test_every_wrong_option_of_a_mount_is_named(registry: Registry, tmp_path: Path) -> None:
    message = refusal(vault('retries = "x"', "what = 1"), registry, tmp_path)
    assert [part in message for part in ("retries", "what", "bucket")] == [True, True, True]


def test_nested_mounts_are_allowed_on_request(registry: Registry) -> None:
    mounts = {"/a": {"provider": "memory"}, "/a/b": {"provider": "memory"}}
    assert len(from_config({"nested": True, "mounts": mounts}, registry=registry).mounts()) == 2


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"nowhere\.toml: cannot be read: No such file"):
        from_config(tmp_path / "nowhere.toml")
    (tmp_path / "latin.toml").write_bytes(b"# \xe9\n")
    with pytest.raises(ConfigError, match=r"latin\.toml: is not UTF-8"):
        from_config(tmp_path / "latin.toml")


# Environment variables


def test_variables_are_substituted_at_any_depth(registry: Registry) -> None:
    table = {
        "provider": "vault",
        "bucket": "a-${NAME}-$${NAME}-$NAME",
        "retries": "${RETRIES}",
        "tags": ["${NAME}", "x"],
        "headers": {"h": "${NAME}${NAME}"},
    }
    env = {"NAME": "n", "RETRIES": "7"}
    options = read_config({"mounts": {"/a": table}}, registry=registry, env=env).mounts["/a"]
    assert isinstance(options, VaultOptions)
    assert (options.bucket, options.retries) == ("a-n-${NAME}-$NAME", 7)
    assert (options.tags, options.headers) == (["n", "x"], {"h": "nn"})


def test_a_value_is_not_substituted_twice(registry: Registry) -> None:
    table = {"provider": "vault", "bucket": "${A}"}
    options = read_config({"mounts": {"/a": table}}, registry=registry, env={"A": "${B}"}).mounts["/a"]
    assert isinstance(options, VaultOptions)
    assert options.bucket == "${B}"


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("${ABSENT}", 'mounts."/data".bucket: the environment variable ABSENT is not set'),
        ("x${", "mounts.\"/data\".bucket: '${' without '}'"),
        ("${A-B}", "mounts.\"/data\".bucket: 'A-B' is no name of an environment variable"),
        ("${}", "mounts.\"/data\".bucket: '' is no name of an environment variable"),
    ],
)
def test_a_wrong_reference_names_key_and_variable(
    value: str, expected: str, registry: Registry, tmp_path: Path
) -> None:
    assert expected in refusal(vault(f'bucket = "{value}"'), registry, tmp_path)


# Secrets


@pytest.mark.parametrize(
    "lines",
    [
        ('bucket = "b"', f'secret = "{SECRET}"'),
        ('bucket = "b"', 'secret = "${SECRET}"'),
        ('bucket = "b"', 'retries = "${SECRET}"'),
        ('bucket = "b"', 'addressing = "${SECRET}"'),
        ('bucket = "b"', f'secrets = "{SECRET}"'),
        ('bucket = "b"', f'secret = ["{SECRET}"]'),
        ('bucket = "broken"', f'secret = "{SECRET * 2}"'),
    ],
)
def test_no_value_is_shown_by_an_error_or_its_cause(lines: tuple[str, ...], registry: Registry, tmp_path: Path) -> None:
    file = tmp_path / "moorage.toml"
    file.write_text(vault(*lines))
    with pytest.raises(ConfigError) as caught:
        from_config(file, registry=registry, env={"SECRET": SECRET})
    assert SECRET not in "".join(traceback.format_exception(caught.value))


@pytest.mark.parametrize("provider", ["${SECRET}", "x-${SECRET}", "memory${", "$${SECRET}"])
def test_the_name_of_a_provider_takes_no_variable(provider: str, registry: Registry, tmp_path: Path) -> None:
    file = tmp_path / "moorage.toml"
    file.write_text(f'[mounts."/data"]\nprovider = "{provider}"')
    with pytest.raises(ConfigError, match=r'mounts\."/data"\.provider: takes no environment variables') as caught:
        from_config(file, registry=registry, env={"SECRET": SECRET})
    assert SECRET not in "".join(traceback.format_exception(caught.value))


def test_a_secret_is_not_in_the_text_of_the_options() -> None:
    options = VaultOptions.model_validate({"bucket": "b", "secret": SECRET * 2})
    assert SECRET not in repr(options) + str(options)


# Paths


def test_a_relative_path_is_relative_to_the_file(registry: Registry, tmp_path: Path) -> None:
    file = tmp_path / "sub" / "moorage.toml"
    file.parent.mkdir()
    file.write_text(vault('bucket = "b"', 'place = "../data"'))
    options = read_config(file, registry=registry).mounts["/data"]
    assert isinstance(options, VaultOptions)
    assert options.place == tmp_path / "sub" / "../data"


@pytest.mark.parametrize(("given", "expected"), [("/abs", "/abs"), ("~/x", "/home/me/x")])
def test_other_paths_stand_for_themselves(
    given: str, expected: str, registry: Registry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", "/home/me")
    file = tmp_path / "moorage.toml"
    file.write_text(vault('bucket = "b"', f'place = "{given}"'))
    options = read_config(file, registry=registry).mounts["/data"]
    assert isinstance(options, VaultOptions)
    assert options.place == Path(expected)


@pytest.mark.parametrize("line", ['place = "${EMPTY}/data"', 'place = "${EMPTY}${EMPTY}"', 'tags = ["a-${EMPTY}"]'])
def test_an_empty_variable_within_a_text_is_refused(line: str, registry: Registry, tmp_path: Path) -> None:
    message = refusal(vault('bucket = "b"', line), registry, tmp_path, EMPTY="")
    assert "the environment variable EMPTY is empty" in message
    assert message.startswith(f'mounts."/data".{line.split()[0]}')


def test_an_empty_variable_may_be_a_whole_text(registry: Registry) -> None:
    table = {"provider": "vault", "bucket": "b", "description": "${EMPTY}"}
    options = read_config({"mounts": {"/a": table}}, registry=registry, env={"EMPTY": ""}).mounts["/a"]
    assert options.description == ""


@pytest.mark.parametrize("place", ["", "${EMPTY}"])
def test_an_empty_path_is_not_the_directory_of_the_file(place: str, registry: Registry, tmp_path: Path) -> None:
    message = refusal(vault('bucket = "b"', f'place = "{place}"'), registry, tmp_path, EMPTY="")
    assert message.startswith('mounts."/data".place: must not be empty')


def test_an_empty_path_is_refused_in_programs_and_urls_too(registry: Registry) -> None:
    with pytest.raises(ValueError, match="must not be empty"):
        VaultOptions.model_validate({"bucket": "b", "place": ""})
    with pytest.raises(ConfigError, match="vault:// URL: place: must not be empty"):
        open_url("vault://b?place=", registry=registry)


def test_the_directory_of_the_file_can_be_named(registry: Registry, tmp_path: Path) -> None:
    file = tmp_path / "moorage.toml"
    file.write_text(vault('bucket = "b"', 'place = "."'))
    options = read_config(file, registry=registry).mounts["/data"]
    assert isinstance(options, VaultOptions)
    assert options.place == tmp_path


# Options


def test_options_are_frozen_and_strict() -> None:
    options = VaultOptions(bucket="b")
    with pytest.raises(ValueError, match="frozen"):
        options.bucket = "c"
    with pytest.raises(ValueError, match="Extra inputs"):
        VaultOptions.model_validate({"bucket": "b", "other": 1})


def test_options_without_build_cannot_be_made() -> None:
    class Unfinished(ProviderOptions):
        pass

    with pytest.raises(TypeError, match="abstract"):
        Unfinished()  # type: ignore[abstract]


# URLs


@pytest.mark.anyio
async def test_a_url_becomes_a_filesystem(registry: Registry) -> None:
    async with open_url("memory://", registry=registry) as fs:
        await fs.write_text("/a", "one")
    assert open_url("vault://b?read_only=true&display_name=My%20files", registry=registry).info().read_only


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("memory", "not a URL: it must start with"),
        ("MEMORY://", "not a URL: it must start with"),
        ("memroy://", "no installed package brings the provider 'memroy'; did you mean 'memory'?"),
        ("memory://host", "memory:// takes neither host nor path"),
        ("memory:///path", "memory:// takes neither host nor path"),
        ("memory://?read_olny=1", "memory:// URL: read_olny: unknown option; did you mean 'read_only'?"),
        ("memory://?read_only=perhaps", "memory:// URL: read_only: must be true or false"),
        ("memory://?read_only=1&read_only=1", "memory:// URL: the option 'read_only' is given twice"),
        ("vault://b?bucket=c", "vault:// URL: the option 'bucket' is given twice"),
        ("memory://?read_only", "memory:// URL: the query is not 'name=value&name=value'"),
        ("memory://#x", "memory:// URL: has a fragment"),
        ("memory://\n?x=1", "memory:// URL: the character at position 9 must be percent-encoded"),
        ("vault://[b", "vault:// URL: not a valid URL"),
        (f"vault://b?secret={SECRET}", "vault:// URL: secret"),
        (f"vault://{SECRET}@b?secrt={SECRET}", "vault:// URL: secrt: unknown option"),
    ],
)
def test_a_wrong_url_is_refused_without_being_shown(url: str, expected: str, registry: Registry) -> None:
    with pytest.raises(ConfigError) as caught:
        open_url(url, registry=registry)
    assert expected in str(caught.value)
    assert SECRET not in "".join(traceback.format_exception(caught.value))
