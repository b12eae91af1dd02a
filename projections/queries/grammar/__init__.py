"""The text of a filter: `state:retryable kind:a,b -queue:bulk age:>=7d`.

    text ── parse ──► clauses ── vocabulary ──► terms over a list's indexed fields
         ◄─ printed ──┘

The same text stands in links, in targets of bulk operations and in what people write.
Whatever is not declared is refused, so every accepted filter goes by an index.
"""
