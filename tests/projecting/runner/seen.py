"""How far projections are, asked of the database with nothing of ours."""

from typing import Any

import psycopg


def is_caught_up(connection: psycopg.Connection[Any]) -> bool:
    """Return whether every projection has read the whole log."""
    ((behind,),) = connection.execute(
        """
        SELECT count(*)
          FROM counterfoil.projections p
          LEFT JOIN counterfoil.checkpoints c
                 ON c.name = p.name || '_' || p.live || ':counterfoil'
         WHERE coalesce(c.position, 0)
             < (SELECT coalesce(max(position), 0) FROM counterfoil.events)
        """
    ).fetchall()
    return bool(behind == 0)
