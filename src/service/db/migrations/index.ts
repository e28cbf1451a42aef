import type { Migration } from 'kysely/migration'
import { initial, type Text } from './0001-initial.ts'
import { quota } from './0002-quota.ts'
import { overwritten } from './0003-overwritten.ts'
import { ciphertexts } from './0004-ciphertexts.ts'
import { rejections } from './0005-rejections.ts'
import { sweeps } from './0006-sweeps.ts'
import { signIns } from './0007-sign-ins.ts'
import { epoch } from './0008-epoch.ts'
import { heartbeat } from './0009-heartbeat.ts'
import { autovacuum } from './0010-autovacuum.ts'
import { shards } from './0011-shards.ts'
import { history } from './0012-history.ts'
import { recordHistory } from './0013-record-history.ts'
import { sessions } from './0014-sessions.ts'
import { digest } from './0015-digest.ts'
import { deletions } from './0016-deletions.ts'
import { userReferences } from './0017-user-references.ts'
import { sqliteUserReferences } from './0018-sqlite-user-references.ts'

/**
 * What made the schema until 2.0.0, while no instance ran. None is added, and none changes. `text` is a column type that
 * compares by bytes.
 */
export function migrationsWith(text: Text): Record<string, Migration> {
  return {
    '0001-initial': initial(text),
    '0002-quota': quota,
    '0003-overwritten': overwritten,
    '0004-ciphertexts': ciphertexts(text),
    '0005-rejections': rejections,
    '0006-sweeps': sweeps,
    '0007-sign-ins': signIns(text),
    '0008-epoch': epoch(text),
    '0009-heartbeat': heartbeat,
  }
}

/**
 * What instances add while others run that do not know of it (docs/operating/upgrading.md): new tables, new columns with a
 * default or without a value, settings, fewer constraints. Each is done in a moment, however large the tables are, and
 * changes no row and no index of a table that is there. A released one never changes.
 */
export function expansionsWith(text: Text): Record<string, Migration> {
  return {
    '0010-autovacuum': autovacuum(text, ['records', 'ciphertexts']),
    '0011-shards': shards(text),
    '0012-history': history(text),
    '0013-record-history': recordHistory,
    '0014-sessions': sessions(text),
    '0014-autovacuum-versions': autovacuum(text, ['versions']),
    '0015-digest': digest(text),
    '0016-deletions': deletions(text),
    '0017-user-references': userReferences(text),
    '0018-sqlite-user-references': sqliteUserReferences(text),
  }
}

/** The schema that this version brings a database to. */
export const newestMigration = Object.keys(expansionsWith('text')).sort().at(-1) as string
