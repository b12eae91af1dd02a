"""A Dockerfile as its instructions, continued lines joined and comments left out."""

from dataclasses import dataclass
from pathlib import Path

import msgspec

ROOT = Path(__file__).resolve().parents[2]
FILE = ROOT / "deploy" / "Dockerfile"


@dataclass(frozen=True)
class Instruction:
    """One instruction of one stage."""

    stage: int
    """0 before the first FROM."""
    word: str
    rest: str

    def words(self) -> list[str]:
        """Return the exec form."""
        return msgspec.json.decode(self.rest, type=list[str])


def instructions() -> list[Instruction]:
    """Return the instructions of deploy/Dockerfile in order."""
    text = FILE.read_text("utf-8").replace("\\\n", " ")
    found: list[Instruction] = []
    stage = 0
    for line in text.splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        word, _, rest = line.partition(" ")
        stage += word == "FROM"
        found.append(Instruction(stage, word, " ".join(rest.split())))
    return found


def of_the_image(word: str) -> list[Instruction]:
    """Return the instructions of that name in the stage that becomes the image."""
    found = instructions()
    last = max(it.stage for it in found)
    return [it for it in found if it.stage == last and it.word == word]
