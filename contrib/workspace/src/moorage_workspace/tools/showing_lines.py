"""Lines of a file as a model sees them, and the record of which it has really seen."""

from __future__ import annotations

from dataclasses import dataclass, field

from moorage import Stat, StoragePath
from moorage_workspace.results import Kept, Output
from moorage_workspace.text.encodings import UTF8_BOM
from moorage_workspace.text.excerpts import excerpt
from moorage_workspace.text.lines import Picked, after_lines, split_lines
from moorage_workspace.tools.call import ToolCall


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownLines:
    """Some lines of one version of a file.

    Attributes:
        identity: of the file.
        first: the number of the first line.
        limit: how many were asked for.
        total: lines of the file; ``None`` where it is too large to count them.
        digest: of the whole content, where all of it was read.
    """

    call: ToolCall
    path: StoragePath
    identity: str
    stat: Stat
    picked: Picked = field(repr=False)
    first: int
    limit: int | None
    total: int | None
    digest: str | None

    def output(self, *, numbered: bool) -> Output:
        """What the tool returns; once it is framed, what is left of it counts as seen."""
        picked = self.picked
        text = excerpt(picked.data, picked.start, picked.end, self.call.redact, in_key=picked.in_key)
        lines = split_lines(text.removeprefix("\ufeff") if self._begins_with_mark else text)
        shown = [f"{number:>6}→{line}" for number, line in enumerate(lines, self.first)] if numbered else lines
        prefix = len(shown[0]) - len(lines[0]) if lines else 0
        facts: dict[str, object] = {
            "path": str(self.path),
            "size": self.stat.size,
            "first_line": self.first,
            "last_line": self.first + len(lines) - 1,
            "total_lines": self.total,
        }

        def frame(kept: Kept) -> str:
            count = len(lines) if kept.whole else kept.lines
            facts["last_line"] = self.first + max(count, bool(lines)) - 1
            if lines and (count == 0 or (kept.whole and picked.within_line)):
                return self._framed_within(kept.text, prefix)
            return self._framed(kept.text, count)

        return Output("\n".join(shown), facts, frame=frame)

    def _framed(self, text: str, count: int) -> str:
        after = after_lines(self.picked.data[: self.picked.end], count, self.picked.start)
        end = self.picked.end if after is None else after
        self._saw(end)
        if not count:
            return f"{self._head(end, 0)}\n(the file is empty)"
        body = "\n".join(text.split("\n", count)[:count])
        following = self.first + count
        last = self.total if self.limit is None else self.first + self.limit - 1
        if self.total is not None:
            last = min(last or self.total, self.total)
        if last is not None and following > last:
            return f"{self._head(end, count)}\n{body}"
        left = "" if last is None else f"{last - following + 1:,} more lines are not shown; "
        return f"{self._head(end, count)}\n{body}\n[{left}read on with offset={following}]"

    def _framed_within(self, text: str, prefix: int) -> str:
        """The start of one line that is too long."""
        raw = text[prefix:].encode("utf-8", "surrogateescape")
        start = self.picked.start + len(UTF8_BOM) * self._begins_with_mark
        is_raw = self.picked.data.startswith(raw, start)
        end = start + len(raw) if is_raw else self.picked.start
        self._saw(end)
        following = "" if self.first == self.total else f"; the next line has offset={self.first + 1}"
        return (
            f"{self._head(end, 1)}\n{text}\n[line {self.first} is too long and cut here; read on within it with "
            f'encoding="binary", offset={self.picked.base + end + 1}{following}]'
        )

    @property
    def _begins_with_mark(self) -> bool:
        picked = self.picked
        return picked.base + picked.start == 0 and picked.data.startswith(UTF8_BOM)

    def _saw(self, end: int) -> None:
        base, picked = self.picked.base, self.picked
        self.call.session.reads.saw(
            self.identity, self.path, self.stat, base + picked.start, base + end, digest=self.digest
        )

    def _head(self, end: int, count: int) -> str:
        base, size = self.picked.base, self.stat.size
        if base + self.picked.start == 0 and base + end >= size:
            return f"{self.path} ({size} bytes)"
        total = "many" if self.total is None else self.total
        return f"{self.path} (lines {self.first}-{self.first + count - 1} of {total}, {size} bytes)"
