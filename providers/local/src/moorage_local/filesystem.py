"""A directory of this machine, ready to hold."""

from __future__ import annotations

import os

from moorage import Filesystem, Instructions, Labels, Provider, ReadOnly
from moorage_local.provider import LocalProvider


class LocalFilesystem(Filesystem):
    """A directory of this machine as a filesystem that nothing leaves; see :class:`LocalProvider`.

    Args:
        base_path: the directory; made when missing; may itself be a link.
        read_only: refuse every change.
        durable: every change reaches the disk before it returns.
        lock_timeout: seconds to wait for a directory that others are changing.
        display_name, icon, description: how it presents itself.
        instructions: a text for models in place of the default one.
    """

    def __init__(
        self,
        base_path: str | os.PathLike[str],
        read_only: bool = False,
        *,
        durable: bool = False,
        lock_timeout: float = 30.0,
        display_name: str | None = None,
        icon: str | None = None,
        description: str | None = None,
        instructions: Instructions | None = None,
    ) -> None:
        provider: Provider = LocalProvider(base_path, durable=durable, lock_timeout=lock_timeout)
        if read_only:
            provider = ReadOnly(provider)
        super().__init__(provider, labels=Labels(display_name, icon, description), instructions=instructions)
