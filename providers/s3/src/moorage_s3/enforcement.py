"""What is known of the conditions that a store judges."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class Enforcement:
    """Until the store was asked, it is taken for one that judges: a condition too many does no harm.

    Attributes:
        puts: a put judges them.
        copies: a copy judges those on its destination.
        deletes: a delete judges them.
        multipart: the completion of an upload does; else conditional bodies of any size go in one request.
    """

    puts: bool = True
    copies: bool = True
    deletes: bool = True
    multipart: bool = True
