"""What a person is told of tokens and people."""

from collections.abc import Sequence

from rich.text import Text

from api.cli.output import aside, say, show_rows
from api.cli.times import at
from application.access.people import KeptPerson, Person
from application.access.tokens import Kept, Made, Token

_STYLES = {"expired": "yellow", "revoked": "dim", "disabled": "yellow"}


def tell_made(made: Made) -> None:
    """Write a token's text, alone on standard output, and what it is beside it."""
    token = made.token
    until = f"good until {at(token.expires_at)}, for {', '.join(token.scopes)}"
    aside(f"token {token.name}, id {token.id}, {until}")
    if token.previous_until is not None:
        aside(f"the secret before it is good until {at(token.previous_until)}")
    aside("it is shown this once: put it where your other secrets are", "yellow")
    say(made.text)


def tell_revoked(kept: Kept) -> None:
    """Write that a token opens nothing any more."""
    say(f"token {kept.token.name}, id {kept.token.id}, is revoked")


def show_tokens(tokens: Sequence[Token]) -> None:
    """Write all tokens, and what each may."""
    names = ("tenant", "name", "id", "opens", "state", "expires", "used", "scopes")
    show_rows(
        names,
        [
            [
                Text(each.tenant_id),
                Text(each.name),
                Text(str(each.id)),
                Text(each.surface),
                Text(each.state, _STYLES.get(each.state, "")),
                Text(at(each.expires_at)),
                Text("" if each.last_used_at is None else at(each.last_used_at)),
                Text(" ".join(each.scopes)),
            ]
            for each in tokens
        ],
    )


def tell_person(kept: KeptPerson) -> None:
    """Write who somebody is now."""
    person = kept.person
    say(f"{person.name}, id {person.id}, is {person.role}, {person.state}")


def show_people(people: Sequence[Person]) -> None:
    """Write all people, and what they are."""
    names = ("name", "role", "state", "tenant", "id", "password of", "signed in")
    show_rows(
        names,
        [
            [
                Text(each.name),
                Text(each.role),
                Text(each.state, _STYLES.get(each.state, "")),
                Text(each.tenant_id),
                Text(str(each.id)),
                Text(at(each.password_at)),
                Text(str(each.sessions)),
            ]
            for each in people
        ],
    )
