"""What one command said."""

import json
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Told:
    """Its exit code, and both outputs."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> Any:  # noqa: ANN401 - JSON
        return json.loads(self.out)
