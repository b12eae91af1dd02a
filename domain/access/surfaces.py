"""The doors of the API: each takes credentials of its own, and no other's."""

from enum import StrEnum


class Surface(StrEnum):
    """One door; the values of the first two are stored with tokens."""

    SHOP = "shop"
    """`/v1`: shops and programs, by their tokens."""
    ADMIN = "admin"
    """`/v1/admin`: operators' programs, by their tokens."""
    PANEL = "panel"
    """`/v1/panel`: people who have signed in."""
