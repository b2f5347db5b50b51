"""The fenced blocks, headings and links of a Markdown file, and what each kind of block is for."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]
PAGES: Final = (
    ROOT / "README.md",
    *sorted((ROOT / "docs").rglob("*.md")),
    ROOT / "contrib" / "workspace" / "README.md",
)

_FENCE: Final = re.compile(r"^(`{3,})(.*)$")
_NAMED: Final = re.compile(r"# ([\w./-]+\.(?:py|toml))")
_HEADING: Final = re.compile(r"^#{1,6} (.+?)\s*$")
_LINK: Final = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
_CODE: Final = re.compile(r"`[^`]*`")


@dataclass(frozen=True, slots=True)
class Block:
    """One fenced block; ``line`` is that of its first line of content."""

    page: Path
    line: int
    language: str
    text: str

    @property
    def file(self) -> str | None:
        """The file that the block is, when its first line is a comment with a file's name."""
        named = _NAMED.fullmatch(self.text.partition("\n")[0])
        return named[1] if named else None

    @property
    def where(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"


def blocks_of(page: Path) -> list[Block]:
    """Every fenced block, in order.

    Raises:
        ValueError: a fence is not closed.
    """
    found: list[Block] = []
    opened: tuple[str, str, int] | None = None
    held: list[str] = []
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1):
        fence = _FENCE.match(line)
        if opened is None and fence:
            opened, held = (fence[1], fence[2].strip(), number + 1), []
        elif opened is not None and line == opened[0]:
            found.append(Block(page, opened[2], opened[1], "".join(f"{text}\n" for text in held)))
            opened = None
        else:
            held.append(line)
    if opened is not None:
        raise ValueError(f"{page}:{opened[2]}: this block is not closed")
    return found


def prose_of(page: Path) -> list[str]:
    """The lines outside of blocks."""
    inside = False
    lines: list[str] = []
    for line in page.read_text(encoding="utf-8").splitlines():
        if _FENCE.match(line):
            inside = not inside
        elif not inside:
            lines.append(line)
    return lines


def links_of(page: Path) -> list[str]:
    return [target for line in prose_of(page) for target in _LINK.findall(_CODE.sub("", line))]


def anchors_of(page: Path) -> set[str]:
    """The names under which headings can be linked to."""
    headings = [found[1] for line in prose_of(page) if (found := _HEADING.match(line))]
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def table_rows(page: Path, heading: str) -> list[list[str]]:
    """The cells of the first table below a heading, without its head; an escaped bar belongs to its cell."""
    lines = iter(prose_of(page))
    for line in lines:
        if (found := _HEADING.match(line)) and found[1] == heading:
            break
    else:
        raise ValueError(f"{page} has no heading {heading!r}")
    rows: list[list[str]] = []
    for line in lines:
        if line.startswith("|"):
            cells = re.split(r"(?<!\\)\|", line)[1:-1]
            rows.append([cell.strip().replace("\\|", "|") for cell in cells])
        elif rows or _HEADING.match(line):
            break
    return rows[2:]
