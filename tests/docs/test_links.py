"""Links between the documents lead somewhere."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.docs.blocks import PAGES, ROOT, anchors_of, links_of

LINKING = (*PAGES, ROOT / "CHANGELOG.md", *sorted(ROOT.glob("*/README.md")), *sorted(ROOT.glob("*/*/README.md")))


@pytest.mark.parametrize("page", LINKING, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(page: Path) -> None:
    for link in links_of(page):
        if link.startswith("https://"):
            continue
        place, _, anchor = link.partition("#")
        target = (page.parent / place).resolve() if place else page
        assert target.is_file(), f"{page}: {link} leads nowhere"
        assert target.is_relative_to(ROOT), f"{page}: {link} leads out of the repository"
        assert not anchor or anchor in anchors_of(target), f"{page}: {link} names no heading"


def test_every_document_is_linked_to() -> None:
    linked = {(page.parent / link.partition("#")[0]).resolve() for page in PAGES for link in links_of(page)}
    assert {page for page in PAGES if page != ROOT / "README.md"} <= linked


def test_a_heading_becomes_an_anchor(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# One `two`: three\n\n```python\n# no heading\n```\n\nSee [there](#one) and `[a](b)`.\n")
    assert anchors_of(page) == {"one-two-three"}
    assert links_of(page) == ["#one"]
