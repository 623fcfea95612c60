-- What version 1 of the read model, which has one table and no to-do list, leaves in the database.
create schema "rm_clips_v1_g1";
create table "rm_clips_v1_g1"."clips" (
  "clip_id" text not null,
  "account_id" text not null,
  "voice" text not null,
  "language" text not null,
  "speed" text not null,
  "characters" bigint not null,
  "debug" boolean not null,
  "saved_at" timestamptz not null,
  "blob" text not null,
  "bytes" bigint not null,
  "media_type" text not null,
  "sealed" bytea not null,
  primary key ("clip_id")
);
create index clips_by_time on "rm_clips_v1_g1"."clips" ("account_id", "saved_at", "clip_id");
create index clips_by_length on "rm_clips_v1_g1"."clips" ("account_id", "characters", "saved_at", "clip_id");
create index clips_by_voice on "rm_clips_v1_g1"."clips" ("account_id", "voice", "saved_at", "clip_id");
create index clips_by_blob on "rm_clips_v1_g1"."clips" ("blob");
insert into feed.generations (name, version, generation, live, views_digest, live_since)
  values ('clips', 1, 1, true, '', now());
create schema if not exists read_v1;
set local search_path = "rm_clips_v1_g1";
create view "read_v1"."clips" as select clip_id, account_id, voice, language, speed::double precision as speed, characters, debug, saved_at, blob, bytes, media_type, sealed, 'clip/' || clip_id as sealed_for from clips;
