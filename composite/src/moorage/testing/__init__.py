"""The conformance suite, and the providers that fail and dawdle on purpose: what an author tests a provider with.

Needs pytest, hypothesis and anyio's pytest plug-in, which comes with anyio. Nothing but tests may import this.
"""

import pytest

pytest.register_assert_rewrite("moorage.testing.suite", "moorage.testing.refusing")

from moorage.testing.bodies import Chunks, blocks, pattern  # noqa: E402 (after the registration)
from moorage.testing.cancelling import (  # noqa: E402
    Outcome,
    SwallowedCancellationError,
    cancel_at,
    cancel_everywhere,
    count_awaits,
)
from moorage.testing.conformance import ProviderConformance, ReadOnlyConformance  # noqa: E402
from moorage.testing.fault_provider import Fault, FaultProvider  # noqa: E402
from moorage.testing.harness import Harness  # noqa: E402
from moorage.testing.latency_provider import LatencyProvider  # noqa: E402
from moorage.testing.on_disk import OnDisk  # noqa: E402
from moorage.testing.on_every_loop import OnEveryLoop  # noqa: E402
from moorage.testing.refusing import refused  # noqa: E402

__all__ = [
    "Chunks",
    "Fault",
    "FaultProvider",
    "Harness",
    "LatencyProvider",
    "OnDisk",
    "OnEveryLoop",
    "Outcome",
    "ProviderConformance",
    "ReadOnlyConformance",
    "SwallowedCancellationError",
    "blocks",
    "cancel_at",
    "cancel_everywhere",
    "count_awaits",
    "pattern",
    "refused",
]
