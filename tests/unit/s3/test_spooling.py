"""A stream on disk is sent whole, as often as it is sent."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator

import pytest

from moorage_s3.sending import LargeBody
from moorage_s3.spooling import spooled

pytestmark = pytest.mark.anyio

BODY = os.urandom((3 << 20) + 5)


async def chunks() -> AsyncIterator[bytes]:
    for start in range(0, len(BODY), 300_000):
        yield BODY[start : start + 300_000]


async def test_an_attempt_that_was_given_up_does_not_disturb_the_next() -> None:
    async with spooled(chunks(), 1000, 1 << 30) as body:
        assert isinstance(body, LargeBody)
        given_up, sent = body.read(), bytearray()
        async for data in body.read():
            sent += data
            await anext(given_up, None)
        assert bytes(sent) == BODY
