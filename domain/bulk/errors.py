"""What the rules of bulk operations refuse."""

from domain.errors import DomainError


class SelfApprovalError(DomainError):
    """Whoever asks for many things at once may not let himself begin."""

    code = "self_approval"

    def __init__(self, name: str) -> None:
        """Name who asked."""
        self.name = name
        super().__init__(
            f"{self.code}: {name} asked for it, so somebody else has to approve of it"
        )
