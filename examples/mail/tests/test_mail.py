"""Mail without a provider, a worker or a database."""

from datetime import timedelta

from acme_mail import MAIL, Mail

from counterfoil import Completed, Fail
from counterfoil.testing import run

FULL = Mail("anna@full.example")


def test_a_mail_is_sent() -> None:
    ended = run(MAIL, Mail("carl@example.org"))

    assert ended.outcome == Completed(result={"attempt": 1})
    assert ended.log == (("mail sent", {"domain": "example.org"}),)


def test_a_full_mailbox_is_tried_again_ten_seconds_later() -> None:
    ended = run(MAIL, FULL)

    assert (ended.state, ended.error_code) == ("waiting", "mailbox_full")
    assert ended.next_run_at == ended.at + timedelta(seconds=10)


def test_no_address_is_no_reason_to_try_again() -> None:
    ended = run(MAIL, Mail("nobody"))

    assert ended.outcome == Fail(code="no_address")
    assert (ended.state, ended.code) == ("discarded", "permanent")


def test_without_time_for_a_call_none_is_begun() -> None:
    ended = run(MAIL, FULL, seconds_left=5)

    assert ended.asked == (False,)
    assert ended.error_code == "no_time"


def test_arguments_of_an_older_program_are_a_dead_letter() -> None:
    ended = run(MAIL, {"recipient": "anna@full.example"})

    assert (ended.state, ended.code, ended.attempt) == ("discarded", "undecodable", 0)
