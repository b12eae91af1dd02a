"""The Remnawave panel, spoken to over HTTP; every answer is classified."""
