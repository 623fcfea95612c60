-- +goose Up

-- Sign-ins that have begun are in their browsers now. Migration 6 made this schema, and is none any more.
drop schema if exists signin cascade;

-- How far the log was seen, which is the place that its next start must have, too: see internal/app/seen.go.
create table feed.log_seen (
    single boolean primary key default true check (single),
    mark   jsonb not null
);

-- +goose Down
drop table feed.log_seen;
