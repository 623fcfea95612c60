-- +goose Up

-- The id of the keyring, which the log knows, too: an empty or another keyring is not taken for it.
create table keyring.identity (
    single boolean primary key default true check (single),
    id     text not null
);

-- +goose Down
drop table keyring.identity;
