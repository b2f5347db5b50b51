"""How new objects are made, other than their content: encryption, class, access."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, cast

from moorage_gcs.write_marks import NAME, Mark

_LARGEST_METADATA: Final = 8 << 10
"""Bytes of names and values that an object's own metadata may have."""


@dataclass(frozen=True, slots=True)
class Placing:
    """What the options say of every new object; ``None`` leaves it to the bucket."""

    kms_key: str | None = None
    storage_class: str | None = None
    predefined_acl: str | None = None

    def query(self, *, of_copy: bool = False) -> dict[str, str]:
        """The parameters of an upload, or of a request that makes a copy or a composition."""
        acl, kms = ("destinationPredefinedAcl", "destinationKmsKeyName") if of_copy else ("predefinedAcl", "kmsKeyName")
        given = {acl: self.predefined_acl, kms: self.kms_key}
        return {name: value for name, value in given.items() if value is not None}

    def resource(
        self, mark: Mark, media_type: str | None, kept: Mapping[str, object] | None = None
    ) -> dict[str, object]:
        """The metadata of a new object; ``kept`` is what it takes over from another one.

        What is kept comes before the mark, which is left out where there is no room for it.
        """
        made: dict[str, object] = dict(kept or {})
        metadata = {name: value for name, value in _texts(made.get("metadata")).items() if name != NAME}
        room = _LARGEST_METADATA - len(NAME) - sum(_size(name) + _size(value) for name, value in metadata.items())
        text = mark.within(room)
        made["metadata"] = {**metadata, NAME: text} if text else metadata
        if media_type is not None:
            made["contentType"] = media_type
        if self.storage_class is not None:
            made.setdefault("storageClass", self.storage_class)
        return made


def _texts(metadata: object) -> Mapping[str, object]:
    return cast("Mapping[str, object]", metadata) if isinstance(metadata, Mapping) else {}


def _size(text: object) -> int:
    return len(str(text).encode("utf-8", "surrogatepass"))
