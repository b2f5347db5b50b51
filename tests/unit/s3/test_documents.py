"""What a store answers is not trusted: XML without entities, versions that cannot break a header."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

import pytest

from moorage import StorageError
from moorage_s3.answers import http_time, listed_time, object_info, plain_version, quoted_version, served_range
from moorage_s3.documents import (
    complete_request,
    delete_failures,
    delete_request,
    is_expressible,
    parse,
    part_times,
    pending_uploads,
    text,
)
from moorage_s3.failures import refusal


@pytest.mark.parametrize(
    "document",
    [
        b'<!DOCTYPE a [<!ENTITY x "y">]><a>&x;</a>',
        b'<?xml version="1.0"?><!DOCTYPE a SYSTEM "file:///etc/passwd"><a/>',
        "<!DOCTYPE a><a/>".encode("utf-16"),
        b"<a><![CDATA[x]]></a>",
        b"<a>&undefined;</a>",
        b"not xml",
        b"",
        b"<a>\x01</a>",
        b'<?xml version="1.0" encoding="no-such"?><a/>',
    ],
)
def test_no_declaration_and_no_garbage_is_read(document: bytes) -> None:
    with pytest.raises(StorageError):
        parse(document)
    assert refusal(500, {}, document).code == ""


@pytest.mark.parametrize("read", [delete_failures, part_times])
def test_another_document_is_no_answer(read: Callable[[bytes], object]) -> None:
    with pytest.raises(StorageError):
        read(b"<html><body>log in</body></html>")


def test_keys_survive_a_batch() -> None:
    keys = ["a&b<c>", "x\r\n\ty", "ä😀", "'\""]
    root = parse(delete_request(keys))
    assert [text(found, "Key") for found in root.iterfind("Object")] == keys
    assert not is_expressible("a\x01")
    assert is_expressible("a\nb😀")


def test_failures_of_a_batch_are_read() -> None:
    body = b"<DeleteResult><Error><Key>k</Key><Code>AccessDenied</Code></Error></DeleteResult>"
    assert [(found.key, found.code) for found in delete_failures(body)] == [("k", "AccessDenied")]
    assert delete_failures(b"") == []


def test_a_completion_names_each_part_in_order() -> None:
    root = parse(complete_request([('"a"', ""), ('"b"', "crc=")]))
    parts = [(text(part, "PartNumber"), text(part, "ETag"), text(part, "ChecksumCRC32")) for part in root]
    assert parts == [("1", '"a"', ""), ("2", '"b"', "crc=")]


def test_pending_uploads_of_several_pages() -> None:
    body = (
        b"<R><IsTruncated>true</IsTruncated><NextKeyMarker>k</NextKeyMarker><NextUploadIdMarker>u</NextUploadIdMarker>"
        b"<Upload><Key>k</Key><UploadId>u</UploadId><Initiated>2026-11-30T18:16:34.999Z</Initiated></Upload></R>"
    )
    found = pending_uploads(body)
    assert (found.uploads[0].key, found.key_marker, found.id_marker) == ("k", "k", "u")


@pytest.mark.parametrize("version", ["*", "", 'a"b', "a,b", "a\r\nx: y", "ä", " ", "a b"])
def test_a_version_that_no_etag_can_be_matches_nothing(version: str) -> None:
    assert quoted_version(version) is None


@pytest.mark.parametrize("etag", ['"abc"', '"abc-2"', 'W/"abc"'])
def test_versions_round_trip(etag: str) -> None:
    assert quoted_version(plain_version(etag)) == etag


def test_times_agree_whatever_their_form() -> None:
    expected = datetime(2026, 11, 30, 18, 16, 34, tzinfo=UTC)
    assert http_time("Mon, 30 Nov 2026 18:16:34 GMT") == expected
    assert http_time("Mon, 30 Nov 2026 19:16:34 +0100") == expected
    assert listed_time("2026-11-30T18:16:34Z") == expected
    assert http_time("yesterday") is None
    assert http_time("Mon, 01 Jan 99999999999999999999 00:00:00 +0000") is None
    assert http_time("Fri, 31 Dec 9999 23:59:59 -2300") is None
    assert listed_time("") is None


def test_headers_that_do_not_tell_are_refused() -> None:
    with pytest.raises(StorageError):
        object_info("k", {})
    assert served_range({"Content-Range": "bytes 0-1/*"}) is None
    assert served_range({"Content-Range": f"bytes 0-1/{'9' * 5000}"}) is None


@pytest.mark.parametrize(
    "start", ["<a>", "<a xmlns='n'>", '<?xml version="1.0"?>\n<a x="1" xmlns = "n" y=\'2\'>', "<a x='>'>"]
)
@pytest.mark.parametrize("words", ["a xmlns='q'b", 'a xmlns="q"b', " xmlns='q'"])
def test_only_the_namespace_of_the_root_is_cut_out(start: str, words: str) -> None:
    root = parse(f"{start}<Key>{words}</Key></a>".encode(), "a")
    assert text(root, "Key") == words


def test_a_start_without_end_is_read_in_one_go() -> None:
    for start in (b"<a " + b" x='1'" * 100_000, b"<a" + b" " * 1_000_000, b"<a" + b" xmlns='n'" * 100_000):
        with pytest.raises(StorageError):
            parse(start)
