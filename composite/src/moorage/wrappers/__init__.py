"""Providers over a provider, one idea a file. Each defines every primitive itself, so that none is forgotten."""

from moorage.wrappers.limits import Limits
from moorage.wrappers.prefix import Prefix
from moorage.wrappers.read_only import ReadOnly, is_read_only
from moorage.wrappers.tracing import Tracing

__all__ = ["Limits", "Prefix", "ReadOnly", "Tracing", "is_read_only"]
