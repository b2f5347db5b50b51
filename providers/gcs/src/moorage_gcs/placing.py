"""How new objects are made, other than their content: encryption, class, access."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from moorage_gcs.write_marks import NAME, Mark


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
        """The metadata of a new object; ``kept`` is what it takes over from another one."""
        made: dict[str, object] = dict(kept or {})
        metadata = made.get("metadata")
        made["metadata"] = {**(metadata if isinstance(metadata, dict) else {}), NAME: str(mark)}
        if media_type is not None:
            made["contentType"] = media_type
        if self.storage_class is not None:
            made.setdefault("storageClass", self.storage_class)
        return made
