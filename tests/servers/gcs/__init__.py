"""A small Google Cloud Storage: the JSON API in memory, every precondition on every call, strict where it is strict.

What it says where the documentation leaves room: preconditions are judged before "there is none" is, and against
generation 0 for a missing object, so that a match with anything else is 412 and not 404; a "not match" that fails is
304; a resumable upload's preconditions are judged when its last byte has come; what arrived of an unfinished one is
kept in multiples of 256 KiB; a body that was cut off stores nothing else. What is replaced or deleted stays to be
asked for with ``softDeleted=true`` and its generation, its content excepted; there are no other versions of an object,
no ACL, no encryption and no ``matchGlob``, and nothing is kept on disk.
"""

from tests.servers.gcs.calls import Answer, Call
from tests.servers.gcs.serving import GCSServer, LocalGCSServer, running_gcs, serving_gcs
from tests.servers.gcs.state import Access, Settings, State

__all__ = [
    "Access",
    "Answer",
    "Call",
    "GCSServer",
    "LocalGCSServer",
    "Settings",
    "State",
    "running_gcs",
    "serving_gcs",
]
