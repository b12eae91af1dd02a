"""Who asks and what they may do, over one database."""

import os
from typing import Final

from application.access.access import Access
from application.access.people import People
from application.access.record import OnRecord
from application.access.signing_in import SignIn
from application.access.tokens import Tokens
from application.unit import UnitOfWork
from domain.access.rates import Policy
from domain.access.tokens import SECRET_BYTES
from infrastructure.access.attempts import PostgresAttempts
from infrastructure.access.authenticate import PostgresAuthenticate
from infrastructure.access.limiter import LocalLimiter
from infrastructure.access.passwords import Argon2Passwords
from infrastructure.access.people_book import PostgresPeopleBook
from infrastructure.access.sessions import PostgresSessions
from infrastructure.access.token_book import PostgresTokenBook
from infrastructure.ids import new_id
from infrastructure.postgres.batch_store import Connections
from infrastructure.settings import Settings

BURST: Final = "burst"
BURST_SECONDS: Final = 10
HOUR: Final = "hour"
HOUR_SECONDS: Final = 3_600


def access_over(
    connections: Connections,
    units: UnitOfWork,
    settings: Settings,
    passwords: Argon2Passwords | None = None,
) -> Access:
    """Return what knows tokens, people and sessions of one database."""
    record = OnRecord(units, new_id)
    hashing = passwords or Argon2Passwords()
    return Access(
        authenticate=PostgresAuthenticate(
            connections,
            environment=settings.environment,
            operator_token=settings.operator_token,
        ),
        limiter=_limiter(settings),
        refuse=record.route,
        sign_in=SignIn(
            sessions=PostgresSessions(connections),
            attempts=PostgresAttempts(connections),
            passwords=hashing,
            make_secret=new_secret,
        ),
        tokens=Tokens(
            book=PostgresTokenBook(connections),
            record=record,
            ids=new_id,
            make_secret=new_secret,
            environment=settings.environment,
        ),
        people=People(
            book=PostgresPeopleBook(connections),
            record=record,
            passwords=hashing,
            ids=new_id,
        ),
    )


def _limiter(settings: Settings) -> LocalLimiter:
    burst = Policy(BURST, settings.rate_limit_burst, BURST_SECONDS)
    return LocalLimiter((burst, Policy(HOUR, settings.rate_limit_hour, HOUR_SECONDS)))


def new_secret() -> bytes:
    """Return random bytes of the operating system: nobody guesses them."""
    return os.urandom(SECRET_BYTES)
