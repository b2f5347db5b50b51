"""What one client is told: options, checked and translated."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from moorage_s3.addressing import Addressing
from moorage_s3.connections import ConnectionLimits
from moorage_s3.credentials import Fetch
from moorage_s3.dialect import ConditionalWrite, Dialect


@dataclass(frozen=True, slots=True)
class Settings:
    """One client's bucket, who signs, and how it speaks.

    Attributes:
        region, endpoint_url: ``None`` where the environment or the SDK's configuration decides.
        fetch: gives the credentials; ``None``: requests are not signed.
        profile: whose configuration the SDK reads.
        environment: the ``AWS_*`` variables as they were when the filesystem was made.
        headers: sent with every request.
        checks_body: send CRC-32 of bodies and check them on the way back; ``None``: on AWS only, whose SDKs do, too.
    """

    bucket: str
    prefix: str = ""
    region: str | None = None
    endpoint_url: str | None = None
    addressing: Addressing = "auto"
    fetch: Fetch | None = field(default=None, repr=False)
    profile: str | None = None
    environment: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    conditional_write: ConditionalWrite = "probe"
    probe_at_start: bool = False
    dialect: Dialect = field(default_factory=Dialect)
    limits: ConnectionLimits = field(default_factory=ConnectionLimits)
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    user_agent: str = "moorage-s3"
    retries: int = 4
    checks_body: bool | None = None
