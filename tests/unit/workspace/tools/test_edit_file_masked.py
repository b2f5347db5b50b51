"""edit_file beside secrets: no edit takes a mask off, and no answer tells what is under it."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.workspace.tools.one_call import Agent

from moorage import MemoryFilesystem
from moorage_workspace.errors import Refusal, ToolRefusedError
from moorage_workspace.redaction import Gate
from moorage_workspace.text.editing import MOST_PLACES
from moorage_workspace.tools.edit_file import EDIT_FILE

pytestmark = pytest.mark.anyio

LITERAL = "LITERALsecret77"
LINE = "password = hunter2secret9\n"
BODY = "MIIEvQIBADANBgkqhkiG9w0BAQEFAAS\n"
PEM = f"-----BEGIN PRIVATE KEY-----\n{BODY * 20}-----END PRIVATE KEY-----\n"
FAR = "ordinary text\n" * 10_000


@pytest.fixture
def agent() -> Agent:
    return Agent(MemoryFilesystem(), Gate([LITERAL], {"/srv/host/work": "/workspace"}))


async def edit(agent: Agent, content: str, old: str, new: str, **more: Any) -> str:
    await agent.fs.write_text("/a", content)
    await agent.call(EDIT_FILE, path="/a", old_string=old, new_string=new, **more)
    return await agent.fs.read_text("/a")


async def refused(agent: Agent, content: str, old: str, new: str, **more: Any) -> tuple[Refusal, str]:
    with pytest.raises(ToolRefusedError) as caught:
        await edit(agent, content, old, new, **more)
    assert await agent.fs.read_text("/a") == content
    return caught.value.refusal, caught.value.message


@pytest.mark.parametrize("around", ["", FAR])
@pytest.mark.parametrize(
    ("content", "old", "new"),
    [
        pytest.param(LINE, "password", "pw", id="another name"),
        pytest.param(LINE, "password = ", "", id="no name"),
        pytest.param("password=hunter2secret9&token=abcdefgh12345678\n", "password", "pw", id="beside another"),
        pytest.param("a=1 token=abcdefgh12345678 password=hunter2secret9\n", "token", "t", id="before another"),
        pytest.param(PEM, "-----BEGIN PRIVATE KEY-----\n", "", id="a key of many lines"),
    ],
)
async def test_an_edit_that_takes_a_mask_off_is_refused(
    agent: Agent, around: str, content: str, old: str, new: str
) -> None:
    refusal, message = await refused(agent, f"{around}{content}{around}", old, new)
    assert refusal is Refusal.MASKED_CONTENT
    assert "hunter" not in message
    assert "MIIE" not in message


async def test_one_of_many_places_that_takes_a_mask_off_is_enough(agent: Agent) -> None:
    content = f"password\n{FAR}password\n{FAR}{LINE}{FAR}password\n"
    refusal, _ = await refused(agent, content, "password", "pw", replace_all=True)
    assert refusal is Refusal.MASKED_CONTENT


async def test_what_is_hidden_is_not_replaced(agent: Agent) -> None:
    content = f"secret places: {LITERAL} {LITERAL} s\r\n{FAR}path /srv/host/work/s\n"
    left = content.replace(LITERAL, "1").replace("/srv/host/work", "2").replace("s", "z")
    assert await edit(agent, content, "s", "z", replace_all=True) == left.replace("1", LITERAL).replace(
        "2", "/srv/host/work"
    )


@pytest.mark.parametrize("replace_all", [False, True])
@pytest.mark.parametrize(
    ("content", "right", "wrong"),
    [
        (f"# config\n{LINE}xx\n", "password = hunt", "password = hunz"),
        (f"# config\n{LINE}xx\n", "hunt", "hunz"),
        (f"# config\n{LINE}xx\n", "password  = hunter2secret9", "password  = hunter2secret8"),
        (f"value: {LITERAL}\n", "LIT", "LIZ"),
        (f"x\n{PEM}y\n", BODY, BODY.replace("N", "M")),
        (f"{LINE}{LINE}", "hunter", "hunzer"),
    ],
)
async def test_a_right_guess_is_answered_as_a_wrong_one(
    agent: Agent, content: str, right: str, wrong: str, replace_all: bool
) -> None:
    for new in ("x", "x" * 10_000):
        options = {"max_edit_bytes": 5_000}
        answers = {
            await refused(agent, content, old, new, replace_all=replace_all, options=options) for old in (right, wrong)
        }
        assert len(answers) == 1
        assert answers.pop()[0] is (Refusal.NO_MATCH if new == "x" else Refusal.TOO_LARGE)


MASKED = "".join(f"password = zz{{}}zz{number}\n" for number in range(10_000, 11_100))
"""Many places, all of them masked, that whoever guesses has written."""
SHOWN = "{}\n" * MOST_PLACES


@pytest.mark.parametrize(
    ("content", "replace_all"),
    [
        pytest.param(f"{MASKED}{LINE}xx\n{{}}!\n", False, id="masked ones before it"),
        pytest.param(f"# config\n{LINE}{SHOWN}", True, id="as many shown ones as are replaced at once"),
        pytest.param(f"# config\n{LINE}{SHOWN}", False, id="as many shown ones as are counted"),
    ],
)
async def test_masked_places_fill_no_bound(agent: Agent, content: str, replace_all: bool) -> None:
    answers: set[str] = set()
    for guess in ("hunter", "hunger"):
        await agent.fs.write_text("/a", content.replace("{}", guess))
        try:
            result = await Agent(agent.fs, agent.gate).call(
                EDIT_FILE, path="/a", old_string=guess, new_string="fisher", replace_all=replace_all
            )
            answers.add(result.text.replace(guess, "…"))
        except ToolRefusedError as error:
            answers.add(f"{error.refusal}: {error.message}")
    assert len(answers) == 1


async def test_only_places_that_are_shown_are_counted(agent: Agent) -> None:
    assert await edit(agent, f"{LINE}hunter\n", "hunter", "fisher") == f"{LINE}fisher\n"
    again = Agent(agent.fs, agent.gate)
    _, message = await refused(again, f"{LINE}hunter\nhunter\n", "hunter", "fisher")
    assert "occurs 2 times, at lines 2, 3;" in message


@pytest.mark.parametrize(
    ("old", "new"), [("# config", "# configuration\n"), ("xx", ""), ("xx\n", "xx "), ("password = ", "password   = ")]
)
async def test_what_leaves_the_mask_on_is_done(agent: Agent, old: str, new: str) -> None:
    content = f"# config\n{LINE}in /srv/host/work, token=abcdefgh12345678, {LITERAL}.\nxx\n{PEM}"
    assert await edit(agent, content, old, new) == content.replace(old, new)


async def test_the_nearest_lines_say_that_a_mask_cannot_be_matched(agent: Agent) -> None:
    _, message = await refused(agent, f"# config\n{LINE}", "password = hunter", "x")
    assert message.endswith("What is masked cannot be matched.")
