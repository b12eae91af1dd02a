"""The birth of a remark: a stream of one event, beside whatever it is about."""

from domain.operators.events import OperatorEvent, Remark, evolve
from domain.stream import Change, Ref


def remarked(ref: Ref, tenant_id: str, event: OperatorEvent) -> Change:
    """Return the change that writes `event` into the new stream `ref`."""
    return Change(
        ref=ref,
        tenant_id=tenant_id,
        expected=0,
        events=(event,),
        state=evolve(Remark(), event),
    )
