import type { Kysely } from 'kysely'
import root from 'tap'
import type { Schema } from '../../src/service/db/schema.ts'
import { buildApp, type TestApp, type TestUser } from './app.ts'

/** The parts of a shared app that a test may use without affecting others. */
export interface SharedApp extends Pick<TestApp, 'app' | 'call' | 'listen' | 'user'> {
  /** For reading the rows of the test's own users. */
  db: Kysely<Schema>
}

let shared: Promise<SharedApp> | undefined
let callers = 0

/**
 * The app that all tests in this process share, with default settings, closed with the process. It is for tests that
 * use only their own users' data, and not its clock, log and parts. A name is another user for each caller.
 */
export async function sharedApp(): Promise<SharedApp> {
  shared ??= openShared()
  const { user, ...app } = await shared
  const caller = ++callers
  return { ...app, user: (name) => user(`${name} ${caller}`) }
}

/** A new user of the shared app with each call. */
export async function sharedUser(): Promise<TestUser> {
  const { user } = await sharedApp()
  return user('ada')
}

async function openShared(): Promise<SharedApp> {
  const { app, call, listen, user, context } = await buildApp(root)
  let origin: Promise<string> | undefined
  return { app, call, user, listen: () => (origin ??= listen()), db: context.database.db }
}
