"""What the schema `counterfoil` is made of, object by object, as PostgreSQL spells it.

Data, owners, grants and comments are not described: they may differ between two
installations of one version.  The migrator's own table is left out.
"""

from typing import Final, LiteralString

from infrastructure.postgres.database import Connection

type Description = dict[str, str]
"""Definition by object, as in `index counterfoil.events_position`."""

# The catalogs spell names with their schema only while it is not in the path.
_PLAIN_NAMES: Final = "SET LOCAL search_path = pg_catalog"

_SCHEMA: Final = (
    "SELECT 'schema counterfoil', '' FROM pg_namespace WHERE nspname = 'counterfoil'"
)

_RELATIONS: Final = """
SELECT CASE c.relkind WHEN 'v' THEN 'view' WHEN 'm' THEN 'materialized view'
                      WHEN 'c' THEN 'type' WHEN 'S' THEN 'sequence' ELSE 'table' END
       || ' ' || c.oid::regclass,
       concat_ws(' ', c.relkind, c.relpersistence, c.reloptions::text,
                 CASE WHEN c.relrowsecurity THEN 'row security' END,
                 CASE WHEN c.relforcerowsecurity THEN 'forced' END,
                 pg_get_partkeydef(c.oid), pg_get_expr(c.relpartbound, c.oid),
                 CASE WHEN c.relkind IN ('v', 'm') THEN pg_get_viewdef(c.oid) END,
                 CASE WHEN c.relkind = 'S' THEN (
                     SELECT concat_ws(' ', s.seqtypid::regtype, 'start', s.seqstart,
                                      'by', s.seqincrement, 'from', s.seqmin,
                                      'to', s.seqmax, 'cache', s.seqcache, s.seqcycle)
                       FROM pg_sequence s
                      WHERE s.seqrelid = c.oid) END)
  FROM pg_class c
 WHERE c.relnamespace = 'counterfoil'::regnamespace
   AND c.relkind IN ('r', 'p', 'v', 'm', 'c', 'S', 'f')
   AND c.relname <> 'schema_migrations'
"""

# Counted among living columns: a dropped one leaves a hole, which nobody sees.
_COLUMNS: Final = """
SELECT 'column ' || c.oid::regclass || '.' || quote_ident(a.attname),
       concat_ws(' ', row_number() OVER (PARTITION BY c.oid ORDER BY a.attnum),
                 format_type(a.atttypid, a.atttypmod),
                 CASE WHEN a.attcollation <> t.typcollation
                      THEN 'collate ' || a.attcollation::regcollation END,
                 CASE WHEN a.attnotnull THEN 'not null' END,
                 'identity ' || nullif(a.attidentity::text, ''),
                 'generated ' || nullif(a.attgenerated::text, ''),
                 'default ' || pg_get_expr(d.adbin, d.adrelid))
  FROM pg_class c
  JOIN pg_attribute a ON a.attrelid = c.oid
  JOIN pg_type t ON t.oid = a.atttypid
  LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum
 WHERE c.relnamespace = 'counterfoil'::regnamespace
   AND c.relkind IN ('r', 'p', 'm', 'c', 'f')
   AND c.relname <> 'schema_migrations'
   AND a.attnum > 0
   AND NOT a.attisdropped
"""

# Not the NOT NULLs, which have names from PostgreSQL 18 on: columns tell them.
_CONSTRAINTS: Final = """
SELECT 'constraint ' || quote_ident(k.conname) || ' on '
       || coalesce(nullif(k.conrelid, 0)::regclass::text, k.contypid::regtype::text),
       concat_ws(' ', pg_get_constraintdef(k.oid),
                 CASE WHEN NOT k.convalidated THEN '(not validated)' END)
  FROM pg_constraint k
 WHERE k.connamespace = 'counterfoil'::regnamespace
   AND k.contype IN ('c', 'f', 'p', 'u', 'x')
   AND k.conrelid IS DISTINCT FROM to_regclass('counterfoil.schema_migrations')
"""

_INDEXES: Final = """
SELECT 'index ' || i.indexrelid::regclass,
       concat_ws(' ', pg_get_indexdef(i.indexrelid),
                 CASE WHEN NOT i.indisvalid THEN '(invalid)' END)
  FROM pg_index i
  JOIN pg_class c ON c.oid = i.indexrelid
 WHERE c.relnamespace = 'counterfoil'::regnamespace
   AND i.indrelid IS DISTINCT FROM to_regclass('counterfoil.schema_migrations')
"""

_FUNCTIONS: Final = """
SELECT 'function ' || p.oid::regprocedure,
       CASE p.prokind WHEN 'a' THEN 'aggregate' ELSE pg_get_functiondef(p.oid) END
  FROM pg_proc p
 WHERE p.pronamespace = 'counterfoil'::regnamespace
"""

_TRIGGERS: Final = """
SELECT 'trigger ' || quote_ident(t.tgname) || ' on ' || t.tgrelid::regclass,
       concat_ws(' ', pg_get_triggerdef(t.oid), t.tgenabled)
  FROM pg_trigger t
  JOIN pg_class c ON c.oid = t.tgrelid
 WHERE c.relnamespace = 'counterfoil'::regnamespace
   AND NOT t.tgisinternal
"""

_RULES: Final = """
SELECT 'rule ' || quote_ident(r.rulename) || ' on ' || r.ev_class::regclass,
       concat_ws(' ', pg_get_ruledef(r.oid), r.ev_enabled)
  FROM pg_rewrite r
  JOIN pg_class c ON c.oid = r.ev_class
 WHERE c.relnamespace = 'counterfoil'::regnamespace
   AND r.rulename <> '_RETURN'
"""

_TYPES: Final = """
SELECT CASE t.typtype WHEN 'd' THEN 'domain ' ELSE 'type ' END || t.oid::regtype,
       CASE t.typtype
       WHEN 'e' THEN (SELECT 'enum ' || string_agg(quote_literal(e.enumlabel), ', '
                                                   ORDER BY e.enumsortorder)
                        FROM pg_enum e
                       WHERE e.enumtypid = t.oid)
       WHEN 'd' THEN concat_ws(' ', format_type(t.typbasetype, t.typtypmod),
                               CASE WHEN t.typnotnull THEN 'not null' END,
                               'default ' || t.typdefault)
       ELSE 'range' END
  FROM pg_type t
 WHERE t.typnamespace = 'counterfoil'::regnamespace
   AND t.typtype IN ('d', 'e', 'r')
"""

_EVERYTHING: Final[tuple[LiteralString, ...]] = (
    _RELATIONS,
    _COLUMNS,
    _CONSTRAINTS,
    _INDEXES,
    _FUNCTIONS,
    _TRIGGERS,
    _RULES,
    _TYPES,
)


def describe(connection: Connection) -> Description:
    """Return the definition of every object of the schema; {} without a schema.

    Call it in a transaction: it sets the search path until that ends.
    """
    connection.execute(_PLAIN_NAMES)
    if connection.execute(_SCHEMA).fetchone() is None:
        return {}
    return {
        str(name): str(definition)
        for query in _EVERYTHING
        for name, definition in connection.execute(query)
    }
