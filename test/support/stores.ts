import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { readConfig } from '../../src/config.ts'
import { openObjectStore } from '../../src/exports/objects/open.ts'
import type { ObjectStore } from '../../src/exports/objects/store.ts'
import { startTestMinio } from './minio.ts'

export interface TestStore {
  /** The variables under which the service uses a new, empty store of this kind. */
  env(t: Test): Promise<Record<string, string>>
  /** Such a store. */
  open(t: Test): Promise<ObjectStore>
  /** What the store tells of an object whose first piece is written. */
  unfinished(key: string): string[]
}

const minio = await startTestMinio()
const stores: Record<string, Omit<TestStore, 'open'> | string> = {
  'a folder': {
    async env(t) {
      const dir = await mkdtemp(join(tmpdir(), 'ebs-exports-'))
      t.teardown(() => rm(dir, { recursive: true, force: true }))
      return { EXPORTS_DIR: dir }
    },
    unfinished: (key) => [key],
  },
  MinIO: typeof minio === 'string' ? minio : { env: () => minio.createBucket(), unfinished: () => [] },
}

/** Runs the tests on every kind of object store. */
export function testOnEachStore(tests: (t: Test, store: TestStore) => void): void {
  for (const [name, store] of Object.entries(stores)) {
    if (typeof store === 'string') t.test(`on ${name}`, { skip: store }, async () => {})
    else t.test(`on ${name}`, async (t) => tests(t, { ...store, open: (t) => open(t, store.env) }))
  }
}

async function open(t: Test, env: TestStore['env']): Promise<ObjectStore> {
  const store = await openObjectStore(readConfig(await env(t)))
  t.teardown(() => store.close())
  return store
}
