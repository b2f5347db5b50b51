"""What one client is told: options, checked and translated."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from moorage_gcs.credentials import Credentials
from moorage_gcs.placing import Placing
from moorage_gcs.sdk import ConnectionLimits
from moorage_gcs.sending import SendingOptions

MIB = 1 << 20

ConditionalWrite = Literal["probe", "guarded", "atomic", "none"]
"""See :class:`moorage_gcs.GCSOptions`."""


@dataclass(frozen=True, slots=True)
class Settings:
    """One client's bucket, who asks, and how.

    Attributes:
        prefix: empty, or ending in a slash.
        is_google: the endpoint is Google's own, whose conditions need no proof.
    """

    bucket: str
    endpoint: str
    credentials: Credentials
    prefix: str = ""
    is_google: bool = True
    project: str | None = None
    conditional_write: ConditionalWrite = "probe"
    probe_at_start: bool = False
    check_bucket: bool = True
    placing: Placing = field(default_factory=Placing)
    limits: ConnectionLimits = field(default_factory=ConnectionLimits)
    sending: SendingOptions = field(default_factory=SendingOptions)
    chunk_size: int = 8 * MIB
    concurrency: int = 4
