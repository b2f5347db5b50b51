"""Moorage provider: files in one SQLite database."""

from moorage_example.provider import ExampleFilesystem

__all__ = ["ExampleFilesystem"]
