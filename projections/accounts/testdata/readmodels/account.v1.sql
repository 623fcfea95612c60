-- account version 1 as the release wrote it that first had it.
create schema "rm_account_v1_g1";
create table "rm_account_v1_g1"."accounts" (
  "account_id" text not null,
  "plan" text not null,
  "opened_at" timestamptz not null,
  primary key ("account_id")
);
create table "rm_account_v1_g1"."api_keys" (
  "key_hash" text not null,
  "account_id" text not null,
  "masked" text not null,
  "name" text,
  "created_at" timestamptz not null,
  primary key ("key_hash")
);
create index api_keys_of_account on "rm_account_v1_g1"."api_keys" ("account_id", "created_at");
insert into feed.generations (name, version, generation, live, promote, tables_digest, views_digest, live_since)
  values ('account', 1, 1, true, false, '\x878ba3c0be8a3d20131263ee2c21f8a8c610a837f0e222ba983a2d9a9507fcb1', '\x1b66c88eb4c59d0208b0b4fda3a1191ea64089205bc91164c8db966523687e84', now());
create schema if not exists read_v1;
set local search_path = "rm_account_v1_g1";
create view "read_v1"."accounts" as select account_id, plan, opened_at from accounts;
create view "read_v1"."api_keys" as select key_hash, account_id, masked, name, created_at from api_keys;
