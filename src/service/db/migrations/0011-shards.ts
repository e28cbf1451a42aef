import { type Kysely, type RawBuilder, sql } from 'kysely'
import type { Migration } from 'kysely/migration'
import type { Text } from './until-2.0.0.ts'

/**
 * For a database whose users are spread over many servers: a directory of identities, by which a user is found,
 * and the user of each token. Older instances know of neither: `saveUser` adds an identity that is missing, and Postgres
 * the user.
 */
export function shards(textType: Text): Migration {
  const text = sql.raw(textType)
  return {
    async up(db: Kysely<unknown>) {
      await addIdentities(db, text)
      await db.schema.alterTable('tokens').addColumn('user_id', text).execute()
      // Only Postgres has older instances beside this one. What they made before gets its user in tables/tokens.ts.
      if (textType !== 'text') await addTrigger(db)
    },
  }
}

/** Without an index on `user_id`, because only Citus deletes users without this key. */
async function addIdentities(db: Kysely<unknown>, text: RawBuilder<unknown>): Promise<void> {
  await db.schema
    .createTable('identities')
    .addColumn('issuer', text, (column) => column.notNull())
    .addColumn('subject', text, (column) => column.notNull())
    .addColumn('user_id', text, (column) => column.notNull())
    .addPrimaryKeyConstraint('identities_pkey', ['issuer', 'subject'])
    .addForeignKeyConstraint('identities_user', ['user_id'], 'users', ['id'], (constraint) =>
      constraint.onDelete('cascade').deferrable().initiallyDeferred(),
    )
    .execute()
  await db.schema.createIndex('identities_user').on('identities').column('user_id').execute()
}

/** The check says whether all tokens of before have their users: once they have, it is valid. */
async function addTrigger(db: Kysely<unknown>): Promise<void> {
  await sql`create function tokens_user() returns trigger language plpgsql as $$
    begin
      if new.user_id is null then
        select user_id into new.user_id from logins where id = new.login_id;
      end if;
      return new;
    end $$`.execute(db)
  await sql`create trigger tokens_user before insert or update on tokens
    for each row execute function tokens_user()`.execute(db)
  await sql`alter table tokens add constraint tokens_user check (user_id is not null) not valid`.execute(db)
}
