"""Every event ever written decodes for ever, to what it meant when it was written."""

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from infrastructure.postgres.codec import (
    EVENT_CLASSES,
    UnknownEventError,
    decode_event,
    decode_meta,
    encode,
)
from tests.golden.pinned import EARLIER, META, PINNED

FILES = sorted((Path(__file__).parent / "events").glob("*.json"))
BEFORE = sorted((Path(__file__).parent / "earlier").glob("*.json"))

every_file = pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)


def stored(file: Path) -> dict[str, Any]:
    read: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return read


def test_every_tag_and_schema_has_its_golden_file() -> None:
    written = {(found.tag, found.schema) for found in EVENT_CLASSES.values()}

    assert {file.stem for file in FILES} == {f"{tag}.{n}" for tag, n in PINNED}
    assert written <= set(PINNED)


@every_file
def test_a_golden_file_says_what_it_holds(file: Path) -> None:
    row = stored(file)

    assert set(row) == {"type", "schema", "data", "meta"}
    assert file.stem == f"{row['type']}.{row['schema']}"


@every_file
def test_a_golden_file_decodes_to_the_pinned_event(file: Path) -> None:
    row = stored(file)

    event = decode_event(row["type"], row["schema"], json.dumps(row["data"]))

    assert event == PINNED[row["type"], row["schema"]]
    assert decode_meta(json.dumps(row["meta"])) == META


@every_file
def test_an_event_is_written_under_its_pinned_names(file: Path) -> None:
    """Renaming, adding or dropping a field is a new schema number."""
    row = stored(file)
    event = PINNED[row["type"], row["schema"]]

    assert json.loads(encode(event)) == row["data"]
    assert json.loads(encode(META)) == row["meta"]
    assert set(row["data"]) == {
        field.encode_name for field in msgspec.structs.fields(event)
    }


def test_what_was_written_before_a_member_was_added_means_what_it_meant() -> None:
    rows = [stored(file) for file in BEFORE]

    read = {
        (row["type"], row["schema"]): decode_event(
            row["type"], row["schema"], json.dumps(row["data"])
        )
        for row in rows
    }

    assert read == EARLIER


def test_every_pinned_field_holds_a_value() -> None:
    """A null would pin a name, but not what it holds."""
    empty = [
        f"{file.stem}: {name}"
        for file in FILES
        for part in ("data", "meta")
        for name, value in stored(file)[part].items()
        if value is None
    ]

    assert empty == []


def test_a_schema_of_a_newer_version_is_refused_by_name() -> None:
    with pytest.raises(UnknownEventError, match=r"job\.claimed with schema 2"):
        decode_event("job.claimed", 2, b"{}")


def test_a_tag_of_a_newer_version_is_refused_by_name() -> None:
    with pytest.raises(UnknownEventError, match=r"job\.dreamt with schema 1"):
        decode_event("job.dreamt", 1, b"{}")
