"""Everything that is looked up: each gauge is declared beside its look."""

from collections.abc import Sequence
from typing import Final

from infrastructure.sampling import closed, goods, jobs, log, records
from infrastructure.sampling.gauge import Look, Sampled

LOOKS: Final[Sequence[Look]] = (
    *(*jobs.LOOKS, *log.LOOKS, *records.LOOKS),
    *(*goods.LOOKS, *closed.LOOKS),
)
"""Every look, in the order in which they are made."""

DECLARED: Final[Sequence[Sampled]] = tuple(
    dict.fromkeys(gauge for look in LOOKS for gauge in look.gauges)
)
"""Every gauge that they set; one may be set by several."""
