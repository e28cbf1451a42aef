import { once } from 'node:events'
import { v7 as uuidv7 } from 'uuid'
import WebSocket from 'ws'
import { operations } from '../../../generated/operations.ts'
import type { Schemas } from '../../../src/service/contract/schemas.ts'
import type { BenchRecord } from '../records.ts'
import { type Api, json, pageLength } from './api.ts'

export const service: Api = {
  push: (account, records) => json(account, operations.pushChanges.path, changes(records, 'create')),
  update: (account, records) => json(account, operations.pushChanges.path, changes(records, 'update')),
  create: (account, { id, encrypted_data, data_hash }) =>
    json(account, operations.createBookmark.path, { id, encrypted_data, data_hash }),
  pull: (account, _page, before) =>
    json(account, operations.pullChanges.path, { since: cursorIn(before), limit: pageLength }),
  pullNothing: (account, last) => json(account, operations.pullChanges.path, { since: cursorIn(last) }),
  async listen({ origin, user, headers }, device, onMessage) {
    const url = origin.replace('http', 'ws') + operations.openRealtime.path
    const own = { ...headers, 'x-user-id': user, 'x-device-id': device }
    const socket = new WebSocket(url, { headers: own, perMessageDeflate: false })
    await once(socket, 'message')
    socket.on('message', (data) => onMessage(data.toString()))
    return { close: () => socket.terminate() }
  },
}

function changes(records: BenchRecord[], operation: 'create' | 'update'): Schemas['PushRequest'] {
  return {
    changes: records.map(({ id: entity_id, ...content }) => {
      return { id: uuidv7(), entity_type: 'bookmark', entity_id, operation, device_id: 'laptop', ...content }
    }),
  }
}

function cursorIn(end: string): number {
  return Number(/"last_sync_timestamp":(\d+)/.exec(end)?.[1] ?? 0)
}
