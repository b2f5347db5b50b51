"""Moorage makes any storage fast to one path tree that is safe to let software loose on.

Users hold a :class:`Filesystem`, often a :class:`CompositeFilesystem`; authors implement :class:`Provider` or, for
stores of keys, :class:`ObjectClient`.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from moorage.append import append_by_rewrite
    from moorage.blocking import BlockingFilesystem
    from moorage.composite import CompositeFilesystem, Mountable, TreeFilesystem
    from moorage.config import ProviderOptions, from_config, open_url
    from moorage.errors import (
        BusyError,
        ClosedError,
        ConfigError,
        ConflictError,
        ContextRequiredError,
        DirectoryNotEmptyError,
        EncodingError,
        InexpressibleNameError,
        InvalidArgumentError,
        InvalidPathError,
        LimitExceededError,
        LinkLoopError,
        MoorageError,
        NameTooLongError,
        NoMountError,
        NoSpaceError,
        NotRegularFileError,
        OperationTimeoutError,
        PathEscapeError,
        PathExistsError,
        PathIsDirectoryError,
        PathNotDirectoryError,
        PathNotFoundError,
        PermissionDeniedError,
        ReadOnlyError,
        StaleFileError,
        StorageError,
        TransferError,
        UnavailableError,
        UnsupportedError,
    )
    from moorage.filesystem import Filesystem, Instructions
    from moorage.globs import Glob
    from moorage.hookspecs import CommandSpec, ProviderSpec, hookimpl
    from moorage.memory import MemoryProvider
    from moorage.memory_filesystem import MemoryFilesystem
    from moorage.models import (
        UNSET,
        Body,
        Capabilities,
        DeleteOptions,
        Entry,
        FilesystemInfo,
        Kind,
        Labels,
        MakeDirOptions,
        MountPoint,
        OnProgress,
        Progress,
        ProviderStatus,
        Reader,
        Stat,
        Unset,
        Usage,
        WriteOptions,
    )
    from moorage.mounts import MountTable
    from moorage.objects import ObjectClient, ObjectStoreProvider
    from moorage.paths import PathLike, StoragePath
    from moorage.plugins import PluginLoader, SpecKind
    from moorage.provider import DELETE, MAKE_DIR, WRITE, Provider
    from moorage.registry import Registry
    from moorage.resolve import LeasingResolver, RequestContext, Resolver, TenantCache
    from moorage.router import MountRouter
    from moorage.wrappers import Limits, Prefix, ReadOnly, Tracing

_HOMES = {
    "append": "append_by_rewrite",
    "blocking": "BlockingFilesystem",
    "composite": "CompositeFilesystem Mountable TreeFilesystem",
    "config": "ProviderOptions from_config open_url",
    "errors": (
        "BusyError ClosedError ConfigError ConflictError ContextRequiredError DirectoryNotEmptyError "
        "EncodingError InexpressibleNameError InvalidArgumentError InvalidPathError LimitExceededError "
        "LinkLoopError MoorageError NameTooLongError NoMountError NoSpaceError NotRegularFileError "
        "OperationTimeoutError PathEscapeError PathExistsError PathIsDirectoryError PathNotDirectoryError "
        "PathNotFoundError PermissionDeniedError ReadOnlyError StaleFileError StorageError TransferError "
        "UnavailableError UnsupportedError"
    ),
    "filesystem": "Filesystem Instructions",
    "globs": "Glob",
    "hookspecs": "CommandSpec ProviderSpec hookimpl",
    "memory": "MemoryProvider",
    "memory_filesystem": "MemoryFilesystem",
    "models": (
        "Body Capabilities DeleteOptions Entry FilesystemInfo Kind Labels MakeDirOptions MountPoint "
        "OnProgress Progress ProviderStatus Reader Stat UNSET Unset Usage WriteOptions"
    ),
    "mounts": "MountTable",
    "objects": "ObjectClient ObjectStoreProvider",
    "paths": "PathLike StoragePath",
    "plugins": "PluginLoader SpecKind",
    "provider": "DELETE MAKE_DIR Provider WRITE",
    "registry": "Registry",
    "resolve": "LeasingResolver RequestContext Resolver TenantCache",
    "router": "MountRouter",
    "wrappers": "Limits Prefix ReadOnly Tracing",
}
"""Where each public name lives. A module loads when one of its names is first used, so that ``import moorage`` costs
next to nothing, and a program pays for what it uses."""

_HOME = {name: home for home, names in _HOMES.items() for name in names.split()}


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module 'moorage' has no attribute {name!r}")
    value: object = getattr(import_module(f"moorage.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME})


__all__ = [
    "DELETE",
    "MAKE_DIR",
    "UNSET",
    "WRITE",
    "BlockingFilesystem",
    "Body",
    "BusyError",
    "Capabilities",
    "ClosedError",
    "CommandSpec",
    "CompositeFilesystem",
    "ConfigError",
    "ConflictError",
    "ContextRequiredError",
    "DeleteOptions",
    "DirectoryNotEmptyError",
    "EncodingError",
    "Entry",
    "Filesystem",
    "FilesystemInfo",
    "Glob",
    "InexpressibleNameError",
    "Instructions",
    "InvalidArgumentError",
    "InvalidPathError",
    "Kind",
    "Labels",
    "LeasingResolver",
    "LimitExceededError",
    "Limits",
    "LinkLoopError",
    "MakeDirOptions",
    "MemoryFilesystem",
    "MemoryProvider",
    "MoorageError",
    "MountPoint",
    "MountRouter",
    "MountTable",
    "Mountable",
    "NameTooLongError",
    "NoMountError",
    "NoSpaceError",
    "NotRegularFileError",
    "ObjectClient",
    "ObjectStoreProvider",
    "OnProgress",
    "OperationTimeoutError",
    "PathEscapeError",
    "PathExistsError",
    "PathIsDirectoryError",
    "PathLike",
    "PathNotDirectoryError",
    "PathNotFoundError",
    "PermissionDeniedError",
    "PluginLoader",
    "Prefix",
    "Progress",
    "Provider",
    "ProviderOptions",
    "ProviderSpec",
    "ProviderStatus",
    "ReadOnly",
    "ReadOnlyError",
    "Reader",
    "Registry",
    "RequestContext",
    "Resolver",
    "SpecKind",
    "StaleFileError",
    "Stat",
    "StorageError",
    "StoragePath",
    "TenantCache",
    "Tracing",
    "TransferError",
    "TreeFilesystem",
    "UnavailableError",
    "Unset",
    "UnsupportedError",
    "Usage",
    "WriteOptions",
    "append_by_rewrite",
    "from_config",
    "hookimpl",
    "open_url",
]
