"""Preconditions on generation and metageneration: 412 where a match does not hold, 304 where a "not match" does not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tests.servers.gcs.calls import Call
from tests.servers.gcs.failures import condition_not_met, invalid, not_modified
from tests.servers.gcs.objects import StoredObject


@dataclass(frozen=True, slots=True)
class Conditions:
    """What must hold of one object. Generation 0 stands for "there is none"."""

    generation: int | None = None
    not_generation: int | None = None
    metageneration: int | None = None
    not_metageneration: int | None = None

    @classmethod
    def of(cls, call: Call) -> Conditions:
        """Those on the object that the request names, or on its destination."""
        return cls._named(call, "if")

    @classmethod
    def of_source(cls, call: Call) -> Conditions:
        return cls._named(call, "ifSource")

    @classmethod
    def of_component(cls, component: Mapping[str, Any]) -> Conditions:
        """Those on one source of a compose request."""
        asked = component.get("objectPreconditions") or {}
        value = asked.get("ifGenerationMatch") if isinstance(asked, dict) else asked
        try:
            return cls(generation=None if value is None else int(value))
        except (TypeError, ValueError):
            raise invalid(f"Invalid ifGenerationMatch: {value!r}") from None

    @classmethod
    def _named(cls, call: Call, prefix: str) -> Conditions:
        return cls(
            call.number(f"{prefix}GenerationMatch"),
            call.number(f"{prefix}GenerationNotMatch"),
            call.number(f"{prefix}MetagenerationMatch"),
            call.number(f"{prefix}MetagenerationNotMatch"),
        )

    def check(self, stored: StoredObject | None) -> None:
        """Raise unless all hold. A match with anything but 0 never holds where there is no object."""
        generation = stored.generation if stored else 0
        metageneration = stored.metageneration if stored else 0
        if self.generation is not None and self.generation != generation:
            raise condition_not_met()
        if self.metageneration is not None and (stored is None or self.metageneration != metageneration):
            raise condition_not_met()
        if self.not_generation is not None and self.not_generation == generation:
            raise not_modified()
        if self.not_metageneration is not None and stored and self.not_metageneration == metageneration:
            raise not_modified()


NONE = Conditions()
