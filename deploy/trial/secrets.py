"""The secrets of a trial, made by the script that installations use."""

import subprocess
from pathlib import Path

from deploy.trial.world import PANEL_TOKEN, ROOT


def make_secrets(folder: Path, database_url: str | None = None) -> None:
    """Fill `folder`; the panel's token is the simulator's."""
    folder.mkdir()
    given = {"remnawave_token": PANEL_TOKEN, "database_url": database_url}
    for name, value in given.items():
        if value is not None:
            (folder / name).write_text(value, "utf-8")
            (folder / name).chmod(0o444)
    script = ROOT / "deploy" / "secrets.sh"
    subprocess.run([script, folder], check=True)  # noqa: S603 - our own


def operator_token(folder: Path) -> str:
    """Return what the script has drawn for the first owner."""
    return (folder / "operator_token").read_text("utf-8")
