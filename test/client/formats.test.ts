import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import t from 'tap'
import { unwrap } from '../../src/client/api/unwrap.ts'
import { buildTree } from '../../src/client/bookmark/build-tree.ts'
import { positionsBetween } from '../../src/client/bookmark/positions.ts'
import type { PlaintextBookmark } from '../../src/client/bookmark.ts'
import { historyId } from '../../src/client/crypto/derived-id.ts'
import { decryptBookmark, encryptBookmark } from '../../src/client/crypto/record.ts'
import { createBackup, openBackup } from '../../src/client/export-file/backup.ts'
import type { Vault } from '../../src/client/vault/operations.ts'
import { openVault, rotateKeys } from '../../src/client/vault/vault.ts'
import { isDeep } from '../support/depth.ts'
import { findProgram } from '../support/programs.ts'
import { openTab } from './connection.ts'

t.test('positions have the form that docs/formats.md describes', async (t) => {
  const between = (lower: string | null, upper: string | null) => positionsBetween(lower, upper, 1, 'laptop')[0] ?? ''
  const [mark = ''] = /^0.../.exec(between(null, null).slice('a0'.length)) ?? []
  t.match(between(null, null), /^a00/, "the first item has the device's mark")
  t.ok(between('a0', 'a1').startsWith(`a0V${mark}`))
  t.ok(between('a0', 'a0V').startsWith(`a0G${mark}`))
  t.ok(between('az', null).startsWith(`b00${mark}`))
  t.ok(between(null, 'a0').startsWith(`Zz${mark}`))
})

t.test('a client that was written only from the documents', { skip: !isDeep && 'with --deep' }, async (t) => {
  const python = await findProgram('python3')
  if (!python) return
  const { client, jar, userId } = await openTab()
  const program = await installed(python)
  const run = async (...words: string[]) => {
    const env = { ...process.env, BASE_URL: client.baseUrl, SESSION: jar.service_session }
    return (
      await promisify(execFile)(program, [fileURLToPath(new URL('formats.py', import.meta.url)), ...words], { env })
    ).stdout
  }
  const passphrase = 'Ångström ﬁve 🦊'
  let vault: Vault

  await t.test('reproduces every vector that the service has', async (t) => {
    t.equal(await run('vectors'), 'every vector holds\n')
  })

  await t.test('makes a vault that the client package opens, by passphrase and by code', async (t) => {
    const recoveryCode = (await run('make', passphrase)).trim()
    vault = await openVault(client, { userId, recoveryCode })
    t.same((await openVault(client, { userId, passphrase })).keys, vault.keys)
    const tree = buildTree(await read())
    t.same([tree.length, tree[0]?.bookmark.title], [1, 'Émile / 本'])
    t.same(
      tree[0]?.children.map(({ bookmark }) => bookmark.id),
      ['first', 'line', 'third'],
    )
    t.same(byId(await read()), byId(await readByPython()), 'the client reads the same by a pull and from an export')
  })

  await t.test('reads what the client package has written, also under new keys', async (t) => {
    await write({
      id: 'ours',
      title: '½ \u2028 "',
      source: 'bookmarks',
      extra: { 10: 1e21, 9: 1e-7, '\uffff': 1, '😀': -0 },
    })
    t.same(byId(await read()), byId(await readByPython()))
    await (await rotateKeys(client, { userId, passphrase }, passphrase)).confirm()
    vault = await openVault(client, { userId, passphrase })
    await write({ id: 'later', title: 'Under the second key', source: 'bookmarks' })
    const bookmarks = await readByPython()
    t.equal(bookmarks.length, 6)
    t.same(byId(await read()), byId(bookmarks))
  })

  await t.test('opens a backup that the client package has saved, without the service', async (t) => {
    const path = join(program, '../../backup.dat')
    const backup = await createBackup(client, { userId, keys: vault.keys, history: true })
    await writeFile(path, new Uint8Array(await backup.arrayBuffer()))
    unwrap(await client.DELETE('/api/v1/account'))
    const { bookmarks, groups = [], history = [] } = await openBackup(backup, { passphrase })
    t.same([bookmarks.length, groups.length, history.map(({ url }) => url)], [6, 2, ['https://example.org/']])
    t.equal(history[0]?.id, historyId(vault.keys, 'https://example.org/'))
    const lists = JSON.parse(await run('open', path, passphrase))
    const theirs = [lists.bookmarks, lists.groups, lists.history].map((records) => byId(Object.values(records)))
    t.same(theirs, [bookmarks, groups, history].map(byId))
  })

  async function readByPython(): Promise<PlaintextBookmark[]> {
    const { pulled, exported } = JSON.parse(await run('read', passphrase))
    t.same(exported.bookmarks, pulled.bookmarks, 'an export has the same bookmarks')
    t.same(
      [pulled.groups, pulled.history].map((records) => Object.keys(records).length),
      [2, 1],
    )
    return Object.values(pulled.bookmarks)
  }

  async function read(): Promise<PlaintextBookmark[]> {
    const { data } = unwrap(await client.GET('/api/v1/bookmarks'))
    return data.map((record) => decryptBookmark(vault.keys, record))
  }

  async function write(bookmark: PlaintextBookmark): Promise<void> {
    unwrap(
      await client.POST('/api/v1/bookmarks', { body: { id: bookmark.id, ...encryptBookmark(vault.keys, bookmark) } }),
    )
  }
})

function byId(bookmarks: PlaintextBookmark[]) {
  return bookmarks.toSorted((one, other) => (one.id < other.id ? -1 : 1))
}

/** A separate Python environment with the two libraries that the program in Python needs. */
async function installed(python: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'ebs-python-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  await promisify(execFile)(python, ['-m', 'venv', folder])
  await promisify(execFile)(join(folder, 'bin/pip'), ['install', '--quiet', 'pynacl==1.6.2', 'argon2-cffi==25.1.0'])
  return join(folder, 'bin/python')
}
