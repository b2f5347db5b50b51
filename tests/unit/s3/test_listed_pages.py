"""A page of a listing says the same whether its entries are read by their shape or by the parser."""

from __future__ import annotations

from datetime import UTC, datetime
from xml.sax.saxutils import escape

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from moorage import MoorageError, StorageError
from moorage.objects import ObjectPage
from moorage_s3 import listed_pages
from moorage_s3.listed_pages import listed_page

HEAD = """<?xml version="1.0" encoding="UTF-8"?>
<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Name>b</Name><IsTruncated>true</IsTruncated>"""
ENTRY = """<Contents><Key>a%2Fb+c%2B%C3%A4%25</Key><LastModified>2026-11-30T18:16:34.999Z</LastModified>\
<ETag>&quot;abc-2&quot;</ETag><Size>7</Size><StorageClass>STANDARD</StorageClass></Contents>"""
OTHER = """<Contents><Key>z</Key><Size>0</Size><LastModified>2026-11-30T18:16:35Z</LastModified>\
<ETag>&#34;def&#34;</ETag><ChecksumAlgorithm>CRC32</ChecksumAlgorithm><ChecksumType>FULL_OBJECT</ChecksumType>\
</Contents>"""
TAIL = """<CommonPrefixes><Prefix>p+q/</Prefix></CommonPrefixes><EncodingType>url</EncodingType>\
<NextContinuationToken>to+ken=</NextContinuationToken></ListBucketResult>"""
PAGE = HEAD + ENTRY + OTHER + TAIL

Said = tuple[int, bool, str, ObjectPage] | str


def said(document: str) -> Said:
    try:
        found = listed_page(document.encode("utf-8", "surrogatepass"))
        return found.count, found.more, found.token, found.read()
    except MoorageError as error:
        return str(error)


def nothing(_: bytes) -> None:
    """In place of one of the two ways."""


