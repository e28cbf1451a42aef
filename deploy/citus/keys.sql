-- First of two steps from one Postgres to Citus: keys that hold the column by which a table is distributed.
-- See docs/scaling.md. Every instance must run this version, and the previous one must have been gone for 30 days.
-- psql --single-transaction --set ON_ERROR_STOP=1 --file keys.sql

-- Users who have not signed in since the directory exists.
insert into identities (issuer, subject, user_id) select issuer, subject, id from users on conflict do nothing;

-- A reference table cannot refer to a distributed one.
alter table identities drop constraint identities_user;
alter table users drop constraint users_identity;

drop trigger tokens_user on tokens;
drop function tokens_user;
alter table tokens
  alter column user_id set not null,
  drop constraint tokens_user,
  drop constraint tokens_login_id_fkey,
  drop constraint tokens_pkey,
  add primary key (user_id, hash);
alter table logins drop constraint logins_pkey, add primary key (user_id, id);
drop index logins_user;
drop index tokens_login;
create index tokens_login on tokens (user_id, login_id);
alter table tokens add foreign key (user_id, login_id) references logins (user_id, id) on delete cascade;

alter table exports drop constraint exports_pkey, add primary key (user_id, id);
