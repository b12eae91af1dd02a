"""What an installation may set, read once from the environment."""

from infrastructure.settings.settings import LONGEST_CALL_SECONDS, Settings

__all__ = ["LONGEST_CALL_SECONDS", "Settings"]
