import { sql } from 'kysely'
import { type Changes, migrationsOf, ofUser, type Text } from './changes.ts'

/**
 * Instances add these while others run that do not know of them (docs/operating/upgrading.md): new tables, new columns with a
 * default or without a value, settings, fewer constraints. Each is done in a moment, however large the tables are, and
 * changes no row and no index of a table that is there. A released one never changes.
 */
export function expansionsWith(text: Text) {
  return migrationsOf(text, {
    '0010-autovacuum': (to) => autovacuum(to, 'records', 'ciphertexts'),
    '0011-shards': shards,
    '0012-history': history,
    '0013-record-history': recordHistory,
    '0014-sessions': sessions,
    '0014-autovacuum-versions': (to) => autovacuum(to, 'versions'),
    '0015-digest': digest,
    '0016-deletions': deletions,
    '0017-user-references': userReferences,
    '0018-sqlite-user-references': sqliteUserReferences,
    '0019-commit-times': commitTimes,
    /** The witness that tells a clock that was set wrong from one that went on. Older instances leave it as it is. */
    '0019-witness': ({ addColumns }) => addColumns('heartbeat', 'bigint', 'believed_at', 'judged_at', 'doubted_ms'),
    '0020-version-counts': versionCounts,
    '0021-keyring-versions': keyringVersions,
    /** The number of erasures by a login that is not young any more. Instances of before do not count it. */
    '0021-old-purges': ({ addColumns }) =>
      addColumns('logins', 'bigint default 0 not null', 'old_purges', 'old_purges_since'),
    /** When the provider last asked the person of a login who they are, if it says so. */
    '0022-authentication-times': ({ addColumns }) => addColumns('logins', 'bigint', 'authenticated_at'),
    '0023-clock-behind': clockBehind,
    /**
     * How many deleted records each user has of which nothing is kept. Those of before, and of instances of before, are counted
     * when the sweep next looks through the user's records (upkeep/versions.ts): until then, that many count as live.
     */
    '0024-tombstones': ({ addColumns }) =>
      addColumns('users', 'bigint default 0 not null', 'empty_tombstones', 'empty_tombstones_after'),
    /** The bytes that a user may store, if an operator has set it for this one. Instances of before go by MAX_USER_BYTES. */
    '0025-own-quota': ({ addColumns }) => addColumns('users', 'bigint', 'max_bytes'),
    '0026-pairings': pairings,
  })
}

/** The schema that this version brings a database to. */
export const newestMigration = Object.keys(expansionsWith('text')).sort().at(-1) as string

/**
 * By default, Postgres cleans up a table when a fifth of it has changed. Of hundreds of millions of rows that is seldom and
 * takes long; meanwhile the indexes grow, and reads look up rows that are gone. Inserts alone are to be cleaned up after, too:
 * an index answers alone only where the table's pages are known to be visible to all.
 */
async function autovacuum({ db, isServer }: Changes, ...tables: string[]): Promise<void> {
  for (const table of isServer ? tables : []) {
    await sql`alter table ${sql.table(table)} set (
          autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000,
          autovacuum_vacuum_insert_scale_factor = 0.05, autovacuum_vacuum_insert_threshold = 10000,
          autovacuum_analyze_scale_factor = 0.02, autovacuum_analyze_threshold = 1000)`.execute(db)
  }
}

/**
 * For a database whose users are spread over many servers: a directory of identities, by which a user is found,
 * and the user of each token. Older instances know of neither: `saveUser` adds an identity that is missing, and Postgres
 * the user.
 */
async function shards({ db, isServer, addTable, addIndex, addColumns }: Changes): Promise<void> {
  await addTable(
    'identities',
    [['text not null', 'issuer', 'subject', 'user_id']],
    'constraint "identities_pkey" primary key ("issuer", "subject")',
    `constraint "identities_user" foreign key ("user_id") ${ofUser} deferrable initially deferred`,
  )
  await addIndex('identities_user', 'identities', ['user_id'])
  // Without an index on `user_id`, because only Citus deletes users without this key.
  await addColumns('tokens', 'text', 'user_id')
  // Only Postgres has older instances beside this one. What they made before gets its user in tables/tokens.ts.
  if (!isServer) return
  await sql`create function tokens_user() returns trigger language plpgsql as $$
    begin
      if new.user_id is null then
        select user_id into new.user_id from logins where id = new.login_id;
      end if;
      return new;
    end $$`.execute(db)
  await sql`create trigger tokens_user before insert or update on tokens
    for each row execute function tokens_user()`.execute(db)
  // It says whether all tokens of before have their users: once they have, it is valid.
  await sql`alter table tokens add constraint tokens_user check (user_id is not null) not valid`.execute(db)
}

