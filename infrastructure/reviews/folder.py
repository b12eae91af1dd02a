"""One folder of evidence for the whole installation, told by a mark that lies in it.

The first API to start finds the mark or makes it, and the database keeps it.  After
that whoever has another folder does not start: what one process has taken would not be
there for the others.  On several hosts the folder is one that they share.
"""

from contextlib import suppress
from pathlib import Path
from typing import Final
from uuid import UUID, uuid4

from infrastructure.errors import ConfigurationError
from infrastructure.postgres.batch_store import Connections
from infrastructure.postgres.database import transaction
from infrastructure.reviews.files import NAME, keep_entries, make_folder, write_whole

MARK: Final = "FOLDER"
_SETTING: Final = "COUNTERFOIL_DATA_DIR"

_KEEP: Final = """
UPDATE counterfoil.installation SET evidence_folder = %(mark)s
 WHERE evidence_folder IS NULL
"""
_READ: Final = "SELECT evidence_folder FROM counterfoil.installation"


def keep_folder(connections: Connections, data_dir: Path) -> None:
    """Make this the folder of the installation, unless there is another.

    Raises:
        ConfigurationError: there is, or the folder cannot be used.
    """
    folder = data_dir / NAME
    known = _known(connections)
    if known is None:
        mark = _mark_of(folder) or _marked(folder)
        with connections.connection() as connection, transaction(connection):
            connection.execute(_KEEP, {"mark": mark})
    require_folder(connections, data_dir)


def require_folder(connections: Connections, data_dir: Path) -> None:
    """Return if evidence lies here, or nowhere yet.

    Raises:
        ConfigurationError: it lies elsewhere.
    """
    folder, known = data_dir / NAME, _known(connections)
    if known is None or known == _mark_of(folder):
        return
    problem = f"{folder} is not the folder in which the evidence of this database lies"
    remedy = (
        "give every API and worker the same one; on several hosts mount a folder that "
        f"they share as {NAME!r} of each data directory. If it is lost for good, write "
        f"the line {known} into the file {MARK} of the new one"
    )
    raise ConfigurationError(_SETTING, problem, remedy)


def _known(connections: Connections) -> UUID | None:
    with connections.connection() as connection:
        ((known,),) = connection.execute(_READ).fetchall()
    return UUID(str(known)) if known is not None else None


def _mark_of(folder: Path) -> UUID | None:
    try:
        return UUID((folder / MARK).read_text("ascii").strip())
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return None
    except OSError as error:
        raise _unusable(folder, error) from error


def _marked(folder: Path) -> UUID:
    """Return the mark that the folder has now; another process may have made it."""
    try:
        make_folder(folder)
        draft = folder / f".{MARK}.{uuid4().hex}"
        write_whole(draft, f"{uuid4()}\n".encode("ascii"))
        with suppress(FileExistsError):
            (folder / MARK).hardlink_to(draft)
        draft.unlink()
        keep_entries(folder)
    except OSError as error:
        raise _unusable(folder, error) from error
    mark = _mark_of(folder)
    if mark is None:
        problem = f"{folder / MARK} holds no mark"
        raise ConfigurationError(_SETTING, problem, "remove that file, and start again")
    return mark


def _unusable(folder: Path, error: OSError) -> ConfigurationError:
    problem = f"{folder} cannot be used ({error.strerror})"
    return ConfigurationError(
        _SETTING, problem, "name a folder in which this process may write"
    )
