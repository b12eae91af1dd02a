"""What a file is, its own bytes say: one of a closed list, or nothing that is taken."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from application.evidence.media import MEDIA, PLAIN, media_type_of


@given(st.binary())
def test_a_file_is_one_of_the_list_or_nothing(content: bytes) -> None:
    assert media_type_of(content) in {None, *MEDIA}


@given(st.text(st.characters(exclude_categories=["Cc", "Cs"]), min_size=1))
def test_text_is_plain_whatever_it_says(text: str) -> None:
    begins = ("GIF87a", "GIF89a", "%PDF-")

    assert text.startswith(begins) or media_type_of(text.encode()) == PLAIN


@pytest.mark.parametrize(
    ("content", "media_type"),
    [
        (b"\x89PNG\r\n\x1a\n...", "image/png"),
        (b"\xff\xd8\xff\xe0...", "image/jpeg"),
        (b"GIF89a...", "image/gif"),
        (b"RIFF\x10\x00\x00\x00WEBPVP8 ", "image/webp"),
        (b"%PDF-1.7 ...", "application/pdf"),
        (b"<svg onload='x'/>", "text/plain"),
        (b"one\r\n\ttwo\n", "text/plain"),
        (b"", None),
        (b"a\x00b", None),
        (b"\xfe\xff", None),
        (b"PK\x03\x04", None),
        (b"RIFF\x10\x00\x00\x00WAVE", None),
    ],
)
def test_known_beginnings(content: bytes, media_type: str | None) -> None:
    assert media_type_of(content) == media_type
