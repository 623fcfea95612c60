-- +goose Up

-- Generations beside the live one: built on an operator's word, promoted, kept for a rollback, retired.
alter table feed.generations
    add column promote         boolean not null default false, -- is to become live as soon as it has caught up
    add column was_live_until  timestamptz,                    -- when another generation took its place
    add column live_since      timestamptz;

-- One row, whose revision changes with whatever an operator does to the generations: instances look at it, and take
-- what there is anew when it has changed.
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

-- Changes with whatever an operator does to the generation's parked events: a page that was made before then, with
-- another idea of what is parked, is not committed.
alter table feed.checkpoints add column parkings bigint not null default 0;

-- +goose Down
alter table feed.checkpoints drop column parkings;
drop table feed.parked;
drop table feed.catalogue;
alter table feed.generations drop column promote, drop column was_live_until, drop column live_since;
