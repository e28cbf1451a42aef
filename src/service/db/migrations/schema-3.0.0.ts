import { type QueryExecutorProvider, sql } from 'kysely'
import { v7 as uuidv7 } from 'uuid'

const emptyDigest = '0'.repeat(32)

/**
 * The schema of 3.0.0; `../schema.ts` describes the columns. Keys of a user's rows begin with the user, so that they
 * can be distributed over servers. Each index names the query that needs it.
 */
const statements = `
create table users (
  id text primary key,
  issuer text not null,
  subject text not null,
  email text not null,
  name text not null,
  avatar_url text not null,
  email_verified integer not null,
  export_key_sealed text not null,
  export_key_set_at bigint default 0 not null,
  last_sequence bigint default 0 not null,
  live_bookmarks bigint default 0 not null,
  stored_bytes bigint default 0 not null,
  version_bytes bigint default 0 not null,
  stored_records bigint default 0 not null,
  stored_versions bigint default 0 not null,
  empty_tombstones bigint default 0 not null,
  empty_tombstones_after bigint default 0 not null,
  digest text default '${emptyDigest}' not null,
  history_digest text default '${emptyDigest}' not null,
  group_digest text default '${emptyDigest}' not null,
  own_epoch text,
  max_bytes bigint,
  created_at bigint not null,
  disabled_at bigint,
  old_purges bigint default 0 not null,
  old_purges_since bigint default 0 not null
);
-- listMovable: the users of a provider.
create index users_identity on users (issuer, subject);

-- Looked up before the user is known. Without a reference to users: Citus keeps it on all servers.
create table identities (
  issuer text not null,
  subject text not null,
  user_id text not null,
  primary key (issuer, subject)
);
-- beginDeletion, moveUser: the identities of a user.
create index identities_user on identities (user_id);

create table providers (
  issuer text primary key,
  auth_time_since bigint not null
);

create table deletions (
  user_id text primary key references users on delete cascade,
  deleted_at bigint not null,
  erase_at bigint default 0 not null,
  person text
);

create table logins (
  user_id text not null references users on delete cascade,
  id text not null,
  provider_token_sealed text,
  checked_at bigint not null,
  asking_until bigint default 0 not null,
  unanswered integer default 0 not null,
  ends_at bigint,
  created_at bigint not null,
  authenticated_at bigint,
  user_agent text default '' not null,
  last_used_at bigint not null,
  primary key (user_id, id)
);

create table tokens (
  user_id text not null,
  hash text not null,
  kind text not null,
  login_id text not null,
  issued_at bigint not null,
  expires_at bigint not null,
  primary key (user_id, hash),
  foreign key (user_id, login_id) references logins (user_id, id) on delete cascade
);
-- endLogins, findAliveLogins, shortenSessions: the tokens of a login.
create index tokens_login on tokens (user_id, login_id);
-- The sweep: the oldest.
create index tokens_expiry on tokens (expires_at);

create table used_nonces (
  nonce text primary key,
  expires_at bigint not null
);
-- The sweep: the oldest.
create index used_nonces_expiry on used_nonces (expires_at);

-- records, ciphertexts and versions do not refer to users: looking the user up for each row would take a third of a push.
-- Their rows are only written under the lock of the user's row, and deleteUser deletes them.
create table records (
  user_id text not null,
  entity_type text not null,
  entity_id text not null,
  data_hash text,
  created_at bigint not null,
  updated_at bigint not null,
  deleted_at bigint,
  sequence bigint not null,
  stored_at bigint not null,
  event_id text not null,
  operation text not null,
  timestamp bigint not null,
  device_id text not null,
  resolution_strategy text,
  overwritten text,
  recovered text,
  bytes bigint not null,
  data_sequence bigint,
  first_sequence bigint not null,
  first_stored_at bigint not null,
  others_sequence bigint,
  versions integer default 0 not null,
  encrypted_data text,
  -- findStored, listById: an entity, and exports by id.
  primary key (user_id, entity_type, entity_id)
);
-- listChangePage: pulls and sockets.
create unique index records_sequence on records (user_id, sequence);
-- listNewest: the list of bookmarks.
create index records_newest on records (user_id, created_at, entity_id)
  where deleted_at is null and entity_type = 'bookmark';

create table ciphertexts (
  user_id text not null,
  sequence bigint not null,
  encrypted_data text not null,
  primary key (user_id, sequence)
);

create table versions (
  user_id text not null,
  sequence bigint not null,
  stored_at bigint not null,
  behind bigint default 0 not null,
  entity_type text not null,
  entity_id text not null,
  version_id text not null,
  operation text not null,
  timestamp bigint not null,
  device_id text not null,
  data_hash text,
  began bigint,
  began_at bigint,
  ended_at bigint not null,
  reason text not null,
  replaced_by text not null,
  settled_at bigint,
  was_deleted integer not null,
  bytes bigint not null,
  data_sequence bigint,
  primary key (user_id, sequence)
);
-- listVersions, findByEvents: the versions of an entity. The event is in it because an index of its own would be another page of
-- each version.
create index versions_event on versions (user_id, entity_type, entity_id, sequence, version_id);
-- findKeptData: what else has a ciphertext.
create index versions_data on versions (user_id, data_sequence);
-- listOpen, countConflicts.
create index versions_open on versions (user_id, sequence) where settled_at is null and reason <> 'superseded';
-- settleVersion: the first to arrive of all with this event, which clients choose.
create index versions_open_event on versions (user_id, version_id, coalesce(began, sequence))
  where settled_at is null and reason <> 'superseded';
-- listTrash.
create index versions_deleted on versions (user_id, sequence) where was_deleted = 1;

create table devices (
  user_id text not null references users on delete cascade,
  device_id text not null,
  cursor bigint not null,
  last_sync bigint not null,
  encrypted_name text,
  primary key (user_id, device_id)
);
-- The sweep: the oldest.
create index devices_last_sync on devices (last_sync);

create table exports (
  user_id text not null references users on delete cascade,
  id text not null,
  status text not null,
  created_at bigint not null,
  size_bytes bigint,
  bookmark_count bigint,
  expires_at bigint,
  attempts integer default 0 not null,
  fence integer default 0 not null,
  lease_until bigint default 0 not null,
  object_key text,
  key_sealed text not null,
  primary key (user_id, id)
);
-- listWaitingJobs, countIncomplete, listFailed: the jobs of all users.
create index exports_status on exports (status, lease_until);
-- The sweep: the oldest.
create index exports_expiry on exports (expires_at);

create table keyrings (
  user_id text primary key references users on delete cascade,
  keyring text not null,
  revision bigint not null
);

create table keyring_versions (
  user_id text not null references users on delete cascade,
  id text not null,
  revision bigint not null,
  keyring_sealed text not null,
  replaced_at bigint not null,
  primary key (user_id, id)
);
-- The sweep: the oldest.
create index keyring_versions_replaced_at on keyring_versions (replaced_at);

create table pairings (
  user_id text primary key references users on delete cascade,
  id text not null,
  step integer not null,
  message text not null,
  reserved integer default 0 not null,
  expires_at bigint not null
);
-- The sweep: the oldest.
create index pairings_expiry on pairings (expires_at);

create table epoch (
  id text primary key,
  restored integer default 0 not null
);

create table limits_in_force (
  variable text primary key,
  value bigint not null,
  announced bigint,
  announced_at bigint
);

create table heartbeat (
  probed_at bigint not null,
  believed_at bigint,
  judged_at bigint,
  doubted_ms bigint,
  orphans_since bigint,
  orphans_sought_at bigint
);
insert into heartbeat (probed_at) values (0)`

