-- +goose Up
create schema feed;

-- A generation of a read model: its tables live in the schema rm_<name>_v<version>_g<generation>.
create table feed.generations (
    name           text not null,
    version        integer not null,
    generation     integer not null,
    live           boolean not null,  -- the one that the views of its version read
    views_digest   bytea not null,    -- of the views' SQL: other views are put in place at the start
    created_at     timestamptz not null default now(),
    promote        boolean not null default false, -- becomes live as soon as it has caught up
    live_since     timestamptz,
    was_live_until timestamptz,       -- when another generation took its place
    primary key (name, version, generation),
    unique (name, version, generation, live)
);
create unique index one_live_generation on feed.generations (name, version) where live;

-- How far a generation has come. The row moves in the transaction that writes the rows of the read model. Reads look up
-- the position of the live generation in the statement that selects the rows, so the row repeats whether its generation
-- is live; the foreign key keeps the two equal.
create table feed.checkpoints (
    name             text not null,
    version          integer not null,
    generation       integer not null,
    live             boolean not null default false,
    commit_position  bigint not null default 0,
    prepare_position bigint not null default 0,
    log_id           uuid not null,
    epoch            integer not null,
    events           bigint not null default 0,   -- read since the generation was last empty
    moved_at         timestamptz not null default now(),
    holder           uuid,                        -- the run of a projector that holds the lease
    instance         text not null default '',    -- its instance, which may reclaim the lease after a restart
    lease_until      timestamptz not null default '-infinity',
    -- Changes with whatever an operator does to the generation's parked events: a page that was made before then, with
    -- another idea of what is parked, is not committed.
    parkings         bigint not null default 0,
    primary key (name, version, generation),
    foreign key (name, version, generation, live)
        references feed.generations (name, version, generation, live) on update cascade on delete cascade
) with (fillfactor = 50);   -- room for heap-only updates: every page moves the row
create unique index one_live_checkpoint on feed.checkpoints (name, version) where live;

-- One row, whose revision changes with whatever an operator does to the generations: instances watch it, and read the
-- generations again when it has changed.
create table feed.catalogue (
    single   boolean primary key default true check (single),
    revision bigint not null default 0
);
insert into feed.catalogue default values;

-- Events that a generation could not handle. Their data stays in the log alone.
create table feed.parked (
    name             text not null,
    version          integer not null,
    generation       integer not null,
    event_id         uuid not null,
    event_type       text not null,
    stream           text not null,
    revision         bigint not null,
    commit_position  bigint not null,
    prepare_position bigint not null,
    state            text not null check (state in ('blocking', 'parked')),
    reason           text not null,
    parked_at        timestamptz not null default now(),
    primary key (name, version, generation, event_id),
    foreign key (name, version, generation) references feed.generations on delete cascade
);
create index parked_in_order on feed.parked (name, version, generation, commit_position, prepare_position);

-- How far the log was seen, which is the place that its next start must have, too: see internal/app/seen.go.
create table feed.log_seen (
    single boolean primary key default true check (single),
    mark   jsonb not null
);

create schema keyring;

-- One key for each account, wrapped by the master key. Unlike a read model this cannot be built again: it belongs in
-- backups. An erased key leaves its row, so that no other is ever made.
create table keyring.account_keys (
    account_id    text primary key,
    wrapped_key   bytea,               -- null: erased
    master_key_id text not null,       -- which master key wrapped it
    created_at    timestamptz not null default now(),
    erased_at     timestamptz,
    check ((wrapped_key is null) = (erased_at is not null))
);

-- The id of the keyring, which the log knows, too: an empty or another keyring is not taken for it.
create table keyring.identity (
    single boolean primary key default true check (single),
    id     text not null
);

-- +goose Down
drop schema keyring cascade;
drop schema feed cascade;
