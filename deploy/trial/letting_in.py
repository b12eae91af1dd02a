"""Who may ask: from the operator token to the tokens of two programs.

the operator token ─► the first owner ─► her session ─► a token of a shop
the command line, inside a container ─► a token of an operators' program
"""

from dataclasses import dataclass
from typing import Final

from deploy.trial.asking import Caller, bearer
from deploy.trial.world import TrialError, World

_PASSWORD: Final = "a battery of horses"  # noqa: S105 - of nobody but this trial
_OWNER: Final = {"name": "grace", "role": "owner", "password": _PASSWORD}
_SCOPES: Final = ["orders:write", "orders:read", "jobs:read"]
_WHY: Final = {"X-Operator-Reason": "trial"}
_COOKIE: Final = "__Host-session"


@dataclass(frozen=True, slots=True)
class LetIn:
    """Who asks from now on."""

    shop: Caller
    watch: Caller


def let_in(world: World) -> LetIn:
    """Make the first owner and the tokens, as docs/deploy.md does.

    Raises:
        TrialError: something was refused that is not to be, or let in.
    """
    operator = Caller(world.address, bearer(world.operator_token))
    operator.ask("POST", "/v1/admin/people", _OWNER, _WHY).require(201)
    # It has done what it is good for.
    operator.ask("POST", "/v1/admin/people", _OWNER, _WHY).require(401)
    shop = Caller(world.address, bearer(_by_the_owner(world.address)))
    watch = Caller(world.address, bearer(_by_the_command_line(world)))
    watch.ask("GET", "/v1/orders/trial-000").require(401)
    watch.ask("GET", "/v1/admin/dead-letters").require(200)
    return LetIn(shop, watch)


def _by_the_owner(address: str) -> str:
    anybody = Caller(address, {})
    signing_in = {member: _OWNER[member] for member in ("name", "password")}
    session = anybody.ask("POST", "/v1/panel/session", signing_in).require(201)
    cookie = session.headers["set-cookie"].partition(";")[0]
    if not cookie.startswith(f"{_COOKIE}="):
        msg = "the session has no cookie of its own"
        raise TrialError(msg)
    hers = {"Cookie": cookie, "X-CSRF-Token": session.body["csrfToken"]}
    wanted = {"name": "webshop", "surface": "shop", "scopes": _SCOPES}
    made = Caller(address, hers).ask("POST", "/v1/panel/tokens", wanted, _WHY)
    text: str = made.require(201).body["text"]
    return text


def _by_the_command_line(world: World) -> str:
    asked = ("watch", "--surface", "admin", "--scope", "jobs:read", "--reason", "trial")
    return world.run("worker", "tokens", "create", *asked).strip()
