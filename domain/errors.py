"""Errors of the rules: what was asked makes no sense, said with stable codes.

CounterfoilError              root; `code` is snake_case and never changes
├── DomainError               a rule said no
│   ├── IllegalTransitionError    the command does not fit the stage
│   └── InvalidRequestError       a member of a request is wrong, with its path
├── ApplicationError          the use case could not proceed  (application.errors)
└── InfrastructureError       the machine failed              (infrastructure.errors)
"""


class CounterfoilError(Exception):
    """Root of every error that this product raises; `code` is its stable name."""

    code: str = "error"


class DomainError(CounterfoilError):
    """A rule of the domain refused."""


class IllegalTransitionError(DomainError):
    """The command makes no sense at the stage that the stream has reached."""

    code = "state_conflict"

    def __init__(self, stage: str, command: str, *, stream: str) -> None:
        """Name the stage, the refused command and the kind of stream."""
        self.stream = stream
        self.stage = stage
        self.command = command
        super().__init__(f"{command} is refused: the {stream} is {stage}")


class InvalidRequestError(DomainError):
    """A member of a request is missing, unknown or out of its range."""

    def __init__(self, code: str, path: str, detail: str) -> None:
        """Name the refusal's code, the member's path and what would be right."""
        self.code = code
        self.path = path
        self.detail = detail
        super().__init__(f"{code}: {path}: {detail}" if path else f"{code}: {detail}")
