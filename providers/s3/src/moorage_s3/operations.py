"""Everything that one opened client does, over one sender."""

from __future__ import annotations

from dataclasses import replace

from moorage_s3.addressing import Place
from moorage_s3.connections import Connections
from moorage_s3.copying import Copying
from moorage_s3.credentials import CredentialSource
from moorage_s3.deleting import Deleting
from moorage_s3.dialect import Quirks, quirks_of
from moorage_s3.downloading import Downloading
from moorage_s3.enforcement import Enforcement
from moorage_s3.locating import is_aws
from moorage_s3.probing import DISTRUSTED, Findings
from moorage_s3.sending import Sender, SendingOptions
from moorage_s3.settings import Settings
from moorage_s3.uploading import Uploading
from moorage_s3.write_marks import WriteMarks


class Operations:
    """The parts of a client that know where the bucket is."""

    def __init__(self, place: Place, settings: Settings, source: CredentialSource, connections: Connections) -> None:
        checks = is_aws(place.origin) if settings.checks_body is None else settings.checks_body
        dialect = replace(settings.dialect, crc32=checks)
        options = SendingOptions(settings.retries, settings.user_agent, settings.headers, not place.is_secure)
        self.sender = Sender(place, source, connections, options)
        self.enforcement = Enforcement()
        self.write_marks = WriteMarks()
        self.uploading = Uploading(self.sender, dialect, self.enforcement, self.write_marks)
        self.downloading = Downloading(self.sender, dialect, self.write_marks)
        self.copying = Copying(self.sender, dialect, self.uploading, self.write_marks)
        self.deleting = Deleting(self.sender, self.write_marks, self.enforcement)
        self._quirks = Quirks()
        self._findings = DISTRUSTED

    @property
    def can_delete_existing(self) -> bool:
        """Whether a delete with ``If-Match: *`` means what it says."""
        return self.deleting.takes_star and not self._quirks.has_directories

    def meet(self, server: str) -> None:
        """Take the kind of server into account, by its header."""
        self._quirks = quirks_of(server)
        self.deleting.has_directories = self._quirks.has_directories
        self.learn(self._findings)

    def learn(self, findings: Findings) -> None:
        """Take into account what the store enforces."""
        self._findings = findings
        self.enforcement.puts = findings.put
        self.enforcement.copies = findings.copy is not False
        self.enforcement.deletes = findings.delete
        self.enforcement.multipart = findings.multipart and self._quirks.completes_atomically
