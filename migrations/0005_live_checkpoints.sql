-- +goose Up

-- Reads look up the position of the live generation in the statement that selects the rows, so a checkpoint says itself
-- whether it is live. The foreign key keeps that what feed.generations says.
alter table feed.checkpoints add column live boolean not null default false;
update feed.checkpoints c set live = true from feed.generations g
    where g.live and (g.name, g.version, g.generation) = (c.name, c.version, c.generation);
alter table feed.generations add unique (name, version, generation, live);
alter table feed.checkpoints
    drop constraint checkpoints_name_version_generation_fkey,
    add foreign key (name, version, generation, live)
        references feed.generations (name, version, generation, live) on update cascade on delete cascade;
create unique index one_live_checkpoint on feed.checkpoints (name, version) where live;

-- +goose Down
alter table feed.checkpoints
    drop column live, -- and with it the foreign key and the index
    add constraint checkpoints_name_version_generation_fkey
        foreign key (name, version, generation) references feed.generations on delete cascade;
alter table feed.generations drop constraint generations_name_version_generation_live_key;
