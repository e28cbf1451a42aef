import { readFile, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { ConfigError } from '../../src/service/config/values.ts'
import { openFolderStore } from '../../src/service/objects/folder.ts'

const key = 'ada.0199f6a0-1c00-7000-8000-000000000001.1'

t.test('a folder that cannot be written stops the start, naming EXPORTS_DIR', async (t) => {
  const dir = t.testdir({ file: '' })
  for (const path of [join(dir, 'file'), join(dir, 'file', 'exports')]) {
    await t.rejects(openFolderStore(path), new ConfigError(`EXPORTS_DIR: ${path} cannot be written`), path)
  }
})

t.test('a folder that was removed fails the probe', async (t) => {
  const dir = join(t.testdir(), 'exports')
  const store = await openFolderStore(dir)
  await rm(dir, { recursive: true })
  await t.rejects(store.probe(), { code: 'ENOENT' })
})

t.test('only the service’s user can access the files', async (t) => {
  const dir = join(t.testdir(), 'exports')
  const store = await openFolderStore(dir)
  await store.put(key, new Uint8Array(32), contentOf('x'), new AbortController().signal)
  t.equal((await stat(dir)).mode & 0o777, 0o700)
  t.equal((await stat(join(dir, key))).mode & 0o777, 0o600)
})

t.test('a write that does not own the unfinished file does not touch it', async (t) => {
  const dir = t.testdir()
  const store = await openFolderStore(dir)
  await writeFile(join(dir, `${key}.part`), 'another one’s')
  await t.rejects(store.put(key, new Uint8Array(32), contentOf('x'), new AbortController().signal), { code: 'EEXIST' })
  t.equal(await readFile(join(dir, `${key}.part`), 'utf8'), 'another one’s')
})

async function* contentOf(text: string): AsyncGenerator<Buffer> {
  yield Buffer.from(text)
}
