"""The tests of documents notice what is not as told."""

import pytest

from tests.docs.shown import Names

ID = "01a229de-2440-74b3-8cab-81b9b6120533"
REAL = "01a229f1-f6d8-7545-882a-6a0954a5bc52"
OTHER = "01a229f1-f6d8-7545-882a-6a0954a5bc53"


def test_an_id_stands_for_the_real_one_from_then_on() -> None:
    names = Names()

    assert names.match([f"job {ID}: dead"], f"job {REAL}: dead\n")

    assert names.in_command(f"counterfoil job {ID}") == f"counterfoil job {REAL}"
    assert names.match([f"again {ID}"], f"again {REAL}")
    assert not names.match([f"again {ID}"], f"again {OTHER}")


def test_a_process_is_known_by_its_number() -> None:
    names = Names()

    assert names.match(["running at shop-1:4711"], "running   at vm:29395")

    assert names.in_command("kill -9 4711") == "kill -9 29395"


@pytest.mark.parametrize(
    ("told", "output"),
    [
        (["1 settled"], "2 settled"),
        (["1 settled"], "1 settled\nand more"),
        (["1 settled", "and more"], "1 settled"),
        (["…", "the end"], "the end\nnot quite"),
        ([f"{ID} and {ID}"], f"{REAL} and {OTHER}"),
        (["due 2026-11-30 00:32:33.844Z"], "due soon"),
    ],
)
def test_what_is_not_as_told_is_noticed(told: list[str], output: str) -> None:
    assert not Names().match(told, output)


@pytest.mark.parametrize(
    ("told", "output"),
    [
        (
            ["due 2026-11-30 00:32:33.844Z (in 5 s)"],
            "due 2027-01-01T00:00:00Z (in 2 h)",
        ),
        (["first", "…", "last"], "first\n\nsecond\nthird\nlast"),
        (["first", "…", "last"], "first\nlast"),
        (["job …120533  by …"], "job …f160d7    by a worker"),
    ],
)
def test_what_changes_from_run_to_run_does_not_count(
    told: list[str], output: str
) -> None:
    assert Names().match(told, output)
