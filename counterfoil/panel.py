"""The port of the panel: what an adapter of your own answers, and what it is asked."""

from application.ports import (
    Access,
    CallGuard,
    Confirmed,
    Halted,
    LookAnswer,
    Misconfigured,
    Missing,
    Panel,
    PanelAnswer,
    Rejected,
    Shown,
    Unavailable,
    Unknown,
)
from domain.entitlement.state import Desired, Observed, Sight

__all__ = [
    "Access",
    "CallGuard",
    "Confirmed",
    "Desired",
    "Halted",
    "LookAnswer",
    "Misconfigured",
    "Missing",
    "Observed",
    "Panel",
    "PanelAnswer",
    "Rejected",
    "Shown",
    "Sight",
    "Unavailable",
    "Unknown",
]
