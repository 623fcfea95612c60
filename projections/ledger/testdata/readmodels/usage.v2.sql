-- usage version 2 as the release wrote it that first had it.
create schema "rm_usage_v2_g1";
create table "rm_usage_v2_g1"."periods" (
  "account_id" text not null,
  "period_start" timestamptz not null,
  "period_end" timestamptz not null,
  "plan" text not null,
  "character_limit" bigint,
  "characters" bigint not null,
  "playground_characters" bigint not null,
  "credit_granted" bigint not null,
  "credit_carried" bigint not null,
  primary key ("account_id", "period_start")
);
create table "rm_usage_v2_g1"."reservations" (
  "reservation_id" text not null,
  "stream" text not null,
  "account_id" text not null,
  "characters" bigint not null,
  "expires_at" timestamptz not null,
  primary key ("reservation_id")
);
create index reservations_due on "rm_usage_v2_g1"."reservations" ("expires_at");
create index reservations_of_stream on "rm_usage_v2_g1"."reservations" ("stream");
create table "rm_usage_v2_g1"."credit_periods" (
  "account_id" text not null,
  "period_start" timestamptz not null,
  "stream" text not null,
  "period_end" timestamptz not null,
  "cause" text not null,
  primary key ("account_id", "period_start")
);
create index credit_periods_end on "rm_usage_v2_g1"."credit_periods" ("period_end");
create index credit_periods_stream on "rm_usage_v2_g1"."credit_periods" ("stream");
insert into feed.generations (name, version, generation, live, promote, tables_digest, views_digest, live_since)
  values ('usage', 2, 1, true, false, '\x1bf08cf2690d668b85953e0fd4b69488b4ddbad1f93b09c2051336cdffae8838', '\x6cc9e2418fca56a44ef92391371d5fd85f728fe51282ed1e48d531ca448fc2e7', now());
create schema if not exists read_v2;
set local search_path = "rm_usage_v2_g1";
create view "read_v2"."usage_periods" as select account_id, period_start, period_end, plan, character_limit, characters, playground_characters,
				credit_granted, credit_carried, credit_granted - least(greatest(characters - character_limit, 0), credit_granted) - credit_carried as credit_left from periods;
create view "read_v2"."open_reservations" as select reservation_id, stream, account_id, characters, expires_at from reservations;
create view "read_v2"."todo_expiry" as select reservation_id as item, stream, expires_at as due_at, reservation_id as cause from reservations;
create view "read_v2"."todo_credit" as select c.stream as item, c.stream, c.period_end as due_at, c.cause from credit_periods c
	where not exists (select from reservations r where r.stream = c.stream);
