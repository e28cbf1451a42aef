import { setTimeout as sleep } from 'node:timers/promises'
import type { components } from '../../generated/openapi.ts'
import type { PlaintextBookmark } from '../../src/client/bookmark.ts'
import { Difference, expectEqual } from './compare.ts'
import type { Device } from './device.ts'

type Change = components['schemas']['Change']

/** Both devices edit one bookmark without hearing of each other. */
export interface OfflineEdits {
  /** The older edit: it must lose, whenever it arrives. */
  older: Change
  newer: Change
}

export async function editOffline(phone: Device, laptop: Device, bookmark: PlaintextBookmark): Promise<OfflineEdits> {
  const older = phone.edit({ ...bookmark, title: `${bookmark.title} (phone)` })
  while (laptop.now() <= older.timestamp) await sleep(1)
  const newer = laptop.edit({ ...bookmark, title: `${bookmark.title} (laptop)` })
  return { older, newer }
}

/** The loser arrives when the winner is stored already: the answer to its own push tells. */
export async function loseOnArrival(phone: Device, laptop: Device, { older, newer }: OfflineEdits): Promise<string> {
  expectEqual("The laptop's accepted edits", (await laptop.push(newer)).accepted_ids, [newer.id])
  const { accepted, conflicts } = await phone.push(older)
  expectEqual("The phone's accepted edits", accepted, 0)
  const [conflict] = conflicts
  expectEqual('The rejected edit', conflict?.event_id, older.id)
  expectEqual('The resolution', conflict?.resolution, 'rejected')
  await phone.pull()
  await laptop.pull()
  expectSameVersion(phone, laptop, newer)
  return `the phone's push says: ${conflict?.reason}`
}

/** The loser is stored when the winner arrives: a flagged event tells its device, which still holds its own text. */
export async function loseAfterwards(phone: Device, laptop: Device, { older, newer }: OfflineEdits): Promise<string> {
  expectEqual("The phone's accepted edits", (await phone.push(older)).accepted_ids, [older.id])
  expectEqual("The laptop's accepted edits", (await laptop.push(newer)).accepted_ids, [newer.id])
  const mine = phone.bookmarks.get(older.entity_id)
  const { overwritten } = await phone.pull()
  await laptop.pull()
  const [loss] = overwritten
  expectEqual('The event that overwrote the phone', loss?.event.id, newer.id)
  expectEqual('Its resolution_strategy', loss?.event.resolution_strategy, 'last_write_wins')
  expectEqual("The phone's own text", loss?.mine, mine)
  expectSameVersion(phone, laptop, newer)
  return `the phone pulls it flagged ${loss?.event.resolution_strategy} and still has ${JSON.stringify(loss?.mine.title)}`
}

function expectSameVersion(phone: Device, laptop: Device, { entity_id }: Change): void {
  const [held, wanted] = [phone, laptop].map(({ bookmarks }) => bookmarks.get(entity_id)?.title)
  expectEqual('The title on the phone', held, wanted)
  if (!wanted?.endsWith('(laptop)')) throw new Difference(`The laptop has lost its edit: ${wanted}`)
}
