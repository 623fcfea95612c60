-- clips version 1 as the release wrote it that first had it.
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
insert into feed.generations (name, version, generation, live, promote, tables_digest, views_digest, live_since)
  values ('clips', 1, 1, true, false, '\x780e0cb4179a8d4f6e38f651d048bd0ae7b09a25392119c07e0706e6c51286c5', '\x3ba6efb64cac311dee3ea65ec35335a841c053509ac9447c696191db204783a4', now());
create schema if not exists read_v1;
set local search_path = "rm_clips_v1_g1";
create view "read_v1"."clips" as select clip_id, account_id, voice, language, speed::double precision as speed, characters, debug, saved_at, blob, bytes, media_type, sealed, 'clip/' || clip_id as sealed_for from clips;