/** The versions that were replaced or that lost, and what finds open conflicts and deleted bookmarks among them. */
async function history({ addColumns, addTable, addIndex }: Changes): Promise<void> {
  // Before the table that refers to it: the other way round, writers could wait for each other.
  await addColumns('users', 'bigint default 0 not null', 'version_bytes', 'trash_checked_at')
  await addTable(
    'versions',
    [
      [`text not null ${ofUser}`, 'user_id'],
      ['bigint not null', 'seq'],
      ['text not null', 'entity_type', 'entity_id', 'version_id', 'operation'],
      ['bigint not null', 'timestamp'],
      ['text not null', 'device_id'],
      ['text', 'data_hash'],
      ['bigint', 'began'],
      ['bigint not null', 'ended'],
      ['text not null', 'reason', 'replaced_by'],
      ['bigint', 'settled_at'],
      ['integer not null', 'was_deleted'],
      ['bigint not null', 'bytes'],
      ['bigint', 'data_stamp'],
    ],
    'constraint "versions_pkey" primary key ("user_id", "seq")',
  )
  await addIndex('versions_entity', 'versions', ['user_id', 'entity_type', 'entity_id', 'seq'])
  const isOpen = `"settled_at" is null and "reason" <> 'superseded'`
  for (const columns of [['seq'], ['device_id', 'ended'], ['version_id']])
    await addIndex(`versions_open_${columns[0]}`, 'versions', ['user_id', ...columns], isOpen)
  await addIndex('versions_deleted', 'versions', ['user_id', 'seq'], '"was_deleted" = 1')
}

/** Since when an entity is known, and about how many versions of it are kept. */
async function recordHistory({ addColumns }: Changes): Promise<void> {
  await addColumns('records', 'bigint', 'first_stamp')
  await addColumns('records', 'integer default 0 not null', 'versions')
}

/** By which a user tells their logins apart. Those that older instances make have neither. */
async function sessions({ addColumns }: Changes): Promise<void> {
  await addColumns('logins', "text default '' not null", 'user_agent')
  await addColumns('logins', 'bigint', 'last_used_at')
}

/** The sum over a user's live records, and the sequence number up to which it holds. */
async function digest({ addColumns }: Changes): Promise<void> {
  await addColumns('users', 'text', 'digest')
  await addColumns('users', 'bigint', 'digest_stamp')
}

/** Accounts that cannot sign in any more: some for as long as the operator wants it, others until they are erased. */
async function deletions({ addColumns, addTable }: Changes): Promise<void> {
  await addColumns('users', 'bigint', 'disabled_at')
  await addTable('deletions', [
    [`text primary key ${ofUser}`, 'user_id'],
    ['bigint not null', 'deleted_at'],
  ])
}

const unreferring = ['records', 'ciphertexts', 'versions']

/**
 * Postgres looks the user up for each row of a table that refers to users, which is a third of a push. Rows of these tables
 * are only written under the lock on the user's row, which says the same, and `deleteUser` takes them with it.
 */
async function userReferences({ db, isServer }: Changes): Promise<void> {
  if (!isServer) return
  // In the order in which writes lock them: otherwise the two could wait for each other.
  await sql`lock table users in access exclusive mode`.execute(db)
  for (const table of unreferring) {
    const name = sql.ref(`${table}_user_id_fkey`)
    await sql`alter table ${sql.table(table)} drop constraint if exists ${name}`.execute(db)
  }
}

/**
 * Does so on SQLite, which looks users up, too, and while a reference may fail, it keeps a copy of each page that
 * a statement for several rows changes. It has no statement that removes a reference: this is what its documentation says
 * to do instead of copying the table (ALTER TABLE, section 7). It takes a connection in better-sqlite3's unsafe mode.
 */
