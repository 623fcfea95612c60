-- +goose Up
create schema signin;

-- Sign-ins that have begun, for ten minutes at most. What is lost here is begun again.
create table signin.states (
    state      bytea primary key, -- SHA-256
    browser    bytea not null,    -- SHA-256 of the cookie of the browser that has begun
    address    text not null,     -- of the client: how many it has is limited
    provider   text not null,
    callback   text not null,
    redirect   text not null,
    utm_source text not null,
    nonce      text not null,
    verifier   text not null,
    expires_at timestamptz not null
);

create index on signin.states (address);
create index on signin.states (expires_at);

-- +goose Down
drop schema signin cascade;
