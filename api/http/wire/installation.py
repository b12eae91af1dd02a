"""What is the whole installation's: other tenants than the default one know of none."""

from api.http.call import Call
from application.errors import NotFoundError
from application.operators.refusals import DEFAULT_TENANT


def require_theirs(call: Call, what: str, name: str) -> None:
    """Return when the caller belongs to the tenant whose the installation is.

    Raises:
        NotFoundError: they do not.
    """
    if call.tenant_id != DEFAULT_TENANT:
        raise NotFoundError(what, name)
