"""An action for which there is no room: as many jobs are pending as may be."""

from typing import Final

from application.errors import TENANT_PENDING, TOTAL_PENDING, QuotaExceededError
from application.unit import BUSY, Refused

NO_ROOM: Final = frozenset({Refused(TENANT_PENDING), Refused(TOTAL_PENDING), BUSY})

_FULL_SECONDS: Final = 5
_BUSY_SECONDS: Final = 1


def no_room(refused: Refused, tenant_id: str) -> QuotaExceededError:
    """Return what a person is told, with the remedy."""
    if refused == BUSY:
        detail = f"whether tenant {tenant_id} has room could not be found out in time"
        return QuotaExceededError(TENANT_PENDING, detail, _BUSY_SECONDS)
    if refused.code == TOTAL_PENDING:
        whose, setting = "of all tenants", "COUNTERFOIL_JOB_MAX_PENDING"
    else:
        whose = f"of tenant {tenant_id}"
        setting = "COUNTERFOIL_JOB_MAX_TENANT_PENDING"
    detail = (
        f"as many jobs {whose} are pending as may be; wait until some have ended, "
        f"or raise {setting} and run `counterfoil migrate`"
    )
    return QuotaExceededError(refused.code, detail, _FULL_SECONDS)
