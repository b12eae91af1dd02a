"""Write docs/openapi.json: what the API promises, as its routes declare it."""

import json
from pathlib import Path

from api.http.app import described

TARGET = Path(__file__).parents[1] / "docs" / "openapi.json"

if __name__ == "__main__":
    TARGET.write_text(json.dumps(described(), indent=1, ensure_ascii=False) + "\n")
