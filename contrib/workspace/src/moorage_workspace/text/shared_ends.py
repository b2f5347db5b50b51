"""How far two texts agree at their start and at their end, at the speed of comparing memory."""

from __future__ import annotations

from typing import Final, TypeVar

T = TypeVar("T", str, bytes)

_BLOCK: Final = 64 * 1024


def shared_start(one: T, other: T, one_at: int = 0, other_at: int = 0) -> int:
    """How many characters or bytes agree from the given offsets on."""
    limit = min(len(one) - one_at, len(other) - other_at)
    done, step = 0, 64
    while done < limit:
        size = min(step, limit - done)
        step = min(2 * step, _BLOCK)
        here, there = one_at + done, other_at + done
        if one[here : here + size] == other[there : there + size]:
            done += size
            continue
        while size > 1:
            half = size // 2
            if one[here : here + half] == other[there : there + half]:
                here, there, size = here + half, there + half, size - half
            else:
                size = half
        return here - one_at
    return limit


def shared_end(one: T, other: T, limit: int | None = None) -> int:
    """How many characters or bytes agree back from both ends, ``limit`` at most."""
    limit = min(len(one), len(other)) if limit is None else limit
    done, step = 0, 64
    while done < limit:
        size = min(step, limit - done)
        step = min(2 * step, _BLOCK)
        here, there = len(one) - done, len(other) - done
        if one[here - size : here] == other[there - size : there]:
            done += size
            continue
        while size > 1:
            half = size // 2
            if one[here - half : here] == other[there - half : there]:
                here, there, size = here - half, there - half, size - half
            else:
                size = half
        return len(one) - here
    return limit
