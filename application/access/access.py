"""All that has to do with who asks, and what they may do."""

from dataclasses import dataclass

from application.access.people import People
from application.access.port import Authenticate, Limiter, Refuse
from application.access.signing_in import SignIn
from application.access.tokens import Tokens


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """What the edge needs of it."""

    authenticate: Authenticate
    limiter: Limiter
    refuse: Refuse
    sign_in: SignIn
    tokens: Tokens
    people: People
