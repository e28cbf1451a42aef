import type { Schemas } from '../../../src/service/contract/schemas.ts'
import type { Attack } from '../attack.ts'
import { openSocket, send } from '../connections.ts'
import { storeRecords } from '../seed.ts'

const places = 256
/** Of 64 KiB each: as many as the hub reads at a time, so that no two sockets share a page. */
const recordsApart = 16

/** As many sockets as a user may have, each of which continues from somewhere else. */
export const sockets: Attack = {
  seed: (context, attacker) => storeRecords(context, attacker, { count: places * recordsApart, bytes: 64 * 1024 }),
  async run(target) {
    const { text } = await send(target, { operation: 'pullChanges', body: '{"since":0,"limit":1}' })
    const { last_sync_timestamp: first }: Schemas['PullResponse'] = JSON.parse(text)
    for (let socket = 0; socket < places; socket++) {
      const path = `/api/v1/sync/realtime?since=${first + socket * recordsApart}`
      openSocket(target, path, { 'x-user-id': target.attacker.userId, 'x-device-id': `device-${socket}` })
    }
  },
}
