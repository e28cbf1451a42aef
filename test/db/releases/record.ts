import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startPostgres } from '../../../scripts/servers/postgres.ts'
import type { TestUser } from '../../support/app.ts'
import { change } from '../../support/changes.ts'
import { type Session, type Statement, watchStatements } from './released.ts'

/**
 * `node test/db/releases/record.ts FOLDER [sqlite|postgres]`, run once for each release: writes its schema with data (SQL),
 * and what its instances send to the database while a person signs in and syncs (JSON). Later versions are tested with it.
 */

const [folder = '', database] = process.argv.slice(2)
mkdirSync(folder, { recursive: true })
if (!database) {
  for (const each of ['sqlite', 'postgres'])
    spawnSync(process.execPath, [import.meta.filename, folder, each], { stdio: 'inherit' })
} else {
  await record()
}

async function record(): Promise<void> {
  const postgres = database === 'postgres' ? await startPostgres() : undefined
  // The next imports read this variable when it is imported.
  if (postgres) process.env.TEST_POSTGRES = postgres.url
  const dataDir = mkdtempSync(join(tmpdir(), 'ebs-release-'))
  const ends: (() => unknown)[] = []
  try {
    const { buildApp } = await import('../../support/app.ts')
    const watch = watchStatements(database === 'postgres' ? 'postgres' : 'sqlite')
    const app = await buildApp({ teardown: (end: () => unknown) => void ends.push(end) } as never, {}, { dataDir })
    const schema = watch.take().filter(({ sql }) => /^(create (?!database)|alter|insert|update|drop)/i.test(sql))
    for (const name of ['ada', 'bob']) await live(await app.user(name))
    const data = watch.take().filter(({ sql }) => /^(insert|update|delete)/i.test(sql))
    // An instance's work at its start and in between is no part of a person's requests.
    await new Promise((resolve) => setTimeout(resolve, 3_000))
    watch.take()
    const steps: Statement[] = []
    const keep = () => steps.push(...inTurn(watch.take()).filter(({ sql }) => !sql.includes('heartbeat')))
    const user = await app.user('eve')
    keep()
    await live({ ...user, call: (...args) => user.call(...args).finally(keep) })
    write('sql', [...schema, ...data].map((statement) => `${inline(statement)};\n`).join(''))
    write('json', format(pack(steps)))
  } finally {
    for (const end of ends.reverse()) await end()
    await postgres?.close()
    rmSync(dataDir, { recursive: true, force: true })
  }
}

/** Everything that a device does. */
async function live(user: TestUser): Promise<void> {
  const post = (path: string, body: object) =>
    user.call('POST', `/api/v1/${path}`, { body, headers: { 'x-device-id': 'phone' } })
  const push = (...changes: object[]) => post('sync/push', { changes })
  await user.call('GET', '/api/v1/auth/session')
  await push(change({ entity_id: 'a' }), change({ entity_id: 'b' }), change({ entity_id: 'g', entity_type: 'group' }))
  await post('sync/pull', { since: 0 })
  await push(change({ entity_id: 'a', operation: 'update', timestamp: Date.now() + 1000, device_id: 'laptop' }))
  await push(change({ entity_id: 'a', operation: 'update', timestamp: 1, device_id: 'tablet' }))
  await push(change({ entity_id: 'b', operation: 'delete', timestamp: Date.now() + 2000 }))
  await user.call('GET', '/api/v1/sync/status', { headers: { 'x-device-id': 'phone' } })
  await post('sync/pull', { since: 0, limit: 1 })
  await post('sync/import', { bookmarks: [{ id: 'i', encrypted_data: 'AAAA', data_hash: 'h' }] })
  await post('bookmarks', { id: 'r', encrypted_data: 'BBBB', data_hash: 'r' })
  await user.call('PUT', '/api/v1/bookmarks/r', { body: { encrypted_data: 'CCCC', data_hash: 's' } })
  await user.call('GET', '/api/v1/bookmarks?limit=10')
  await user.call('GET', '/api/v1/bookmarks/r')
  await user.call('DELETE', '/api/v1/bookmarks/r')
  await user.call('GET', '/api/v1/account/export-key')
  await user.call('GET', '/api/v1/exports')
  await post('sync/pull', { since: 0 })
}

/** The statements of each connection together: on one alone, transactions cannot run at the same time. */
function inTurn(statements: Statement[]): Statement[] {
  return [...Map.groupBy(statements, ({ connection }) => connection).values()].flat()
}

function pack(statements: Statement[]): Session {
  const texts = [...new Set(statements.map(({ sql }) => sql))]
  return { texts, steps: statements.map(({ sql, parameters, rows }) => [texts.indexOf(sql), parameters, rows]) }
}

/** A line for each statement. */
function format({ texts, steps }: Session): string {
  const lines = (list: unknown[]) => list.map((each) => JSON.stringify(each)).join(',\n')
  return `{"texts":[\n${lines(texts)}],\n"steps":[\n${lines(steps)}]}\n`
}

/** With the parameters as literals. */
function inline({ sql, parameters }: Statement): string {
  const literal = (value: unknown): string => {
    if (value === null || value === undefined) return 'null'
    if (typeof value === 'number' || typeof value === 'bigint') return String(value)
    if (Array.isArray(value)) return `array[${value.map(literal).join(', ')}]`
    return `'${String(value).replaceAll("'", "''")}'`
  }
  if (database === 'postgres') return sql.replaceAll(/\$(\d+)/g, (_, index) => literal(parameters[Number(index) - 1]))
  let next = 0
  return sql.replaceAll('?', () => literal(parameters[next++]))
}

function write(ending: string, text: string): void {
  writeFileSync(join(folder, `${database}.${ending}`), text)
}
