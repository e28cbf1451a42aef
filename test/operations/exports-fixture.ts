import type { Test } from 'tap'
import type { Schemas } from '../../src/contract/schemas.ts'
import { buildApp, type TestApp, type TestUser } from '../support/app.ts'
import { createdExport } from '../support/exports.ts'
import type { TestStore } from '../support/stores.ts'

type Export = Schemas['Export']
type Completed = { [Field in keyof Export]: NonNullable<Export[Field]> }

export const path = '/api/v1/exports'
/** What is null until an export is completed. */
export const pending = { size_bytes: null, bookmark_count: null, expires_at: null }

/** The service on such a store, with ada and bob. */
export async function build(t: Test, store: TestStore) {
  const app = await buildApp(t, await store.env(t))
  return {
    app,
    ada: await app.user('ada'),
    bob: await app.user('bob'),
    files: async () => (await Array.fromAsync(app.context.objects.list())).sort(),
  }
}

/** Without a worker, exports stay as they are. */
export async function buildIdle(t: Test, store: TestStore) {
  const built = await build(t, store)
  await built.app.context.exportWorker.close()
  return built
}

/** Makes an export and waits until it is completed. */
export async function make(user: TestUser): Promise<Completed> {
  const made = await createdExport(user)
  if (made.status !== 'completed') throw new Error(`the export is ${made.status}`)
  return made as Completed
}

export async function list(user: TestUser): Promise<Export[]> {
  const { body } = await user.call('GET', path)
  return body.exports
}

export async function keyOf(user: TestUser, query = '') {
  const { body } = await user.call('GET', `/api/v1/account/export-key${query}`)
  return Buffer.from(body.key, 'base64')
}

export async function setStatus({ context }: TestApp, status: Export['status']): Promise<void> {
  await context.database.db.updateTable('exports').set({ status }).execute()
}
