"""Print what the log says, as one JSON document; run beside the product, as `python -`.

Plain SQL on the events: no read model and no code of the product is asked.
"""

import json
import os
import sys
from pathlib import Path
from typing import Final

import psycopg

ORDERS: Final = """
SELECT born.data->>'order_id',
       floor(extract(epoch FROM born.recorded_at) * 1000)::bigint,
       (SELECT count(*) FROM counterfoil.events done
         WHERE done.stream_id = born.stream_id AND done.type = 'order.fulfilled')
  FROM counterfoil.events born
 WHERE born.type = 'order.paid'
"""
USERS: Final = """
SELECT data->>'customer_id', data->>'username'
  FROM counterfoil.events
 WHERE type = 'entitlement.granted'
"""
LEFT: Final = """
SELECT (SELECT count(*) FROM counterfoil.jobs),
       (SELECT count(*) FROM counterfoil.jobs_dead)
"""
ENDED: Final = """
SELECT count(*) FROM counterfoil.events WHERE type = 'job.lease_expired'
"""

address = Path(os.environ["COUNTERFOIL_DATABASE_URL_FILE"]).read_text("utf-8")
with psycopg.connect(address) as connection:
    said = {
        "orders": connection.execute(ORDERS).fetchall(),
        "users": connection.execute(USERS).fetchall(),
        "left": connection.execute(LEFT).fetchone(),
        "leases_ended": (connection.execute(ENDED).fetchone() or (0,))[0],
    }
json.dump(said, sys.stdout)
