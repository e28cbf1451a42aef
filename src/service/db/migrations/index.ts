import type { Migration } from 'kysely/migration'
import { autovacuum } from './0010-autovacuum.ts'
import { shards } from './0011-shards.ts'
import { history } from './0012-history.ts'
import { recordHistory } from './0013-record-history.ts'
import { sessions } from './0014-sessions.ts'
import { digest } from './0015-digest.ts'
import { deletions } from './0016-deletions.ts'
import { userReferences } from './0017-user-references.ts'
import { sqliteUserReferences } from './0018-sqlite-user-references.ts'
import { commitTimes } from './0019-commit-times.ts'
import { witness } from './0019-witness.ts'
import { versionCounts } from './0020-version-counts.ts'
import { keyringVersions } from './0021-keyring-versions.ts'
import { oldPurges } from './0021-old-purges.ts'
import { authenticationTimes } from './0022-authentication-times.ts'
import { clockBehind } from './0023-clock-behind.ts'
import { tombstones } from './0024-tombstones.ts'
import { ownQuota } from './0025-own-quota.ts'
import { pairings } from './0026-pairings.ts'
import type { Text } from './until-2.0.0.ts'

/**
 * Instances add these while others run that do not know of them (docs/operating/upgrading.md): new tables, new columns with a
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
    '0019-commit-times': commitTimes,
    '0019-witness': witness,
    '0020-version-counts': versionCounts,
    '0021-keyring-versions': keyringVersions(text),
    '0021-old-purges': oldPurges,
    '0022-authentication-times': authenticationTimes,
    '0023-clock-behind': clockBehind,
    '0024-tombstones': tombstones,
    '0025-own-quota': ownQuota,
    '0026-pairings': pairings(text),
  }
}

/** The schema that this version brings a database to. */
export const newestMigration = Object.keys(expansionsWith('text')).sort().at(-1) as string
