"""The conformance suite for sandboxes: what an author of one tests it with.

Needs pytest and anyio's pytest plug-in, which comes with anyio. Nothing but tests may import this.
"""

import pytest

pytest.register_assert_rewrite("moorage_workspace.testing.suite")

from moorage_workspace.testing.conformance import SandboxConformance  # noqa: E402 (after the registration)
from moorage_workspace.testing.every_loop import SandboxOnEveryLoop  # noqa: E402
from moorage_workspace.testing.harness import SandboxHarness  # noqa: E402
from moorage_workspace.testing.sleepers import Sleepers  # noqa: E402

__all__ = ["SandboxConformance", "SandboxHarness", "SandboxOnEveryLoop", "Sleepers"]
