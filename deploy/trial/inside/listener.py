"""Print what the listener inside answers, as one JSON document; run beside a role."""

import json
import os
import sys
from http.client import HTTPConnection
from typing import Final

SETTINGS: Final = ("COUNTERFOIL_WORKER_HTTP_ADDR", "COUNTERFOIL_API_METRICS_ADDR")
PATHS: Final = ("/livez", "/readyz", "/startupz", "/metrics")

(address,) = [os.environ[name] for name in SETTINGS if os.environ.get(name)]
said: dict[str, tuple[int, str]] = {}
for path in PATHS:
    connection = HTTPConnection("127.0.0.1", int(address.rpartition(":")[2]), timeout=5)
    connection.request("GET", path)
    answer = connection.getresponse()
    said[path] = (answer.status, answer.read().decode())
    connection.close()
json.dump(said, sys.stdout)
