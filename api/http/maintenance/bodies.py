"""What is said about maintenance."""

import msgspec


class MaintenancePut(
    msgspec.Struct, frozen=True, kw_only=True, rename="camel",
    forbid_unknown_fields=True,
):  # fmt: skip
    """What is to be: a window with its words, or none."""

    active: bool
    """Whether the scope is to be closed."""
    scope: str = "panel"
    """`panel`, `all`, or `goods:` and a provider's name."""
    reason: str | None = None
    """For operators; what the header says when nothing else is said."""
    notice_ru: str | None = None
    """For customers; needed to close."""
    notice_en: str | None = None
    expected_return_at: str | None = None
    """RFC 3339; nothing opens by itself."""
    operator_id: str | None = None
    """Who decides, as the program knows; on the panel it is who has signed in."""
