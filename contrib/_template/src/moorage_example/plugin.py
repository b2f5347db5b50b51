"""What this package brings. Cheap to import: the options class is named as text, and loads at first use."""

from moorage import ProviderSpec, hookimpl


@hookimpl
def moorage_providers() -> list[ProviderSpec]:
    return [ProviderSpec("example", "Files in one SQLite database", "moorage_example.options:ExampleOptions")]
