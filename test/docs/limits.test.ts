/** The guide to limits has the contract's numbers in short rows. */
import { readFileSync } from 'node:fs'
import t from 'tap'
import { maxMessageBytes, silenceSeconds } from '../../generated/channel.ts'
import { Keyring } from '../../generated/keyring-limits.ts'
import { EncryptedData, Id, ImportRequest, PullRequest, PushRequest, quotas } from '../../generated/limits.ts'
import openapi from '../../generated/openapi.json' with { type: 'json' }
import { operations } from '../../generated/operations.ts'

const guide = readFileSync(new URL('../../docs/limits.md', import.meta.url), 'utf8')
const rows = new Map(
  [...guide.matchAll(/^\| (.+) \| (.+) \| (.+) \|$/gm)].slice(1).map(([, what = '', limit = '']) => [what, limit]),
)
const number = (value: number) => value.toLocaleString('en')
const mebibytes = (bytes: number) => `${bytes / 2 ** 20} MiB`
const [gibibyte, day] = [2 ** 30, 86_400]
const { sessionCookie, refreshCookie } = openapi.components.securitySchemes
const { parameters } = openapi.paths['/api/v1/bookmarks'].get
const { schema: listLimit } = parameters[1] as { schema: { default: number; maximum: number } }

t.test('The table of limits has at most 30 rows of one short line each', async (t) => {
  const lines = guide.split('\n').filter((line) => line.startsWith('|'))
  t.ok(rows.size <= 30, `${rows.size} rows`)
  t.same(
    lines.filter((line) => line.length > 130),
    [],
  )
})

t.test('The numbers in the guide to limits match the contract', async (t) => {
  const expected: Record<string, string> = {
    'Changes in a push, bookmarks in an import': number(PushRequest.changes.maxItems),
    'Body of a push or an import': mebibytes(quotas.batchBodyBytes),
    'Body of another request': `${mebibytes(quotas.bodyBytes)}; to sign in, refresh or sign out ${bodyLimitOf('/api/v1/auth/login') / 1024} KiB`,
    'Changes in a page of a pull': `${number(openapi.components.schemas.PullRequest.properties.limit.default)}, at most ${number(PullRequest.limit.maximum)}`,
    'Records in a page of a list': `${listLimit.default}, at most ${number(listLimit.maximum)}`,
    '`encrypted_data`': `${number(EncryptedData.maxLength)} characters`,
    'Ids, `device_id` and `data_hash`': `${Id.maxLength} printable`,
    '`keyring`': `${number(Keyring.keyring.maxLength)} characters`,
    Storage: `${quotas.storedBytes / gibibyte} GiB *, of which each record and version takes ${quotas.rowBytes} bytes`,
    'Records, with deleted ones': `${number(quotas.storedRecords)} *`,
    'Versions of a bookmark': `${quotas.versionsOfRecord}, for ${quotas.versionDays} days *`,
    'Earlier keyrings': `${quotas.keyringVersions}, for ${quotas.versionDays} days *`,
    Devices: number(quotas.devices),
    'Sign-ins at the same time': number(quotas.logins),
    'Session without a refresh, and with one': `${sessionCookie['x-cookie'].maxAge / day} days, ${refreshCookie['x-cookie'].maxAge / day} days`,
    'Deleted bookmarks erased by an [old sign-in](sessions.md#what-cannot-be-undone)': `${quotas.purgesOfOldSignIn} in 24 hours`,
    'Backups on the service': `${quotas.exportsUnfinished} unfinished, ${quotas.exportsKept} kept for 7 days, ${quotas.exportBytes / gibibyte} GiB *`,
    'Requests of a user': `${number(quotas.requestsPerMinute)} a minute *`,
    'Sign-ins from a network: started, failed, and wrong cookies': `${quotas.requestsPerMinute / 4}, ${quotas.requestsPerMinute / 20} and ${quotas.requestsPerMinute / 20} a minute *`,
    'Sockets of a user': `${quotas.socketsPerInstance} per instance`,
    'Message on a socket': `${maxMessageBytes / 1024} KiB`,
    'Silence on a socket': `${silenceSeconds} s`,
  }
  t.equal(ImportRequest.bookmarks.maxItems, PushRequest.changes.maxItems)
  t.same(
    Object.entries(expected).filter(([what, limit]) => !rows.get(what)?.startsWith(limit)),
    [],
  )
  t.match(guide, `one more for each full ${operations.pushChanges.cost.every} changes`)
})

function bodyLimitOf(path: '/api/v1/auth/login'): number {
  return openapi.paths[path].post['x-body-limit']
}
