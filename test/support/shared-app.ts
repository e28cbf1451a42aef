import root from 'tap'
import { buildApp, type TestApp } from './app.ts'

/** What can be used of an app that others use, too, without their noticing. */
export type SharedApp = Pick<TestApp, 'app' | 'call' | 'listen' | 'user'>

let shared: Promise<SharedApp> | undefined
let callers = 0

/**
 * The one app of all tests in this process, on the defaults and closed with the process: for tests that look only at what
 * their own people have, and leave its clock, its log and its parts alone. A name is somebody else for each caller.
 */
export async function sharedApp(): Promise<SharedApp> {
  shared ??= openShared()
  const { user, ...app } = await shared
  const caller = ++callers
  return { ...app, user: (name) => user(`${name} ${caller}`) }
}

async function openShared(): Promise<SharedApp> {
  const { app, call, listen, user } = await buildApp(root)
  let origin: Promise<string> | undefined
  return { app, call, user, listen: () => (origin ??= listen()) }
}