async function sqliteUserReferences({ db, isServer }: Changes): Promise<void> {
  if (isServer) return
  await sql`pragma writable_schema = on`.execute(db)
  await sql`update sqlite_schema set sql = replace(sql, ${` ${ofUser}`}, '')
        where type = 'table' and name in (${sql.join(unreferring)})`.execute(db)
  // Reads the schema anew, here; and, by its number, in other processes.
  const { rows } = await sql<{ schema_version: number }>`pragma schema_version`.execute(db)
  await sql`pragma schema_version = ${sql.lit(Number(rows[0]?.schema_version) + 1)}`.execute(db)
  await sql`pragma writable_schema = reset`.execute(db)
}

/**
 * How far each sequence number was ahead of the clock when it was given, null if it was given before this. Kept so instead of
 * as a time, because an older instance that changes a record gives it another number, and leaves this as it is: so it
 * stays nearly right.
 */
async function commitTimes({ addColumns }: Changes): Promise<void> {
  await addColumns('records', 'bigint', 'ahead', 'first_ahead')
  await addColumns('versions', 'bigint', 'ahead', 'began_ahead', 'ended_ahead')
  // As a default, it changes no row.
  await addColumns('heartbeat', `bigint default ${Date.now()}`, 'times_since')
}

/**
 * How many versions are kept of each user, what finds a version by its ciphertext, and the events in the index on entities: an
 * index of their own would be another page for each version that is written. Releases before versions leave the counts as they
 * are, and no version of theirs is there to be counted; a database of between the releases has some, and inexact counts of
 * records.
 */
async function versionCounts({ db, addColumns, addIndex }: Changes): Promise<void> {
  await addColumns('users', 'bigint default 0 not null', 'stored_versions')
  await addIndex('versions_event', 'versions', ['user_id', 'entity_type', 'entity_id', 'seq', 'version_id'])
  await addIndex('versions_data', 'versions', ['user_id', 'data_stamp'])
  await db.schema.dropIndex('versions_entity').execute()
  const { rows } = await sql`select 1 from versions limit 1`.execute(db)
  if (rows.length === 0) return
  await sql`update users set stored_versions = (select count(*) from versions where versions.user_id = users.id)`.execute(
    db,
  )
  const counted = sql`(select count(*) from versions where versions.user_id = records.user_id
      and versions.entity_type = records.entity_type and versions.entity_id = records.entity_id)`
  await sql`update records set versions = ${counted} where versions <> ${counted}`.execute(db)
}

/**
 * The keyrings that were replaced, of which instances of before keep none; and whether an export key is its user's own, which
 * is not known of those that are there.
 */
async function keyringVersions({ addColumns, addTable, addIndex }: Changes): Promise<void> {
  await addColumns('users', 'bigint', 'export_key_set_at')
  await addTable(
    'keyring_versions',
    [
      ['text not null', 'id'],
      [`text not null ${ofUser}`, 'user_id'],
      ['bigint not null', 'revision'],
      ['text not null', 'keyring_sealed'],
      ['bigint not null', 'replaced_at'],
    ],
    'constraint "keyring_versions_pkey" primary key ("user_id", "id")',
  )
  // The sweep looks for the oldest, and `npm run reseal` goes through all by their ids.
  for (const column of ['replaced_at', 'id']) await addIndex(`keyring_versions_${column}`, 'keyring_versions', [column])
}

/**
 * How far the clock was behind when something became a version, and up to which sequence number a
 * user's deleted records were looked through: without a value, as everything is that an instance of before writes, not at
 * all, and up to none.
 */
async function clockBehind({ addColumns }: Changes): Promise<void> {
  await addColumns('versions', 'bigint', 'behind')
  await addColumns('users', 'bigint', 'trash_checked_to')
}

/** The last message of each user's pairing of a new device. Instances of before know of none. */
async function pairings({ addTable, addIndex }: Changes): Promise<void> {
  await addTable('pairings', [
    [`text primary key ${ofUser}`, 'user_id'],
    ['text not null', 'id'],
    ['integer not null', 'step'],
    ['text not null', 'message'],
    ['bigint not null', 'expires_at'],
  ])
  await addIndex('pairings_expiry', 'pairings', ['expires_at'])
}
