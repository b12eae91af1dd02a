# ruff: noqa: E501 - paragraphs and rows of Markdown are one line each
"""Write docs/configuration.md: every setting, as the settings struct declares it."""

import ast
import inspect
import re
from pathlib import Path

import msgspec

from infrastructure.settings import settings
from infrastructure.settings.settings import Settings

TARGET = Path(__file__).parents[1] / "docs" / "configuration.md"

HEAD = """# Configuration

<!-- Written by `make configuration` from infrastructure/settings/settings.py. -->

Environment variables, read once when a process starts; empty means unset. Each may be read from a file instead, as secrets of containers are: `COUNTERFOIL_DATABASE_URL_FILE=/run/secrets/database_url`. A wrong value stops the start with a sentence; secrets are never shown. Switches are `on` or `off`. `counterfoil doctor` looks whether they go together with what is there.

| Variable | Default | Means |
|---|---|---|
"""

TAIL = """| `COUNTERFOIL_OPERATOR` | this machine's user | Who the log names for what the command line changes. |
| `COUNTERFOIL_SIMULATOR_TOKEN`, `COUNTERFOIL_SIMULATOR_CALLBACK_SECRET` | none | `--token` of `counterfoil simulate`, `--callback-secret` of its `gateway`. |

The first start of `up` on a given database needs the right to create a schema.
"""

_PAGE = re.compile(r"docs/([a-z-]+\.md)")


def page() -> str:
    """Return the page."""
    told = _sentences()
    rows = [
        f"| `COUNTERFOIL_{field.name.upper()}` | {_default(field.default)} "
        f"| {told[field.name]} |\n"
        for field in msgspec.structs.fields(Settings)
    ]
    return HEAD + "".join(rows) + TAIL


def _sentences() -> dict[str, str]:
    """Return what stands below each field, with other settings by their variables."""
    (declared,) = (
        node
        for node in ast.parse(inspect.getsource(settings)).body
        if isinstance(node, ast.ClassDef)
    )
    found: dict[str, str] = {}
    for field, told in zip(declared.body, declared.body[1:], strict=False):
        if isinstance(field, ast.AnnAssign) and isinstance(told, ast.Expr):
            name, text = ast.unparse(field.target), ast.literal_eval(told.value)
            found[name] = _shown(" ".join(str(text).split()))
    return found


def _shown(text: str) -> str:
    for name in Settings.__struct_fields__:
        text = text.replace(f"`{name}`", f"`COUNTERFOIL_{name.upper()}`")
    return _PAGE.sub(r"[\1](\1)", text)


def _default(value: object) -> str:
    match value:
        case None:
            return "none"
        case bool():
            return "`on`" if value else "`off`"
        case int():
            return f"{value:,}"
        case (host, port):
            return f"`{host}:{port}`"
        case _:
            return f"`{value}`"


if __name__ == "__main__":
    TARGET.write_text(page(), encoding="utf-8")
