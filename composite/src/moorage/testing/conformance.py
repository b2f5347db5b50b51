"""The whole suite, as one class to subclass; and what is left of it for a provider that only reads."""

from __future__ import annotations

import pytest

from moorage import Provider, StoragePath
from moorage.testing.suite.appends import Appends
from moorage.testing.suite.cancellation import Cancellation
from moorage.testing.suite.declarations import Declarations
from moorage.testing.suite.deletes import Deletes
from moorage.testing.suite.directories import Directories
from moorage.testing.suite.errors import Errors
from moorage.testing.suite.faults import Faults
from moorage.testing.suite.links import Links
from moorage.testing.suite.listings import Listings
from moorage.testing.suite.memory_bound import MemoryBound
from moorage.testing.suite.names import Names
from moorage.testing.suite.paths import Paths
from moorage.testing.suite.preconditions import Preconditions
from moorage.testing.suite.races import Races
from moorage.testing.suite.read_only import ReadOnlyRefusals
from moorage.testing.suite.reads import Reads
from moorage.testing.suite.state_machine import StateMachine
from moorage.testing.suite.trees import Trees
from moorage.testing.suite.writes import Writes


class ProviderConformance(
    Declarations,
    Paths,
    Reads,
    Writes,
    Preconditions,
    Races,
    Appends,
    Deletes,
    Directories,
    Listings,
    Trees,
    Links,
    Names,
    Errors,
    Cancellation,
    Faults,
    MemoryBound,
    ReadOnlyRefusals,
    StateMachine,
):
    """Everything that a provider must do. Subclass it, name the class ``Test…``, and give the fixture ``provider``::

        class TestMine(ProviderConformance):
            @pytest.fixture
            def provider(self) -> Provider:
                return MyProvider(...)

    The store must be empty for each test, and may lose everything in it. See :class:`Harness` for the hooks and
    sizes. Tests ask the store's capabilities: where one is missing they check what the contract says instead.
    """


class ReadOnlyConformance(ReadOnlyRefusals):
    """For a provider that never writes: it must refuse every change and serve what ``poke`` stored.

    Give the fixture ``provider`` and the hook ``poke``.
    """

    @pytest.fixture
    async def closed_to_writing(self, opened: Provider) -> Provider:
        """The provider itself, filled past it."""
        await self._fill_for_reading()
        return opened

    async def poke(self, path: StoragePath, data: bytes) -> None:
        pytest.fail(f"{type(self).__name__} has no hook 'poke' to fill the read-only provider with {path}")
