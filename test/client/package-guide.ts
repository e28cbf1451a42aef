import { randomBytes } from 'node:crypto'
import type { Test } from 'tap'
import {
  type Client,
  deriveKeys,
  encryptBookmark,
  indexedDbStore,
  type Keys,
  openVault,
  type Readable,
  type Sync,
  type SyncOptions,
  unwrap,
} from '../../src/client/index.ts'
import { until } from '../support/until.ts'

export interface RunningApp {
  client: Client
  userId: string
  keys: Keys
  sync: Sync
  /** Another device of the same user. */
  other: Sync
  passphrase: string
  recoveryCode: string
  /** A device of the same user in Node, without bookmarks yet. */
  inNode: Omit<SyncOptions, 'keys' | 'userId'>
  /** The id of a bookmark called One, in a folder. */
  one: string
  backup: Blob
  /** A bookmark file with a bookmark called Two. */
  file: File
}

/** Runs most samples of the client's guide in the running app. */
export async function runGuide(t: Test, load: Load, app: RunningApp): Promise<void> {
  const { client, userId, keys, sync, other, one } = app
  const run = runnerOf(load)

  const codes: string[] = []
  await run('vault.ts', 'renewPassphrase', client, userId, app.recoveryCode, 'another passphrase')
  const owner = { userId, passphrase: 'another passphrase' }
  await run('vault.ts', 'renewRecoveryCode', client, owner, async (code: string) => codes.push(code))
  t.same((await openVault(client, { userId, recoveryCode: codes[0] ?? '' })).keys, keys, 'the new code opens the vault')

  await run('edits.ts', 'edit', sync, one, async (shown: object) => ({ ...shown, title: 'Edited' }))
  t.equal(sync.get(one)?.title, 'Edited')
  await runHistory(t, run, app)
  const signal = new AbortController().signal
  t.match(await run('files.ts', 'resetTo', sync, keys, app.backup, signal), { failed: [] })
  const otherKeys = deriveKeys(randomBytes(32))
  t.match(await run('files.ts', 'restoreFrom', sync, otherKeys, app.backup, async () => app.passphrase), { failed: [] })
  t.equal(sync.get(one)?.title, 'One')
  const folderId = sync.get(one)?.parentId
  t.match(await run('files.ts', 'importInto', sync, folderId, app.file, () => {}), { imported: 3 })
  t.match(await ((await run('files.ts', 'saveAsFile', sync)) as Blob).text(), '>Argon2</A>')

  const counts: number[] = []
  const countOf = (await run('select.ts', 'countOf', sync)) as Readable<number>
  const stop = countOf.subscribe((count) => counts.push(count))
  t.same(counts, [7])
  const input = Object.assign(new EventTarget(), { value: 'two news' })
  const list = { textContent: '' }
  await run('search.ts', 'searchAsYouType', sync, input, list)
  input.dispatchEvent(new Event('input'))
  await until(() => list.textContent === 'Two\nTwo')

  await run('extra.ts', 'rate', sync, one, 4)
  t.equal(await run('extra.ts', 'starsOf', sync, one), 4)
  await t.rejects(run('extra.ts', 'rate', sync, one, 6), { name: 'ExtraError' })
  t.equal(await run('extra.ts', 'starsOf', sync, one), 4)

  const passing = Array.from({ length: 8 }, (_, index) => ({ id: `passing-${index}`, title: 'Passing' }))
  await sync.put(passing.map((bookmark) => ({ ...bookmark, source: 'bookmarks' })))
  t.equal(counts.at(-1), 15)
  stop()
  await sync.syncNow()
  await other.syncNow()
  await other.remove(passing.map(({ id }) => id))
  await other.syncNow()
  // Deletes of the last minute wait for the user's approval, too.
  await until(() => (sync.status().heldDeletions?.count ?? 0) >= passing.length)
  const asked: unknown[] = []
  await run('deletes.ts', 'askAboutDeletes', sync, async (titles: string[]) => asked.push(...titles))
  t.same([asked.slice(-passing.length), sync.bookmarks().size], [passing.map(({ title }) => title), 7])

  const shown: string[][] = [[], []]
  const open = (parts: RunningApp['inNode'], place: number) =>
    run('types.ts', 'openAll', { ...parts, userId, keys: structuredClone(keys) }, (lines: string[]) => {
      shown[place] = lines
    }) as Promise<Sync>
  await sync.syncNow()
  const node = await open(app.inNode, 0)
  const { deviceId } = localStorage
  const browser = await open({ client, deviceId, store: indexedDbStore(userId) }, 1)
  await run('types.ts', 'saveWindow', node, 'Work', [{ title: 'A tab', url: 'https://a.example/' }])
  await run('types.ts', 'addVisit', browser, keys, 'https://b.example/', 'A page')
  await run('types.ts', 'addVisit', node, keys, 'https://b.example/', 'A page')
  const lines = ['bookmark One', 'blue group Work: 1 tabs', 'A page, visited 2 times']
  await until(() => shown.every((one) => lines.every((line) => one.includes(line))))
  await node.stop()
  await browser.stop()

  const worker = (await run('extension.ts', 'startWorker', localStorage.deviceId)) as Sync
  t.equal(worker.get(one)?.title, 'One')
  await worker.stop()
  await runLostDevice(t, run, owner, app)
}

