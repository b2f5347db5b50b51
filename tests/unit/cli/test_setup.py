"""init, providers, doctor, demo, new-provider, plug-in commands, global options, help and completion."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from tests.unit.cli.conftest import HostileProvider, Runner

from moorage import CommandSpec, ProviderOptions, ProviderSpec, Registry, from_config
from moorage.cli.app import _COMMANDS


def test_init_writes_what_can_be_read_and_never_overwrites(run: Runner, workspace: Path) -> None:
    (workspace / "moorage.toml").unlink()
    assert run("init").code == 0
    written = (workspace / "moorage.toml").read_text()
    assert "#" in written
    assert [str(mount.path) for mount in from_config(workspace / "moorage.toml").mounts()] == ["/files", "/scratch"]
    assert run("doctor").code == 0
    refused = run("init", "--json")
    assert (refused.code, refused.document["error"]["code"]) == (1, "exists")
    assert (workspace / "moorage.toml").read_text() == written
    assert run("init", "nowhere").code == 1


def test_providers_lists_options_and_what_is_broken(run: Runner) -> None:
    listed = {document.get("scheme"): document for document in run("providers", "--json").documents}
    options = {option["name"]: option for option in listed["kept"]["options"]}
    assert options["name"]["required"]
    assert options["read_only"] == {
        "name": "read_only",
        "type": "bool",
        "required": False,
        "default": False,
        "description": None,
    }
    assert "Kept between commands" in run("providers").out


def test_doctor_is_content_with_a_sound_workspace(run: Runner) -> None:
    sound = run("doctor")
    assert (sound.code, sound.err) == (0, "")
    assert all(document["ok"] for document in run("doctor", "--json").documents)


def test_doctor_names_what_is_wrong(run: Runner, workspace: Path) -> None:
    failing = run("doctor", "--mount", "/broken=kept://failing", "--json")
    [bad] = [document for document in failing.documents if not document["ok"]]
    assert (failing.code, bad["check"], bad["subject"]) == (1, "mount", "/broken")
    (workspace / "moorage.toml").write_text("[mount]\n")
    wrong = run("doctor")
    assert wrong.code == 1
    assert "mount: unknown key; did you mean 'mounts'?" in wrong.out


def test_doctor_lists_names_that_no_path_can_express(run: Runner) -> None:
    odd = run("doctor", "--mount", "/odd=kept://hostile", "--json")
    [bad] = [document for document in odd.documents if not document["ok"]]
    assert (odd.code, bad["check"]) == (1, "name")
    assert run("doctor", "--mount", "/odd=kept://hostile", "--scan", "0").code == 0


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("--fix", "--mount", "/odd=kept://hostile"), 3600.0),
        (("--mount", "/odd=kept://hostile"), None),
        (("--fix", "--mount", "/odd=kept://hostile?read_only=true"), None),
    ],
)
def test_doctor_sweeps_only_when_asked_and_allowed(
    run: Runner, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], expected: float | None
) -> None:
    monkeypatch.setattr(HostileProvider, "swept", None)
    run("doctor", *arguments)
    assert HostileProvider.swept == expected


def test_doctor_sweeps_through_wrappers(run: Runner) -> None:
    for mount in ("/odd=kept://hostile-limited", "/odd=kept://hostile-traced"):
        swept = {line["subject"]: line for line in run("doctor", "--fix", "--mount", mount, "--json").documents}
        assert (swept["/odd"]["check"], swept["/odd"]["detail"]) == ("leftovers", "3 removed")
        assert swept["/data"]["detail"] == "0 removed"
        assert swept["/frozen"]["detail"] == "not swept: the mount is read-only"


def test_demo(run: Runner) -> None:
    shown = run("demo")
    assert (shown.code, shown.err) == (0, "")
    assert len(run("demo", "--json").documents) == 5


def test_the_commands_of_plugins_work_like_ours(run: Runner) -> None:
    assert run("shout", "hey", "--loud").out == "HEY\n"
    assert run("shout", "hey", "--json").document == {"word": "hey", "mounts": ["/data", "/frozen", "/notes"]}
    assert "Says a word" in run("--help").out


def test_the_summary_of_a_plugin_reaches_no_terminal_as_it_is(run: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    summary = "Clears \x1b[2J the [bold]screen[/]"
    provider, command = ProviderSpec("odd", summary, "a:B"), CommandSpec("odd", summary, "a:b")
    monkeypatch.setattr(Registry, "providers", {"odd": provider})
    monkeypatch.setattr(Registry, "commands", {"odd": command})
    monkeypatch.setattr(Registry, "options", lambda *_: ProviderOptions)
    for arguments in (("--help",), ("odd", "--help"), ("providers",)):
        shown = run(*arguments).out
        assert "\x1b[2J" not in shown
        assert "Clears \\x1b[2J the [bold]screen[/]" in shown


def test_a_command_that_cannot_be_loaded_breaks_no_other(run: Runner) -> None:
    unmade = run("unmade")
    assert (unmade.code, "cannot import no_such_module:nothing" in unmade.err) == (2, True)
    assert run("ls").code == 0


@pytest.mark.parametrize("name", [name for name, _, _ in _COMMANDS])
def test_every_command_has_help_with_an_example(run: Runner, name: str) -> None:
    shown = run(name, "--help")
    assert shown.code == 0
    assert "Example: " in shown.out
    assert f"moorage {name}" in shown.out.split("Example: ")[1]
    for option in ("--config", "--mount", "--json", "--debug"):
        assert option in shown.out


@pytest.mark.parametrize("arguments", [(), *((name,) for name, _, _ in _COMMANDS), ("shout",)])
def test_help_names_what_a_command_takes_in_capitals(run: Runner, arguments: tuple[str, ...]) -> None:
    shown = run(*arguments, "--help").out
    assert re.search(r"<\w|\{\w", shown.replace("'*.{csv,tsv}'", "")) is None
    usage = re.search(r"Usage: .*\[OPTIONS\](.*)", shown)
    assert usage is not None
    assert usage[1] == usage[1].upper()


@pytest.mark.parametrize(
    ("name", "usage"),
    [("cat", "PATH..."), ("cp", "SOURCE... TARGET"), ("du", "[PATH...]"), ("init", "[DIRECTORY]"), ("shout", "WORD")],
)
def test_usage(run: Runner, name: str, usage: str) -> None:
    assert f"Usage: moorage {name} [OPTIONS] {usage} " in run(name, "--help").out


def test_the_help_of_all_has_an_example(run: Runner) -> None:
    assert "Example: moorage demo" in run("--help").out


# Global options


def test_mounts_of_the_command_line_join_those_of_the_file(run: Runner) -> None:
    assert run("--mount", "/more=memory://", "ls", "--mount", "/b=memory://").out.split() == [
        "b/",
        "data/",
        "frozen/",
        "more/",
        "notes/",
    ]
    assert run("write", "/data/x", "--text", "x", "--mount", "data=memory://").code == 2


@pytest.mark.parametrize("path", ["/data", "/data/", "//data"])
def test_a_mount_of_the_command_line_replaces_none(run: Runner, path: str) -> None:
    refused = run("ls", "--mount", f"{path}=memory://", "--json")
    assert (refused.code, refused.document["error"]["code"]) == (2, "config")
    message = refused.document["error"]["message"]
    assert message.startswith("--mount /data: something is there already, by ")
    assert message.endswith('moorage.toml: mounts."/data"')
    twice = run("ls", "--mount", "/new=memory://", "--mount", f"{path.replace('data', 'new')}=memory://")
    assert (twice.code, twice.err) == (2, "moorage: --mount /new: given twice\n")


@pytest.mark.parametrize(
    "arguments",
    [
        ("cat", "/broken/x"),
        ("ls", "/broken"),
        ("ls", "/"),
        ("find", "/"),
        ("tree", "/"),
        ("du", "/"),
        ("rm", "/broken/x"),
    ],
)
def test_a_mount_that_does_not_open_is_named_with_file_and_key(
    run: Runner, workspace: Path, arguments: tuple[str, ...]
) -> None:
    added = run(*arguments, "--mount", "/broken=kept://failing")
    assert (added.code, "the store cannot be reached (--mount /broken): " in added.err) == (1, True)
    with (workspace / "moorage.toml").open("a") as file:
        file.write('\n[mounts."/broken/"]\nprovider = "kept"\nname = "failing"\n')
    configured = run(*arguments)
    assert configured.code == 1
    assert f'the store cannot be reached ({workspace / "moorage.toml"}: mounts."/broken/"): ' in configured.err


def test_a_mount_that_is_no_directory_is_not_listed_as_one(run: Runner, workspace: Path) -> None:
    (workspace / "file").write_text("x")
    refused = run("ls", "/file", "--mount", "/file=local://./file")
    assert (refused.code, refused.out) == (1, "")
    assert "(--mount /file)" in refused.err


def test_mounts_do_without_a_file(run: Runner, workspace: Path) -> None:
    (workspace / "moorage.toml").unlink()
    nothing = run("ls", "--json")
    assert (nothing.code, nothing.document["error"]["code"]) == (2, "config")
    assert "moorage init" in nothing.document["error"]["message"]
    assert run("ls", "--mount", "/a=memory://").out == "a/\n"


def test_the_file_can_be_named(run: Runner, workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = workspace / "other.toml"
    other.write_text('[mounts."/other"]\nprovider = "memory"\n')
    assert run("-c", "other.toml", "ls").out == "other/\n"
    assert run("ls", "--config", str(other)).out == "other/\n"
    monkeypatch.setenv("MOORAGE_CONFIG", str(other))
    assert run("ls").out == "other/\n"
    assert run("ls", "--config", "moorage.toml").out != "other/\n"
    assert run("ls", "--config", "nowhere.toml").code == 2


def test_a_secret_in_a_mount_is_not_shown(run: Runner) -> None:
    refused = run("ls", "--mount", "/a=kept://x?nme=hunter2")
    assert refused.code == 2
    assert "did you mean 'name'?" in refused.err
    assert "hunter2" not in refused.err


# In a process of its own


def moorage(*arguments: str, cwd: Path, **options: object) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-c", "import sys; from moorage.cli import main; sys.exit(main())", *arguments]
    return subprocess.Popen(command, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)  # type: ignore[call-overload,no-any-return]


def test_a_reader_that_goes_away_ends_it_quietly(tmp_path: Path) -> None:
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / "big").write_bytes(b"x" * 5_000_000)
    process = moorage("cat", "/a/big", "--mount", "/a=local://" + str(tmp_path / "files"), cwd=tmp_path)
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.read(10)
    process.stdout.close()
    assert process.wait(30) == 141
    assert process.stderr.read() == b""
    process.stderr.close()


@pytest.mark.usefixtures("interruptible")
def test_ctrl_c_leaves_nothing_half_written(tmp_path: Path) -> None:
    files = tmp_path / "files"
    process = moorage(
        "write", "/a/x", "--mount", f"/a=local://{files}", cwd=tmp_path, stdin=subprocess.PIPE, start_new_session=True
    )
    assert process.stdin is not None
    process.stdin.write(b"x" * 3_000_000)
    process.stdin.flush()
    while not files.exists() or not any(files.iterdir()):
        assert process.poll() is None
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=30)
    assert (process.returncode, err) == (130, b"moorage: interrupted\n")
    assert list(files.iterdir()) == []


def test_standard_input_is_streamed_from_pipes_and_files(tmp_path: Path) -> None:
    mount = f"/a=local://{tmp_path / 'files'}"
    body = os.urandom(3_000_000)
    (tmp_path / "body").write_bytes(body)
    with (tmp_path / "body").open("rb") as file:
        assert moorage("write", "/a/file", "--mount", mount, cwd=tmp_path, stdin=file).communicate() is not None
    process = moorage("write", "/a/pipe", "--mount", mount, cwd=tmp_path, stdin=subprocess.PIPE)
    process.communicate(body)
    moorage("write", "/a/null", "--mount", mount, cwd=tmp_path, stdin=subprocess.DEVNULL).communicate()
    contents = [(tmp_path / "files" / name).read_bytes() for name in ("file", "pipe", "null")]
    assert contents == [body, body, b""]


def test_paths_are_completed(tmp_path: Path) -> None:
    files = tmp_path / "files"
    (files / "sub").mkdir(parents=True)
    (files / "some.txt").write_text("x")
    (tmp_path / "moorage.toml").write_text('[mounts."/a"]\nprovider = "local"\nbase_path = "files"\n')
    env = {**os.environ, "_MOORAGE_COMPLETE": "complete_bash", "COMP_WORDS": "moorage cat /a/s", "COMP_CWORD": "2"}
    out, _ = moorage(cwd=tmp_path, env=env).communicate(timeout=30)
    assert out.decode().split() == ["/a/some.txt", "/a/sub/"]


@pytest.mark.parametrize("missing", ["typer", "rich"])
def test_without_the_extra_it_says_what_to_install(tmp_path: Path, missing: str) -> None:
    code = f"import sys; sys.modules[{missing!r}] = None; from moorage.cli import main; sys.exit(main(['demo']))"
    ended = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=30, check=False
    )
    assert (ended.returncode, ended.stdout) == (1, "")
    assert ended.stderr == 'moorage: the command line needs its extra: pip install "moorage-core[cli]"\n'


def test_importing_moorage_imports_none_of_this() -> None:
    code = "import sys, moorage; print([n for n in ('typer', 'rich', 'pydantic', 'fsspec') if n in sys.modules])"
    assert subprocess.check_output([sys.executable, "-c", code]).strip() == b"[]"


def test_the_file_that_init_writes_is_toml(run: Runner, workspace: Path) -> None:
    (workspace / "moorage.toml").unlink()
    run("init")
    assert set(tomllib.loads((workspace / "moorage.toml").read_text())) == {"nested", "mounts"}
