"""The class that programs use."""

from pathlib import Path

from moorage import Filesystem, Labels, Provider, ReadOnly
from moorage.objects import ObjectStoreProvider
from moorage_example.client import ExampleClient


class ExampleFilesystem(Filesystem):
    """Files in one SQLite database, which is made when it is missing."""

    def __init__(
        self,
        file: str | Path,
        read_only: bool = False,
        *,
        display_name: str | None = None,
        icon: str | None = None,
        description: str | None = None,
    ) -> None:
        provider: Provider = ObjectStoreProvider(ExampleClient(Path(file)))
        super().__init__(
            ReadOnly(provider) if read_only else provider,
            labels=Labels(display_name=display_name, icon=icon, description=description),
        )
