"""A provider over another provider forwards every primitive itself; one that inherits some has forgotten them."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from types import ModuleType

import pytest

import moorage
import moorage.testing
import moorage_local
from moorage import Provider

STORES = {"LocalProvider", "MemoryProvider", "ObjectStoreProvider"}
"""Providers that stand over no other: what they need not say, they may inherit."""

WRAPPERS = {"FaultProvider", "LatencyProvider", "Limits", "MountRouter", "Prefix", "ReadOnly", "Tracing"}

PRIMITIVES = {name: value for name, value in vars(Provider).items() if inspect.isfunction(value) and name[0] != "_"}


def modules(package: ModuleType) -> list[ModuleType]:
    found = pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
    return [package, *(importlib.import_module(module.name) for module in found)]


def providers() -> dict[str, type[Provider]]:
    """Every concrete provider class that is defined in one of our packages."""
    found: dict[str, type[Provider]] = {}
    for package in (moorage, moorage_local):
        for module in modules(package):
            for value in vars(module).values():
                if inspect.isclass(value) and issubclass(value, Provider) and value is not Provider:
                    found[value.__name__] = value
    return found


def test_every_provider_is_known_as_a_store_or_a_wrapper() -> None:
    assert set(providers()) == STORES | WRAPPERS


@pytest.mark.parametrize("name", sorted(WRAPPERS))
def test_a_wrapper_defines_every_primitive_in_its_own_body(name: str) -> None:
    assert set(PRIMITIVES) - set(vars(providers()[name])) == set()


@pytest.mark.parametrize("name", sorted(WRAPPERS | STORES))
def test_a_primitive_takes_what_the_contract_says(name: str) -> None:
    for primitive, declared in PRIMITIVES.items():
        taken = inspect.signature(getattr(providers()[name], primitive)).parameters
        wanted = inspect.signature(declared).parameters
        assert [(each.name, each.kind) for each in taken.values()] == [
            (each.name, each.kind) for each in wanted.values()
        ], primitive


def test_the_mutating_primitives_are_primitives() -> None:
    assert set(PRIMITIVES) >= Provider.mutating