def parsed(document: str) -> Said:
    """What the parser alone makes of it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(listed_pages, "_outlined", nothing)
        return said(document)


def test_a_page_is_decoded() -> None:
    found = listed_page(PAGE.encode())
    assert (found.count, found.more, found.token) == (3, True, "to+ken=")
    page = found.read()
    info, other = page.objects
    assert (info.key, info.size, info.version) == ("a/b c+ä%", 7, "abc-2")
    assert info.modified_at == datetime(2026, 11, 30, 18, 16, 34, tzinfo=UTC)
    assert (other.key, other.size, other.version) == ("z", 0, "def")
    assert (page.prefixes, page.more) == (("p q/",), True)


def test_what_stores_write_needs_no_parser_for_its_entries(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = parsed(PAGE)
    monkeypatch.setattr(listed_pages, "_parsed", nothing)
    assert said(PAGE) == expected


def test_an_encoding_that_the_server_did_not_use_is_not_undone() -> None:
    found = listed_page(PAGE.replace("<EncodingType>url</EncodingType>", "").encode())
    assert found.read().objects[0].key == "a%2Fb+c%2B%C3%A4%25"


@pytest.mark.parametrize("size", ["", "<Size>x</Size>", "<Size>-7</Size>", "<Size></Size>", "<Size>7 7</Size>"])
def test_an_entry_without_a_size_is_refused(size: str) -> None:
    with pytest.raises(StorageError):
        listed_page(PAGE.replace("<Size>7</Size>", size).encode()).read()


def test_an_entry_without_a_key_is_refused() -> None:
    with pytest.raises(StorageError):
        listed_page(PAGE.replace("<Key>z</Key>", "").encode()).read()


@pytest.mark.parametrize(
    "document", ["", "<html><body>log in</body></html>", "<ListBucketResult>", ENTRY, HEAD + ENTRY]
)
def test_another_document_is_no_answer(document: str) -> None:
    with pytest.raises(StorageError):
        listed_page(document.encode())


def test_a_page_that_does_not_say_where_the_next_begins_is_not_the_last() -> None:
    found = listed_page(PAGE.replace("<NextContinuationToken>to+ken=</NextContinuationToken>", "").encode())
    assert found.more
    assert found.token == ""


@pytest.mark.parametrize(
    "document",
    [
        HEAD + "<Foo>" + ENTRY + "</Foo>" + TAIL,
        HEAD + "<Foo>" + ENTRY + "</Foo>" + OTHER + TAIL,
        HEAD + "<Foo>" + ENTRY + "</Foo><Contents/>" + TAIL,
        HEAD + "<?x " + ENTRY + "?>" + TAIL,
        HEAD + "<?x " + ENTRY + "?><Contents/>" + TAIL,
        HEAD.partition("\n")[2] + "<?x " + ENTRY + "?><Contents/>" + TAIL,
        HEAD + "<!--" + ENTRY + "-->" + TAIL,
        HEAD + "<![CDATA[" + ENTRY + "]]>" + TAIL,
        HEAD + f'<Foo a="{ENTRY}"/>' + TAIL,
        HEAD + ENTRY + "<Contents/>" + TAIL,
        HEAD + ENTRY + "<Contents a='1'><Key>k</Key><Size>1</Size></Contents>" + TAIL,
        HEAD + ENTRY + "\n" + OTHER + TAIL,
        HEAD + ENTRY + "<Owner>o</Owner>" + OTHER + TAIL,
        HEAD + ENTRY + TAIL.replace("</ListBucketResult>", OTHER + "</ListBucketResult>"),
        HEAD + ENTRY.replace("<Size>", "<Owner><ID>i</ID></Owner><Size>") + OTHER + TAIL,
        HEAD + ENTRY.replace("</Contents>", "<Key>again</Key></Contents>") + TAIL,
        HEAD + ENTRY.replace("<ETag>&quot;abc-2&quot;</ETag>", "") + TAIL,
        HEAD + ENTRY.replace("&quot;", '"') + TAIL,
        HEAD + ENTRY.replace("&quot;abc-2", 'W/&quot;a"c') + TAIL,
        HEAD + ENTRY.replace("abc-2", 'a"c') + TAIL,
        HEAD + ENTRY.replace("abc-2", "") + TAIL,
        HEAD + ENTRY.replace("2026-11-30T18:16:34.999Z", "yesterday") + TAIL,
        PAGE.replace("xmlns=", "xmlns:s3=").replace("ListBucketResult", "s3:ListBucketResult"),
        PAGE.replace('encoding="UTF-8"', 'encoding="UTF-16"'),
        PAGE.replace('encoding="UTF-8"', 'encoding="UTF-7"'),
        PAGE.replace('encoding="UTF-8"', 'encoding="cp037"'),
        PAGE.replace('<?xml version="1.0" encoding="UTF-8"?>\n', ""),
        "\ufeff" + PAGE,
        PAGE + "<x/>",
        PAGE + ENTRY,
    ],
)
def test_odd_pages_say_what_the_parser_says(document: str) -> None:
    assert said(document) == parsed(document)


SLOWLY = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])

TEXTS = st.text(st.sampled_from("ab/%+&<>;\"'] \r\n\té😀\ud800\x01\x7f"), max_size=6)


@SLOWLY
@given(key=TEXTS, etag=TEXTS, size=TEXTS | st.integers(-2, 1 << 64).map(str), other=TEXTS, escaped=st.booleans())
def test_any_text_says_what_the_parser_says(key: str, etag: str, size: str, other: str, escaped: bool) -> None:
    key, etag, size, other = (escape(text) if escaped else text for text in (key, etag, size, other))
    entry = f"<Contents><Key>{key}</Key><Size>{size}</Size><ETag>{etag}</ETag><LastModified>{other}</LastModified>"
    document = f"{HEAD}{ENTRY}{entry}</Contents>{OTHER}{TAIL}"
    assert said(document) == parsed(document)


@SLOWLY
@given(
    st.lists(
        st.sampled_from(["<Contents>", "</Contents>", ENTRY, "<Key>k</Key>", "<Size>1</Size>", "x", "<F>", "</F>"])
    )
)
def test_any_order_says_what_the_parser_says(pieces: list[str]) -> None:
    document = HEAD + "".join(pieces) + TAIL
    assert said(document) == parsed(document)


@pytest.mark.parametrize(
    "encoding", ["utf-8", "UTF-8", "us-ascii", "hz", "utf-7", "iso-2022-jp", "cp037", "utf-16", "x"]
)
@pytest.mark.parametrize("quote", ['"', "'"])
def test_an_encoding_is_obeyed_in_both_ways(encoding: str, quote: str) -> None:
    head = HEAD.replace('"UTF-8"', f"{quote}{encoding}{quote}")
    for key in ("a~{b", "a+ADw-b", "plain"):
        document = head + ENTRY.replace("a%2Fb", key) + TAIL
        assert said(document) == parsed(document)


@pytest.mark.parametrize("key", ["a xmlns='q'b", 'a xmlns="q"b'])
def test_a_key_that_looks_like_a_namespace_is_read_as_it_is(key: str) -> None:
    document = PAGE.replace(HEAD, "<ListBucketResult>").replace("<Key>z<", f"<Key>{key}<")
    for page in (said(document), parsed(document)):
        assert not isinstance(page, str)
        assert page[3].objects[1].key == key


@pytest.mark.parametrize("size", ["1_0", "\u0663", "+1", "-1", " 1", "", "1" * 20])
def test_a_size_is_digits(size: str) -> None:
    document = PAGE.replace("<Size>7<", f"<Size>{size}<")
    assert said(document) == parsed(document) == "the store's listing has an entry without key or size"
