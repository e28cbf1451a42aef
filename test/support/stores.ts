import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'
import { openClient, type S3Environment } from '../../scripts/servers/minio.ts'
import { readConfig } from '../../src/service/config/config.ts'
import { openObjectStore } from '../../src/service/objects/open.ts'
import type { ObjectStore } from '../../src/service/objects/store.ts'
import { isDeep } from './depth.ts'
import { silent } from './log.ts'
import { type SharedMinio, sharedMinio } from './minio.ts'

type Environment = Record<string, string>

export interface TestStore {
  /** The environment variables that make the service use a new, empty store of this kind. */
  env(t: Test): Promise<Environment>
  /** Opens such a store, or the one that these variables name. */
  open(t: Test, env?: Environment): Promise<ObjectStore>
  /** What the store lists while only the first piece of an object is written. */
  unfinished(key: string): string[]
  operate(env: Environment): Promise<Operator>
}

/** What the store's operator can see and do without the service. */
export interface Operator {
  objects(): Promise<string[]>
  /** The keys of what interrupted writes left behind. */
  leftovers(): Promise<string[]>
  write(name: string): Promise<void>
  /** Leaves behind what remains of an object whose writer was killed. */
  interrupt(key: string): Promise<void>
}

const folderStore: Omit<TestStore, 'open'> = {
  async env(t) {
    const dir = await mkdtemp(join(tmpdir(), 'ebs-exports-'))
    t.teardown(() => rm(dir, { recursive: true, force: true }))
    return { EXPORTS_DIR: dir }
  },
  unfinished: (key) => [key],
  operate: async ({ EXPORTS_DIR = '' }) => operateFolder(EXPORTS_DIR),
}

const minioStore = (minio: SharedMinio): Omit<TestStore, 'open'> => ({
  env: () => minio.createBucket(),
  unfinished: () => [],
  operate: (env) => operateBucket(env as S3Environment),
})

type StoreTests = (t: Test, store: TestStore) => void | Promise<void>

export function testOnFolder(t: Test, tests: StoreTests): void {
  t.test('on a folder', async (t) => tests(t, openable(folderStore)))
}

/** Runs the tests on every kind of object store. */
export function testOnEachStore(t: Test, tests: StoreTests): void {
  testOnFolder(t, tests)
  t.test('on MinIO', async (t) => {
    const minio = await sharedMinio(t)
    if (typeof minio === 'string') t.plan(0, minio)
    else await tests(t, openable(minioStore(minio)))
  })
}

/** Quick runs use a folder only: objects/stores.test.ts and operations/exports.test.ts compare all kinds of stores. */
export const testOnStoresInDepth = isDeep ? testOnEachStore : testOnFolder

function openable(store: Omit<TestStore, 'open'>): TestStore {
  return { ...store, open: async (t, env) => openStore(t, env ?? (await store.env(t))) }
}

/** Opens the store that these variables name. */
export async function openStore(t: Test, env: Environment): Promise<ObjectStore> {
  const store = await openObjectStore(readConfig(env), silent)
  t.teardown(() => store.close())
  return store
}

/** True for the objects that the service writes and removes now and then to test the store. */
function isProbe(name: string): boolean {
  return name.startsWith('.probe')
}

function operateFolder(dir: string): Operator {
  const half = '.part'
  const files = async () => (await readdir(dir)).sort()
  return {
    objects: async () => (await files()).filter((name) => !name.endsWith(half) && !isProbe(name)),
    leftovers: async () =>
      (await files()).filter((name) => name.endsWith(half)).map((name) => name.slice(0, -half.length)),
    write: (name) => writeFile(join(dir, name), 'x'),
    interrupt: (key) => writeFile(join(dir, key + half), 'x'),
  }
}

async function operateBucket(env: S3Environment): Promise<Operator> {
  const [client, bucket] = [await openClient(env), env.S3_BUCKET]
  return {
    async objects() {
      const { objects } = await client.listObjectsV2Query(bucket, '', '', '', 1000, '')
      return objects.map(({ name = '' }) => name).filter((name) => !isProbe(name))
    },
    async leftovers() {
      const { uploads } = await client.listIncompleteUploadsQuery(bucket, '', '', '', '')
      return uploads.map(({ key }) => key).sort()
    },
    async write(name) {
      await client.putObject(bucket, name, 'x')
    },
    async interrupt(key) {
      await client.initiateNewMultipartUpload(bucket, key, {})
    },
  }
}
