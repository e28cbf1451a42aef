import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Test } from 'tap'
import { signInAt } from '../../scripts/servers/sign-in.ts'
import type {
  Client,
  Conflict,
  Keys,
  PlaintextBookmark,
  Quarantined,
  Sync,
  SyncStatus,
  TreeNode,
} from '../../src/client/index.ts'
import { deriveKeys, loadMasterKey } from '../../src/client/index.ts'
import { openDevice } from '../../src/client/node/device.ts'
import { createSync } from '../../src/client/sync/create-sync.ts'
import { buildWithEmbedded } from '../support/mock-service.ts'
import { until } from '../support/until.ts'
import { openBrowser } from './browser.ts'
import { runAccount, runGuide } from './package-guide.ts'

interface Start {
  client: Client
  signIn(): Promise<string | undefined>
  openKeys(userId: string, dialogs: object): Promise<Keys>
  startSync(userId: string, keys: Keys, show: (tree: TreeNode[], status: SyncStatus) => void): Promise<Sync>
  addAndEdit(sync: Sync): Promise<void>
  importFile(sync: Sync, file: File): Promise<string>
  backUp(sync: Sync, userId: string, keys: Keys): Promise<Blob>
  restore(sync: Sync, file: Blob, unlocker: Keys | { passphrase: string }): Promise<number>
  decide(
    sync: Sync,
    decisions: { keepsMine(conflict: Conflict): Promise<boolean>; tryAgain(refused: Quarantined): Promise<boolean> },
  ): Promise<void>
  signOut(sync: Sync, mayDiscard: (unsent: number) => Promise<boolean>): Promise<void>
}

const origin = 'https://app.example.org'
const passphrase = 'tinsel walrus oboe fjord'
const bookmarkFile = `<!DOCTYPE NETSCAPE-Bookmark-file-1><DL><p><DT><H3>News</H3><DL><p>
<DT><A HREF="https://one.example/">One</A><DT><A HREF="https://two.example/">Two</A></DL><p></DL><p>`

/** Runs the README's program in a simulated browser, next to another device of the same user. */
export async function runStart(t: Test, project: string): Promise<void> {
  const app = await buildWithEmbedded(t, { CORS_ORIGIN: origin, MAX_USER_RECORDS: '30' })
  const baseUrl = await app.listen()
  const other = openDevice(join(project, 'other.db'), { baseUrl })
  const signIn = async (url: string) => {
    const { pathname, search } = new URL(await signInAt(url, 'Ada'))
    await fetch(baseUrl + pathname + search)
  }
  const otherUserId = await other.signIn(signIn)
  const inNode = openDevice(join(project, 'node.db'), { baseUrl })
  await inNode.signIn(signIn)
  const browser = openBrowser(t, baseUrl, `${origin}/`)
  t.intercept(console, 'log', { value() {} })
  let loads = 0
  const loadSample = async (name: string): Promise<object> => {
    const path = join(project, `run-${name}`)
    const code = await readFile(join(project, name), 'utf8')
    await writeFile(path, code.replace('https://sync.example.org', baseUrl))
    return import(`${pathToFileURL(path).href}?load=${loads++}`)
  }
  const load = async () => (await loadSample('start.ts')) as Start

  const first = await load()
  t.equal(await first.signIn(), undefined)
  await browser.signIn('Ada')
  const userId = (await first.signIn()) ?? ''
  t.equal(userId, otherUserId)

  const codes: string[] = []
  const dialogs = {
    askPassphrase: async () => passphrase,
    showRecoveryCode: async (code: string) => {
      codes.push(code)
    },
  }
  const keys = await first.openKeys(userId, dialogs)
  t.match(codes, [/^(...-){8}...$/], 'the recovery code was shown')
  let shown: { tree: TreeNode[]; status: SyncStatus } | undefined
  const show = (tree: TreeNode[], status: SyncStatus) => {
    shown = { tree, status }
  }
  const sync = await first.startSync(userId, keys, show)
  await until(() => shown?.status.state === 'online')

  await first.addAndEdit(sync)
  t.match(shown?.tree, [{ bookmark: { title: 'Argon2', tags: ['crypto'] }, children: [] }])
  const file = new File([bookmarkFile], 'bookmarks.html')
  t.equal(await first.importFile(sync, file), '3 imported, 0 were there already, 0 failed')
  t.equal(await first.importFile(sync, file), '0 imported, 3 were there already, 0 failed')

  const backup = await first.backUp(sync, userId, keys)
  const [one = ''] = idsOf(sync, ({ title }) => title === 'One')
  await sync.remove(one)
  t.equal(await first.restore(sync, backup, keys), 1)
  t.equal(await first.restore(sync, backup, { passphrase }), 0)
  t.equal(sync.get(one)?.title, 'One')

  const masterKey = (await loadMasterKey(userId)) as Uint8Array
  const theirs = createSync({ ...other, userId, keys: deriveKeys(masterKey) })
  const [recoveryCode = ''] = codes
  const running = {
    client: first.client,
    userId,
    keys,
    sync,
    other: theirs,
    passphrase,
    recoveryCode,
    inNode,
    one,
    backup,
    file,
  }
  await runGuide(t, loadSample, running)
  await sync.syncNow()
  await sync.stop()

  browser.isOnline = false
  const second = await load()
  t.equal(await second.signIn(), userId, 'offline, the user is the last signed-in one')
  const kept = await second.openKeys(userId, {})
  const offline = await second.startSync(userId, kept, show)
  t.equal(offline.bookmarks().size, 7, 'offline, the stored bookmarks are there')
  await offline.update(one, { title: 'Mine' })
  await theirs.syncNow()
  await theirs.update(one, { title: 'Theirs' })
  await theirs.syncNow()
  await theirs.stop()
  browser.isOnline = true
  await offline.syncNow()
  t.match(offline.conflicts(), [{ id: one, fields: ['title'], mine: { title: 'Mine' }, theirs: { title: 'Theirs' } }])

  for (let count = 0; offline.quarantined().length === 0 && count < 30; count++) {
    await offline.put({ id: `more-${count}`, title: 'More', source: 'bookmarks' })
    await offline.syncNow()
  }
  t.match(offline.quarantined(), [{ reason: 'quota', bookmark: { title: 'More' } }])
  await second.decide(offline, { keepsMine: async () => true, tryAgain: async () => false })
  t.match(offline.get(one), { title: 'Mine' })
  t.same([offline.conflicts(), offline.quarantined()], [[], []])

  browser.isOnline = false
  await offline.update(one, { title: 'Unsent' })
  const asked: number[] = []
  const answer = (mayDiscard: boolean) => async (unsent: number) => {
    asked.push(unsent)
    return mayDiscard
  }
  await second.signOut(offline, answer(false))
  t.match(offline.get(one), { title: 'Unsent' })
  browser.isOnline = true
  await second.signOut(offline, answer(true))
  t.equal(offline.status().state, 'signed-out')
  t.equal(asked[0], 1)
  t.equal(await loadMasterKey(userId), undefined)
  const third = await load()
  t.equal(await third.signIn(), undefined, 'the next start signs in again')

  await browser.signIn('Ada')
  await third.signIn()
  const start = () => third.startSync(userId, deriveKeys(masterKey), show)
  await runAccount(t, loadSample, third.client, start, app.setClock)
  t.equal(new URL(browser.address ?? '').searchParams.get('prompt'), 'login')
  t.equal(shown?.status.state, 'signed-out')
}

function idsOf(sync: Sync, wanted: (bookmark: PlaintextBookmark) => boolean): string[] {
  return [...sync.bookmarks().values()].filter(wanted).map(({ id }) => id)
}
