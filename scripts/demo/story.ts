import { readFile, writeFile } from 'node:fs/promises'
import type { PlaintextBookmark } from '../../src/client/bookmark.ts'
import { readBookmarkFile } from '../../src/client/bookmark-file/read.ts'
import { writeBookmarkFile } from '../../src/client/bookmark-file/write.ts'
import { makeExport, openBackup } from './backup.ts'
import { compareBookmarks, compareSequences, expectEqual } from './compare.ts'
import { editOffline, loseAfterwards, loseOnArrival } from './conflicts.ts'
import { Device } from './device.ts'
import { importBookmarks } from './import.ts'
import type { Step } from './report.ts'

export interface Story {
  baseUrl: URL
  /** The bookmark file of a browser. */
  file: string
  /** Where the bookmark file made from the export goes. */
  copy: string
}

const passphrase = 'known to its owner alone'

/** A person with two devices, from the first sign-in to the backup. Throws at the first difference. */
export async function playStory({ baseUrl, file, copy }: Story, step: Step): Promise<void> {
  const name = `Demo ${crypto.randomUUID()}`
  const laptop = new Device('laptop', baseUrl)
  const phone = new Device('phone', baseUrl)

  const bookmarks = await moveIn(step, laptop, name, file)
  await addPhone(step, phone, name, bookmarks)
  // A link, if there is one; the file is not empty.
  const edited = bookmarks.find(({ url }) => url !== undefined) ?? (bookmarks[0] as PlaintextBookmark)
  await editLive(step, laptop, phone, edited)
  await editApart(step, laptop, phone, edited)
  await undo(step, laptop, phone, edited, bookmarks)
  await backUp(step, laptop, bookmarks, copy)
  await step('Both devices sign out', async () => {
    for (const { api } of [laptop, phone]) await api.call('logout')
  })
}

async function moveIn(step: Step, laptop: Device, name: string, file: string): Promise<PlaintextBookmark[]> {
  await step("The laptop signs in through the provider's page", async (note) => {
    await laptop.signIn(name)
    note(`user ${laptop.userId}`)
  })
  await step('It makes a keyring and registers the export key', async (note) => {
    const { recoveryCode } = await laptop.makeKeyring(passphrase)
    note(`recovery code ${recoveryCode.slice(0, 4)}…`)
  })
  const bookmarks = await step('It reads the file', async (note) => {
    const read = readBookmarkFile(await readFile(file, 'utf8'))
    if (read.length === 0) throw new Error(`${file} has no bookmark in it`)
    note(countKinds(read))
    return read
  })
  await step('It encrypts and imports', async (note) => {
    const { requests, characters } = await importBookmarks(laptop, bookmarks)
    await laptop.pull()
    note(`records: ${bookmarks.length}, characters of ciphertext: ${characters}, requests: ${requests}`)
  })
  return bookmarks
}

async function addPhone(step: Step, phone: Device, name: string, bookmarks: PlaintextBookmark[]): Promise<void> {
  await step('The phone signs in, with cookies of its own', async (note) => {
    await phone.signIn(name)
    note(`user ${phone.userId}`)
  })
  await step('It opens the keyring with the passphrase', async (note) => {
    await phone.openKeyring(passphrase)
    note('nothing else had to be brought from the laptop')
  })
  await step('It pulls, decrypts and compares', async (note) => {
    const { changes, pages } = await phone.pull(Math.min(Math.ceil(bookmarks.length / 3), 10_000))
    compareBookmarks('On the phone', phone.bookmarks.values(), bookmarks)
    note(`records: ${changes}, pages: ${pages}, equal in every field: ${bookmarks.length}`)
  })
}

async function editLive(step: Step, laptop: Device, phone: Device, bookmark: PlaintextBookmark): Promise<void> {
  await step('The laptop edits, the phone hears it by WebSocket', async (note) => {
    const title = `${bookmark.title} (live)`
    const channel = await phone.openChannel()
    const start = performance.now()
    const [message] = await Promise.all([channel.next(), laptop.push(laptop.edit({ ...bookmark, title }))])
    note(`${Math.round(performance.now() - start)} ms from the edit to the phone`)
    phone.receive(message)
    await channel.close()
    expectEqual('The title on the phone', phone.bookmarks.get(bookmark.id)?.title, title)
  })
}

async function editApart(step: Step, laptop: Device, phone: Device, bookmark: PlaintextBookmark): Promise<void> {
  await step('Both edit it offline; the loser comes second', async (note) => {
    note(await loseOnArrival(phone, laptop, await editOffline(phone, laptop, bookmark)))
  })
  await step('Both edit it offline again; the loser comes first', async (note) => {
    note(await loseAfterwards(phone, laptop, await editOffline(phone, laptop, bookmark)))
  })
}

async function undo(
  step: Step,
  laptop: Device,
  phone: Device,
  bookmark: PlaintextBookmark,
  bookmarks: PlaintextBookmark[],
): Promise<void> {
  await step('The laptop undoes it all, the phone pulls', async (note) => {
    await laptop.push(laptop.edit(bookmark))
    await phone.pull()
    for (const device of [laptop, phone]) {
      compareBookmarks(`On the ${device.id}`, device.bookmarks.values(), bookmarks)
    }
    note(`as they were, on both: ${bookmarks.length}`)
  })
}

async function backUp(step: Step, laptop: Device, bookmarks: PlaintextBookmark[], copy: string): Promise<void> {
  const made = await step('An export is made', async (note) => {
    const completed = await makeExport(laptop)
    note(`bookmarks: ${completed.bookmark_count}, bytes: ${completed.size_bytes}`)
    return completed
  })
  const opened = await step('It is downloaded and opened', async (note) => {
    const { bookmarks: exported } = await openBackup(laptop, made)
    compareBookmarks('In the export', exported, bookmarks)
    note(`equal in every field: ${exported.length}`)
    return exported
  })
  await step('It is written back as a bookmark file', async (note) => {
    await writeFile(copy, writeBookmarkFile(opened))
    compareSequences('In the copy', readBookmarkFile(await readFile(copy, 'utf8')), bookmarks)
    note(`items in the same sequence: ${bookmarks.length}`)
  })
  await step('The export is deleted', async () => {
    await laptop.api.call('deleteExport', { path: { id: made.id } })
  })
}

function countKinds(bookmarks: PlaintextBookmark[]): string {
  const kinds = Object.groupBy(bookmarks, ({ url, type }) => {
    if (url !== undefined) return 'links'
    return type === 'separator' ? 'separators' : 'folders'
  })
  return Object.entries(kinds)
    .map(([kind, items]) => `${kind}: ${items.length}`)
    .join(', ')
}
