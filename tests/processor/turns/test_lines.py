"""How one claimer goes round the lines of a queue."""

from hypothesis import given
from hypothesis import strategies as st

from infrastructure.processor.low_water import EPOCH
from infrastructure.processor.turns.lines import MOST, Line, Lines

ROUNDS = 4


def line(tenant: str) -> Line:
    return Line(tenant, [EPOCH] * 4)


def lines(*tenants: str) -> Lines:
    made = Lines()
    made.found([line(tenant) for tenant in tenants])
    return made


def first(of: Lines) -> str:
    return of.in_turn()[0].tenant


def test_claims_of_one_job_come_to_each_line_in_turn() -> None:
    of = lines("a", "b", "c")

    served = []
    for _ in range(6):
        served.append(first(of))
        of.served([first(of)])

    assert served == ["a", "b", "c", "a", "b", "c"]


def test_a_larger_claim_goes_on_behind_the_last_line_that_it_came_to() -> None:
    of = lines("a", "b", "c")

    of.served(["a", "b", "c", "a"])

    assert first(of) == "b"


def test_a_line_in_which_nothing_is_due_holds_up_nobody() -> None:
    of = lines("a", "b", "c")
    of.served(["a"])

    of.served(["c"])

    assert first(of) == "a"


def test_the_open_and_the_lines_begin_by_turns() -> None:
    of = lines("a")

    begins = []
    for _ in range(4):
        begins.append(of.is_open_first)
        of.served(["a"])

    assert begins == [True, False, True, False]


def test_whose_turn_it_is_has_it_still_when_lines_come_and_go() -> None:
    of = lines("b", "d")
    of.served(["b"])

    of.found([line(tenant) for tenant in ("a", "b", "c", "d", "e")])
    assert first(of) == "d"

    of.found([])
    assert of.in_turn() == []
    of.served([])
    of.found([line("a")])
    assert first(of) == "a"


@given(n_lines=st.integers(1, 3 * MOST), n=st.integers(1, 100))
def test_every_line_has_its_turn_within_a_round(n_lines: int, n: int) -> None:
    of = lines(*(f"{number:03}" for number in range(n_lines)))
    served: list[str] = []
    while len(served) < ROUNDS * n_lines:
        asked = [each.tenant for each in of.in_turn()]
        taken = [asked[number % len(asked)] for number in range(n)]
        served += taken
        of.served(taken)

    counts = [served.count(each.tenant) for each in of.known]
    assert min(counts) >= 1
    assert max(counts) <= 3 * min(counts)
