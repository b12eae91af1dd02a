"""Print what the panel's book says, as one JSON document; run beside the panel."""

import json
import sqlite3
import sys
from contextlib import closing
from typing import Final

USERS: Final = """
SELECT username, status, expire_at, traffic_limit_bytes, hwid_device_limit FROM users
"""
BIRTHS: Final = """
SELECT username FROM requests
 WHERE applied = 1 AND method = 'POST' AND path = '/api/users'
"""
ASKED: Final = "SELECT count(*) FROM requests"

with closing(sqlite3.connect(f"file:{sys.argv[1]}?mode=ro", uri=True)) as book:
    said = {
        "users": book.execute(USERS).fetchall(),
        "births": [name for (name,) in book.execute(BIRTHS)],
        "asked": book.execute(ASKED).fetchone()[0],
    }
json.dump(said, sys.stdout)
