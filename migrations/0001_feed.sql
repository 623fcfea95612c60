-- +goose Up
create schema feed;

-- A generation of a read model: its tables live in the schema rm_<name>_v<version>_g<generation>.
create table feed.generations (
    name          text not null,
    version       integer not null,
    generation    integer not null,
    live          boolean not null,   -- the one that the views of its version read
    tables_digest bytea not null,     -- of the tables' DDL: other tables need a new version
    views_digest  bytea not null,     -- of the views' SQL: other views are put in place at the start
    created_at    timestamptz not null default now(),
    primary key (name, version, generation)
);
create unique index one_live_generation on feed.generations (name, version) where live;

-- How far a generation has come. The row moves in the transaction that writes the rows of the read model.
create table feed.checkpoints (
    name             text not null,
    version          integer not null,
    generation       integer not null,
    commit_position  bigint not null default 0,
    prepare_position bigint not null default 0,
    log_id           uuid not null,
    epoch            integer not null,
    events           bigint not null default 0,   -- read since the generation was last empty
    moved_at         timestamptz not null default now(),
    holder           uuid,                        -- the run of a projector that holds the lease
    instance         text not null default '',    -- its instance, which may reclaim the lease after a restart
    lease_until      timestamptz not null default '-infinity',
    primary key (name, version, generation),
    foreign key (name, version, generation) references feed.generations on delete cascade
) with (fillfactor = 50);   -- room for heap-only updates: every page moves the row

-- +goose Down
drop schema feed cascade;
