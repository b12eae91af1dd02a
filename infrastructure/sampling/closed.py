"""What people have closed, or the guard after a restore has."""

from collections.abc import Iterator
from typing import Final

from infrastructure.sampling.gauge import Found, Look, Sampled, fetched
from projections.connections import Lend

MAINTENANCE: Final = Sampled(
    "maintenance_active", "Windows of maintenance that are open.", ("source",)
)
QUARANTINE: Final = Sampled(
    "restore_quarantine", "1: after a restore nothing is bought."
)

_CLOSED: Final = """
SELECT (SELECT count(*) FROM counterfoil.maintenance
         WHERE state = 'open' AND source = 'manual'),
       (SELECT count(*) FROM counterfoil.maintenance
         WHERE state = 'open' AND source <> 'manual'),
       EXISTS (SELECT FROM counterfoil.restore_guard WHERE state = 'quarantined')
"""


def closed(lend: Lend) -> Iterator[Found]:
    """Yield what is closed."""
    ((manual, automatic, is_quarantined),) = fetched(lend, _CLOSED)
    yield MAINTENANCE, ("manual",), manual
    yield MAINTENANCE, ("automatic",), automatic
    yield QUARANTINE, (), is_quarantined


LOOKS: Final = (Look(closed, (MAINTENANCE, QUARANTINE)),)
