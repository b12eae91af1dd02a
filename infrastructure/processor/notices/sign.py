"""The idle sign of this process: a row of `idle_signs` that expires by itself.

It is said over the claim loop's connection, between two looks, and costs no flush:
the table is unlogged.  A process that is killed or frozen says nothing any more, and
its sign is worth nothing two seconds later.
"""

import time
from collections.abc import Sequence
from typing import Final
from uuid import UUID

from infrastructure.postgres.database import Connection, unavailable_in_our_words
from infrastructure.postgres.heads.table import instant
from infrastructure.processor.notices.heard import Notices

LASTS_SECONDS: Final = 2.0
"""A sign that is not renewed expires after this (mechanisms 15)."""

QUIET_SECONDS: Final = 0.01
"""Without work or a notice for this long the process is idle.  Not sooner: under a
steady load the gaps between jobs are no idleness, and this bounds the notices of an
installation to about a hundred a second, however many jobs are born (ADR-0014)."""

_NEVER: Final = float("-inf")

# A new key each time, so that a look at what has not expired finds one version of
# each sign, even while an old snapshot keeps the others from vacuum.
_SAY: Final = """
WITH former AS (
    DELETE FROM counterfoil.idle_signs
     WHERE until = %(until)s
       AND boot = %(boot)s
)
INSERT INTO counterfoil.idle_signs (until, boot, queues)
VALUES (counterfoil.now() + make_interval(secs => %(lasts)s), %(boot)s, %(queues)s)
RETURNING until
"""

_TAKE_DOWN: Final = """
DELETE FROM counterfoil.idle_signs WHERE until = %(until)s AND boot = %(boot)s
"""

# Left by processes that ended without a word.
_SWEEP: Final = """
DELETE FROM counterfoil.idle_signs WHERE until < counterfoil.now() - interval '1 minute'
"""


class IdleSign:
    """Used by the claim loop alone."""

    def __init__(self, boot: UUID, notices: Notices) -> None:
        """Say that process `boot` is idle, while `notices` are heard."""
        self._boot = boot
        self._notices = notices
        self._until: object = None
        """Key of our row, if it may be there."""
        self._queues: list[str] = []
        self._said_at = _NEVER
        """When the sign was said, counted from before it was sent."""
        self._due_at = _NEVER
        self._busy_at = time.monotonic()
        self._is_swept = False
        self.lasts_seconds: float = LASTS_SECONDS

    def begin(self) -> None:
        """Begin over a new connection: what was said over another may be gone."""
        self._said_at = _NEVER
        self._is_swept = False

    def keep(self, connection: Connection, queues: Sequence[str]) -> bool:
        """Say or renew that `queues` would be served at once, if that is due.

        Returns whether it stands since now only: who gave birth to a job meanwhile
        saw no sign, so the caller looks once more before he waits.
        """
        at = time.monotonic()
        if not queues or not self._notices.are_heard:
            self._take_down(connection)
            self._due_at = float("inf")
            return False
        stands = self._stands(at) and self._queues == list(queues)
        self._due_at = (
            self._said_at + self.lasts_seconds / 2
            if stands
            else self._busy_at + QUIET_SECONDS
        )
        if at < self._due_at:
            return False
        self._say(connection, list(queues), at)
        self._due_at = at + self.lasts_seconds / 2
        return not stands

    def end(self, connection: Connection) -> None:
        """Take the sign down: there is work, or there was a notice."""
        self._busy_at = time.monotonic()
        self._take_down(connection)

    def due_in(self) -> float:
        """Return after how many seconds `keep` will have something to say."""
        return max(self._due_at - time.monotonic(), 0.0)

    def _stands(self, at: float) -> bool:
        return at - self._said_at < self.lasts_seconds

    def _say(self, connection: Connection, queues: list[str], at: float) -> None:
        parameters = {
            "until": self._until,
            "boot": self._boot,
            "lasts": self.lasts_seconds,
            "queues": queues,
        }
        with unavailable_in_our_words():
            if not self._is_swept:
                connection.execute(_SWEEP)
                self._is_swept = True
            rows = connection.execute(_SAY, parameters, prepare=True).fetchall()
        self._until, self._queues, self._said_at = instant(rows[0][0]), queues, at

    def _take_down(self, connection: Connection) -> None:
        if self._until is None:
            return
        with unavailable_in_our_words():
            connection.execute(
                _TAKE_DOWN, {"until": self._until, "boot": self._boot}, prepare=True
            )
        self._until, self._said_at = None, _NEVER
