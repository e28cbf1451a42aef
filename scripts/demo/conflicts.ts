import { setTimeout as sleep } from 'node:timers/promises'
import type { Client, PlaintextBookmark } from '../../src/client/index.ts'
import { expectEqual } from './compare.ts'
import type { Device } from './device.ts'

type Edits = Record<'lost' | 'won', PlaintextBookmark>

/** Both edit one bookmark, and neither hears of the other. The phone's edit is the older one: it must lose. */
export async function editOffline(laptop: Device, phone: Device, { lost, won }: Edits): Promise<void> {
  await phone.sync.put(lost)
  // By their clocks: of two edits in the same millisecond, the phone's would win.
  const editedAt = await phone.editedAt(lost.id)
  while ((await laptop.now()) <= editedAt) await sleep(1)
  await laptop.sync.put(won)
}

/** Lets another device come first: `work` is done just before the next push leaves. */
export function overtakePush(client: Client, work: () => Promise<void>): void {
  const middleware = {
    async onRequest({ schemaPath }: { schemaPath: string }) {
      if (schemaPath !== '/api/v1/sync/push') return
      client.eject(middleware)
      await work()
    },
  }
  client.use(middleware)
}

/** The person is told once, on the phone, and both devices have the laptop's edit. */
export function expectConflict(laptop: Device, phone: Device, { lost, won }: Edits): void {
  const told = phone.conflicts.splice(0).map(({ mine, theirs }) => [mine?.title, theirs?.title])
  expectEqual('What the phone is told', told, [[lost.title, won.title]])
  expectEqual('What the laptop is told', laptop.conflicts, [])
  for (const { id, sync } of [laptop, phone]) {
    expectEqual(`The title on the ${id}`, sync.get(won.id)?.title, won.title)
  }
}
