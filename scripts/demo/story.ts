import { readFile, writeFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import { readBookmarkFile, writeBookmarkFile } from '../../src/client/bookmark-file.ts'
import {
  type Client,
  createBackup,
  createVault,
  historyId,
  openBackup,
  openVault,
  type PlaintextBookmark,
  type TreeNode,
} from '../../src/client/index.ts'
import { Device } from './device.ts'
import { signIn } from './sign-in.ts'

interface Story {
  baseUrl: URL
  /** The bookmark file of a browser. */
  file: string
  /** The bookmark file to write, made from the backup. */
  copy: string
}

/** Runs a step and prints it with its duration and the result passed to `note`. */
export type StoryStep = <T>(title: string, work: (note: (result: string) => void) => Promise<T>) => Promise<T>

const passphrase = 'known to its owner alone'

/** The story of a person with two devices, from the first sign-in to the sign-out. Throws at the first difference. */
export async function playStory({ baseUrl, file, copy }: Story, step: StoryStep): Promise<void> {
  const name = `Demo ${crypto.randomUUID()}`
  await using laptop = new Device('laptop', baseUrl)
  await using phone = new Device('phone', baseUrl)
  const devices = [laptop, phone]

  await step("The laptop signs in through the provider's page", async (note) => {
    laptop.userId = await signIn(laptop, name)
    note(`user ${laptop.userId}`)
  })
  await step('It makes a keyring and registers the export key', async (note) => {
    const { recoveryCode, confirm } = await createVault(laptop.client, { userId: laptop.userId, passphrase })
    laptop.open((await confirm()).keys)
    note(`recovery code ${recoveryCode.slice(0, 4)}…`)
  })
  const read = await step('It reads the file', async (note) => {
    const { bookmarks, unread } = readBookmarkFile(await readFile(file))
    if (bookmarks.length === 0) throw new Error(`${file} has no bookmark in it`)
    note(countKinds(bookmarks) + (unread > 0 ? `, not readable: ${unread}` : ''))
    return bookmarks
  })
  const bookmarks = await step('It encrypts and imports', async (note) => {
    const { imported } = await laptop.sync.importBookmarks(read)
    expectEqual('The number of imported bookmarks', imported, read.length)
    const stored = flatten(laptop.sync.tree())
    compareSequences('On the laptop', stored, read)
    await laptop.syncNow()
    expectEqual('The number of unconfirmed bookmarks', laptop.sync.status().waiting, 0)
    const { pushes } = laptop
    const records = pushes.flatMap(({ changes }) => changes)
    const characters = records.reduce((sum, { encrypted_data = '' }) => sum + encrypted_data.length, 0)
    note(`records: ${records.length}, characters of ciphertext: ${characters}, requests: ${pushes.length}`)
    return stored
  })

  await step('The phone signs in, with cookies of its own', async (note) => {
    phone.userId = await signIn(phone, name)
    note(`user ${phone.userId}`)
  })
  await step('It opens the keyring with the passphrase', async (note) => {
    phone.open((await openVault(phone.client, { userId: phone.userId, passphrase })).keys)
    note('nothing else had to be brought from the laptop')
  })
  await step('It pulls, decrypts and compares', async (note) => {
    phone.shortenPages(Math.min(Math.ceil(bookmarks.length / 3), 10_000))
    await phone.syncNow()
    compareBookmarks('On the phone', phone.sync.bookmarks().values(), bookmarks)
    const { pages } = phone
    const records = pages.flatMap(({ changes }) => changes)
    note(`records: ${records.length}, pages: ${pages.length}, equal in every field: ${bookmarks.length}`)
  })

  // A link, if there is one. There is at least one bookmark.
  const edited = bookmarks.find(({ url }) => url !== undefined) ?? (bookmarks[0] as PlaintextBookmark)
  const retitled = (by: string) => ({ ...edited, title: `${edited.title} (${by})` })
  await step('The laptop edits, the phone hears it by WebSocket', async (note) => {
    for (const device of devices) await device.goOnline()
    const titleOnPhone = () => phone.sync.get(edited.id)?.title
    const start = performance.now()
    await laptop.sync.put(retitled('live'))
    await phone.until('hearing of the edit', 'change', () => titleOnPhone() !== edited.title)
    note(`${Math.round(performance.now() - start)} ms from the edit to the phone`)
    expectEqual('The title on the phone', titleOnPhone(), retitled('live').title)
    for (const device of devices) await device.goOffline()
  })
  await step('Both edit it offline; the loser comes second', async (note) => {
    const edits = { lost: retitled('phone'), won: retitled('laptop') }
    await editOffline(laptop, phone, edits)
    overtakePush(phone.client, () => laptop.syncNow())
    await phone.syncNow()
    const answer = phone.answers.at(-1)
    const rejected = answer?.conflicts[0]
    expectEqual("The phone's accepted edits", answer?.accepted, 0)
    expectEqual('The rejected edit', rejected?.event_id, phone.pushes.at(-1)?.changes[0]?.id)
    expectConflict(laptop, phone, edits)
    note(`the phone's push says: ${rejected?.reason}`)
  })
  await step('Both edit it offline again; the loser comes first', async (note) => {
    const edits = { lost: retitled('phone'), won: retitled('laptop, again') }
    await editOffline(laptop, phone, edits)
    for (const device of [phone, laptop, phone]) await device.syncNow()
    const event = phone.pages.at(-1)?.changes.at(-1)
    expectEqual('The event that overwrote the phone', event?.id, laptop.pushes.at(-1)?.changes[0]?.id)
    expectEqual('Its conflict_resolved', event?.conflict_resolved, true)
    expectEqual('Its resolution_strategy', event?.resolution_strategy, 'last_write_wins')
    expectConflict(laptop, phone, edits)
    note(`the phone pulls it flagged ${event?.resolution_strategy} and still has ${JSON.stringify(edits.lost.title)}`)
  })
  await step('The laptop undoes it all, the phone pulls', async (note) => {
    await laptop.sync.put(edited)
    for (const device of devices) await device.syncNow()
    for (const { id, sync } of devices) compareBookmarks(`On the ${id}`, sync.bookmarks().values(), bookmarks)
    note(`as they were, on both: ${bookmarks.length}`)
  })

  await step('Tab groups and history go along', async (note) => {
    const [group, tab] = [crypto.randomUUID(), crypto.randomUUID()]
    const url = 'https://example.org/'
    await laptop.sync.groups.put([
      { id: group, title: 'Demo', source: 'groups', color: 'blue' },
      { id: tab, title: 'Example', source: 'groups', url, parentId: group },
    ])
    for (const [index, { sync, keys }] of devices.entries()) {
      const visit = `2026-01-01T12:0${index}:00.000Z`
      const visited = { dateAdded: visit, dateVisited: visit, visits: [visit], visitCount: 1 }
      await sync.history.put({ id: historyId(keys, url), title: 'Example', source: 'history', url, ...visited })
    }
    for (const device of [laptop, phone, laptop]) await device.syncNow()
    compareBookmarks("The phone's groups", phone.sync.groups.records().values(), laptop.sync.groups.records().values())
    for (const { id, sync } of devices) {
      const visits = [...sync.history.records().values()].map(({ visitCount }) => visitCount)
      expectEqual(`The visits on the ${id}`, visits, [2])
    }
    note('one group with its tab, and the visits of both devices to one page')
  })

  const backup = await step('A backup is made and downloaded', async (note) => {
    const file = await createBackup(laptop.client, { ...laptop, history: true })
    note(`bytes: ${file.size}`)
    return file
  })
  const backedUp = await step('It is opened', async (note) => {
    const opened = await openBackup(backup, laptop.keys)
    expectEqual('bookmark_count', opened.bookmark_count, bookmarks.length)
    compareBookmarks('In the backup', opened.bookmarks, bookmarks)
    const { groups = [], history = [] } = opened
    compareBookmarks("The backup's groups", groups, laptop.sync.groups.records().values())
    compareBookmarks("The backup's history", history, laptop.sync.history.records().values())
    note(`equal in every field: ${opened.bookmark_count}`)
    return opened.bookmarks
  })
  await step('It is written back as a bookmark file', async (note) => {
    await writeFile(copy, writeBookmarkFile(backedUp))
    compareSequences('In the copy', readBookmarkFile(await readFile(copy)).bookmarks, bookmarks)
    note(`items in the same sequence: ${bookmarks.length}`)
  })
  await step('Both devices sign out', async () => {
    for (const { sync } of devices) await sync.signOut()
  })
}

function countKinds(bookmarks: PlaintextBookmark[]): string {
  const kindOf = ({ url, type }: PlaintextBookmark) => (url === undefined ? `${type ?? 'folder'}s` : 'links')
  const kinds = Object.entries(Object.groupBy(bookmarks, kindOf))
  return kinds.map(([kind, items = []]) => `${kind}: ${items.length}`).join(', ')
}

/** Lists folders before their contents, as in a bookmark file. */
function flatten(nodes: readonly TreeNode[]): PlaintextBookmark[] {
  return nodes.flatMap(({ bookmark, children }) => [bookmark, ...flatten(children)])
}

type Edits = Record<'lost' | 'won', PlaintextBookmark>

/** Both edit the same bookmark while offline. The phone's edit is older, so it must lose. */
async function editOffline(laptop: Device, phone: Device, { lost, won }: Edits): Promise<void> {
  await phone.sync.put(lost)
  // The later edit wins. In the same millisecond, that of the greater device id would win: the phone's.
  const editedAt = await phone.editedAt(lost.id)
  while ((await laptop.now()) <= editedAt) await sleep(1)
  await laptop.sync.put(won)
}

/** Runs `work` right before the next push, so that another device pushes first. */
function overtakePush(client: Client, work: () => Promise<void>): void {
  const middleware = {
    async onRequest({ schemaPath }: { schemaPath: string }) {
      if (schemaPath !== '/api/v1/sync/push') return
      client.eject(middleware)
      await work()
    },
  }
  client.use(middleware)
}

/** Expects one conflict, which is reported on the phone, and the laptop's edit on both devices. */
function expectConflict(laptop: Device, phone: Device, { lost, won }: Edits): void {
  const told = phone.conflicts.splice(0).map(({ mine, theirs }) => [mine?.title, theirs?.title])
  expectEqual('What the phone is told', told, [[lost.title, won.title]])
  expectEqual('What the laptop is told', laptop.conflicts, [])
  for (const { id, sync } of [laptop, phone]) {
    expectEqual(`The title on the ${id}`, sync.get(won.id)?.title, won.title)
  }
}

/** Throws an error that describes the difference. */
function expectEqual(what: string, actual: unknown, expected: unknown): void {
  if (isDeepStrictEqual(actual, expected)) return
  throw new Error(`${what} is ${inspect(actual)} instead of ${inspect(expected)}`)
}

type Item = { id: string; title: string } & Record<string, unknown>

/** Expects the same bookmarks and folders by id: none missing or added, all fields equal, and in the same order. */
function compareBookmarks(where: string, actual: Iterable<Item>, expected: Iterable<Item>): void {
  const found = new Map(withRanks(actual).map((item) => [item.id, item]))
  for (const wanted of withRanks(expected)) {
    const what = `${where}: ${inspect(wanted.title)}`
    const item = found.get(wanted.id)
    if (!item) throw new Error(`${what} is missing`)
    for (const field of Object.keys({ ...wanted, ...item })) {
      expectEqual(`${what}: ${field}`, item[field], wanted[field])
    }
    found.delete(wanted.id)
  }
  const [surplus] = found.values()
  if (surplus) throw new Error(`${where}: ${inspect(surplus.title)} was not there before`)
}

/** Replaces each position by the rank among siblings, because an import makes its own positions. */
function withRanks(items: Iterable<Item>): Item[] {
  const folders = Map.groupBy(items, ({ parentId }) => parentId)
  const positionOf = ({ position }: Item) => String(position)
  return [...folders.values()].flatMap((siblings) =>
    siblings
      .sort((one, other) => (positionOf(one) < positionOf(other) ? -1 : 1))
      .map((item, position) => ({ ...item, position })),
  )
}

/** Compares by the order in the file, because each reading and each import makes new ids. */
function compareSequences(where: string, actual: PlaintextBookmark[], expected: PlaintextBookmark[]): void {
  expectEqual(`${where}: the number of items`, actual.length, expected.length)
  const ids = new Map(actual.map(({ id }, index) => [id, expected[index]?.id ?? id]))
  const renamed = actual.map((item) => ({
    ...item,
    id: ids.get(item.id) ?? item.id,
    parentId: item.parentId && ids.get(item.parentId),
  }))
  compareBookmarks(where, renamed, expected)
}

/** The value as JSON. Long ones, such as icons, are cut. */
function inspect(value: unknown): string {
  const text = JSON.stringify(value) ?? 'missing'
  return text.length > 120 ? `${text.slice(0, 120)}…` : text
}
