"""Why an order that was paid is not delivered yet, in one word."""

from enum import StrEnum


class WaitsFor(StrEnum):
    """Why an order that was paid is not delivered yet."""

    FAN_OUT = "fan_out"
    """What it owes is not decided yet."""
    EFFECTIVE_AT = "effective_at"
    """It takes effect later."""
    TURN = "turn"
    """It is due: a worker takes it up, or others of the customer go first."""
    RUNNING = "running"
    RETRY = "retry"
    """An attempt failed; the next one has its time."""
    PARKED = "parked"
    """Something outside must change first: see `parked_cause`."""
    PROVIDER = "provider"
    """The provider of goods has a purchase, or nobody knows yet whether it has."""
    PERSON = "person"
    """Nothing runs it again without a person."""
    NOTHING = "nothing"
    """A person cancelled its operation: it stays as it is, or is refunded."""
    READ_MODEL = "read_model"
    """It is delivered; the read model of orders is behind."""