/**
 * Postgres vacuums a table by default after a fifth of it has changed. With hundreds of millions of rows, that is rare
 * and takes long; meanwhile indexes grow, and reads visit dead rows. Inserts count, too, because index-only scans need
 * pages that are known to be visible to all.
 */
const cleanUpEarly = `set (
  autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000,
  autovacuum_vacuum_insert_scale_factor = 0.05, autovacuum_vacuum_insert_threshold = 10000,
  autovacuum_analyze_scale_factor = 0.02, autovacuum_analyze_threshold = 1000)`

/** ANALYZE would keep samples of these columns, which outlive erased data. Queries do not need them. */
const unsampled = {
  records: 'encrypted_data',
  ciphertexts: 'encrypted_data',
  keyrings: 'keyring',
  keyring_versions: 'keyring_sealed',
  devices: 'encrypted_name',
}

export async function makeSchema(db: QueryExecutorProvider, isServer: boolean): Promise<void> {
  // Compares texts by bytes, as SQLite does.
  const script = isServer ? statements.replaceAll(/\btext\b/g, 'text collate "C"') : statements
  for (const statement of script.split(/;\n/)) await sql.raw(statement).execute(db)
  await sql`insert into epoch (id) values (${uuidv7()})`.execute(db)
  for (const table of isServer ? ['records', 'ciphertexts', 'versions'] : [])
    await sql`alter table ${sql.table(table)} ${sql.raw(cleanUpEarly)}`.execute(db)
  for (const [table, column] of isServer ? Object.entries(unsampled) : [])
    await sql`alter table ${sql.table(table)} alter column ${sql.ref(column)} set statistics 0`.execute(db)
}