/** Runs the samples for a lost device. `other` is not that device, and continues with the new keys. */
async function runLostDevice(
  t: Test,
  run: ReturnType<typeof runnerOf>,
  owner: { userId: string; passphrase: string },
  { client, sync, other }: RunningApp,
): Promise<void> {
  const shown: unknown[] = []
  const dialogs = {
    showOnPaper: async (code: string) => shown.push(code.length),
    showProgress: (done: number, total: number) => shown.push([done, total]),
  }
  await run('lost-device.ts', 'replaceKeys', client, sync, owner, 'a third passphrase', dialogs)
  t.same(shown, [35, [0, 7], [7, 7]])
  await t.rejects(other.syncNow(), { name: 'RecordError', fault: 'unknown-key' })
  await run('lost-device.ts', 'openAgain', client, other, { ...owner, passphrase: 'a third passphrase' })
  await until(() => other.status().reason === undefined)
  t.same(new Map(other.bookmarks()), new Map(sync.bookmarks()))
}

type Load = (file: string) => Promise<object>

/** Returns a function that runs a function of a sample. */
function runnerOf(load: Load) {
  return async (file: string, name: string, ...values: unknown[]): Promise<unknown> => {
    const sample = (await load(file)) as Record<string, (...values: unknown[]) => unknown>
    if (!sample[name]) throw new Error(`${file} has no ${name}`)
    return sample[name](...values)
  }
}

/** Runs the samples of the account, the last of which deletes it. @param start starts the sync again */
export async function runAccount(
  t: Test,
  load: Load,
  client: Client,
  start: () => Promise<Sync>,
  setClock: (now: number | undefined) => void,
): Promise<void> {
  const run = runnerOf(load)
  const { user } = unwrap(await client.GET('/api/v1/auth/session'))
  const sync = await start()
  const account = await run('account.ts', 'openUserAccount', client, user.user_id, sync)
  t.match(await run('account.ts', 'describe', account), [/^Ada stores \d+ of \d+ bytes$/, '2 devices lack changes'])
  const seen: number[] = []
  for (const decide of [(ids: string[]) => ids, () => 'all']) {
    const choose = async (others: { id: string }[]) => {
      seen.push(others.length)
      return decide(others.map(({ id }) => id))
    }
    await run('account.ts', 'reviewSessions', account, choose)
  }
  t.same(seen, [2, 0])

  t.equal(await run('2-vault.ts', 'isSignInRecent', client, user.user_id), true)
  setClock(Date.now() + 6 * 60_000)
  t.equal(await run('2-vault.ts', 'isSignInRecent', client, user.user_id), false, 'the sign-in is too old')
  setClock(Date.now() + 11 * 60_000)
  t.equal(await run('account.ts', 'deleteForGood', account, client), false, 'the person must sign in first')
  setClock(undefined)
  const again = await run('account.ts', 'openUserAccount', client, user.user_id, await start())
  t.equal(await run('account.ts', 'deleteForGood', again, client), true)
  t.equal((await client.GET('/api/v1/account')).response.status, 401)
}

/** Runs the samples of the history. Afterwards, the bookmarks are as before. */
async function runHistory(
  t: Test,
  run: ReturnType<typeof runnerOf>,
  { client, userId, keys, sync, one }: RunningApp,
): Promise<void> {
  // The second round pulls what the first has pushed.
  for (let round = 0; round < 2; round++) await sync.syncNow()
  const [before, bookmarks] = [sync.seen(), new Map(sync.bookmarks())]
  const history = await run('history.ts', 'openHistory', client, keys, userId, sync)
  const offered: string[] = []
  const choose = async (titles: string[]) => {
    offered.push(...titles)
    return 0
  }
  await run('history.ts', 'chooseVersion', history, one, choose)
  t.same([offered[0], sync.get(one)?.title], ['One', 'One'])

  await sync.put(['kept', 'secret'].map((id) => ({ id, title: id, source: 'bookmarks' })))
  await sync.remove(['kept', 'secret'])
  await sync.syncNow()
  await run('history.ts', 'emptyTrash', history, async (title: string) => title === 'kept')
  t.same([sync.get('kept')?.title, sync.get('secret')], ['kept', undefined])

  const lost = encryptBookmark(keys, { id: one, title: 'From a lost phone', source: 'bookmarks' })
  const late = { entity_type: 'bookmark', entity_id: one, operation: 'update', timestamp: 1, base: 0 } as const
  const changes = [{ id: 'late', device_id: 'lost-phone', ...late, ...lost }]
  await client.POST('/api/v1/sync/push', { body: { changes } })
  await run('history.ts', 'decideForAll', history, async () => true)
  t.equal(sync.get(one)?.title, 'From a lost phone')

  const shown: unknown[] = []
  const see = async (counts: object) => shown.push(counts)
  await run('history.ts', 'goBack', history, before, see, see)
  t.match(shown, Array(2).fill({ restored: 1, deleted: 1 }), 'the rewind does what the dry run has counted')
  t.same(new Map(sync.bookmarks()), bookmarks)
}
