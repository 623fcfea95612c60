-- +goose Up
create schema keyring;

-- One key for each account, wrapped by the master key. Unlike a read model this cannot be built again: it belongs into
-- backups. An erased key leaves its row, so that no other is ever made.
create table keyring.account_keys (
    account_id    text primary key,
    wrapped_key   bytea,               -- null: erased
    master_key_id text not null,       -- which master key wrapped it
    created_at    timestamptz not null default now(),
    erased_at     timestamptz,
    check ((wrapped_key is null) = (erased_at is not null))
);

-- +goose Down
drop schema keyring cascade;
