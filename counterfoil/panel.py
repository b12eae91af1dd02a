"""The port of the panel: what an adapter of your own answers, and what it is asked."""

from application.ports import (
    Access,
    CallGuard,
    Confirmed,
    Halted,
    Misconfigured,
    Panel,
    PanelAnswer,
    Rejected,
    Unavailable,
    Unknown,
)
from domain.entitlement.state import Desired, Observed

__all__ = [
    "Access",
    "CallGuard",
    "Confirmed",
    "Desired",
    "Halted",
    "Misconfigured",
    "Observed",
    "Panel",
    "PanelAnswer",
    "Rejected",
    "Unavailable",
    "Unknown",
]
