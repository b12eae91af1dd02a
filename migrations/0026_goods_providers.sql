-- Providers of goods: how each one is reached, and its sealed credential.
--
-- Plain rows, changed by people alone; each change is an event of its own beside it
-- (provider.*, credential.*), written in the same transaction.
CREATE TABLE counterfoil.goods_providers (
    tenant_id      text        NOT NULL,
    slug           text        NOT NULL,
    -- A name, no list: an older version must hold what a newer one has configured.
    adapter        text        NOT NULL,
    is_enabled     boolean     NOT NULL,
    -- Readable copies of what is sealed beside the token; where the address differs from
    -- it, the provider is not used.
    base_url       text,
    currency       text,
    -- Nonce, ciphertext and tag; bound to this row, so that it opens in no other one.
    credential     bytea,
    credential_key text,
    -- When a secret was last given; sealing it under another key does not change it.
    credential_at  timestamptz,
    updated_at     timestamptz NOT NULL DEFAULT counterfoil.now(),
    CONSTRAINT goods_providers_pkey PRIMARY KEY (tenant_id, slug),
    CONSTRAINT goods_providers_slug_plain CHECK (slug ~ '^[a-z][a-z0-9_-]{1,31}$'),
    CONSTRAINT goods_providers_adapter_plain CHECK (adapter ~ '^[a-z][a-z0-9_-]{1,31}$'),
    CONSTRAINT goods_providers_currency_code CHECK (currency ~ '^[A-Z]{3}$'),
    CONSTRAINT goods_providers_credential_whole CHECK (
        (credential IS NULL) = (credential_key IS NULL)
        AND (credential IS NULL) = (credential_at IS NULL)
        AND (credential IS NULL) = (base_url IS NULL)
        AND (credential IS NOT NULL OR currency IS NULL)),
    -- 12 bytes of nonce and 16 of tag.
    CONSTRAINT goods_providers_credential_sealed CHECK (octet_length(credential) > 28)
) WITH (fillfactor = 70);
