import type { Test } from 'tap'
import type { Schemas } from '../../src/service/contract/schemas.ts'
import { buildApp, type TestUser } from '../support/app.ts'
import { isPostgres } from '../support/database-url.ts'
import { createdExport } from '../support/exports.ts'
import { testOnEachStore, testOnFolder } from '../support/stores.ts'

type Export = Schemas['Export']
type Completed = { [Field in keyof Export]: NonNullable<Export[Field]> }

export const path = '/api/v1/exports'
/** These are null until an export is completed. */
export const pending = { size_bytes: null, bookmark_count: null, expires_at: null }

/** On Postgres, tests use only the folder store: stores do not depend on the database. */
export const testOnStores = isPostgres ? testOnFolder : testOnEachStore

/** A service for several tests. `begin` gives each test new users ada and bob, and hides the files of others. */
export async function openExports(t: Test, env: Record<string, string> = {}) {
  const app = await buildApp(t, env)
  const { context } = app
  const listFiles = () => Array.fromAsync(context.objects.list())
  let tests = 0

  async function begin(t: Test) {
    const number = ++tests
    const { objects } = context
    const [parts, put] = [{ objects, write: context.database.write }, objects.put]
    t.teardown(() => {
      app.setClock(undefined)
      context.objects = Object.assign(parts.objects, { put })
      context.database.write = parts.write
    })
    const others = new Set(await listFiles())
    const ada = await app.user(`ada ${number}`)
    return {
      app,
      ada,
      bob: await app.user(`bob ${number}`),
      files: async () => (await listFiles()).filter((name) => !others.has(name)).sort(),
      /** Sets the status of ada's exports. */
      setStatus: (status: Export['status']) =>
        context.database.db.updateTable('exports').set({ status }).where('user_id', '=', ada.userId).execute(),
    }
  }
  return { app, begin }
}

/** Without a worker, so that exports stay pending. */
export async function openIdleExports(t: Test, env: Record<string, string> = {}) {
  const opened = await openExports(t, env)
  await opened.app.context.exportWorker.close()
  return opened
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
