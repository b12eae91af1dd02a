"""For whom a credential is: each surface of the API takes its own, and no other's."""

from enum import StrEnum


class Audience(StrEnum):
    """Who speaks by a credential; the first two are stored with tokens, as surfaces."""

    SHOP = "shop"
    """`/v1`: shops and programs, by their tokens."""
    ADMIN = "admin"
    """`/v1/admin`: operators' programs, by their tokens."""
    PANEL = "panel"
    """`/v1/panel`: people who have signed in."""
