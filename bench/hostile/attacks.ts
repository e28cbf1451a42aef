import { setTimeout as sleep } from 'node:timers/promises'
import { request } from 'undici'
import { PushRequest, quotas } from '../../generated/limits.ts'
import { operations } from '../../generated/operations.ts'
import type { Schemas } from '../../src/service/contract/schemas.ts'
import type { Attack, AttackTarget } from './attack.ts'
import { callAttacks } from './calls.ts'
import { openSocket, repeat, send, sendAtOnce, sendInBursts, sendUnfinished, sendUnread } from './connections.ts'
import { newChange, storeRecords } from './seed.ts'
import { sweep } from './sweep.ts'

const kibibyte = 1024
const mebibyte = 1024 * kibibyte

/** The attacks, by their names in the output. */
export const attacks: Record<string, Attack> = {
  /** Ten requests for lists of 262 MB. The attacker reads no response. */
  lists: {
    seed: stored(1_000, 256 * kibibyte),
    run: (target) =>
      times(10, () => sendUnread(target, { operation: 'listBookmarks', path: '/api/v1/bookmarks?limit=1000' })),
  },

  /** A hundred requests for pages of 2 MiB. The attacker reads no response. */
  pulls: {
    seed: stored(64, 256 * kibibyte),
    run: (target) => times(100, () => sendUnread(target, { operation: 'pullChanges', body: '{}' })),
  },

  /** 400 downloads of an export, never read by the attacker. A connection and a file for each would exceed `files`. */
  downloads: {
    files: 512,
    seed: stored(64, 256 * kibibyte),
    async run(target) {
      const path = `/api/v1/exports/${await makeExport(target)}`
      times(400, () => sendUnread(target, { operation: 'downloadExport', path }))
    },
  },

  /** Pushes of 4 MiB of empty objects, one after the other. */
  objects: {
    run(target) {
      const [before, after] = ['{"changes":[', '{}]}']
      const count = Math.floor((quotas.batchBodyBytes - before.length - after.length) / 3)
      const body = Buffer.from(`${before}${'{},'.repeat(count)}${after}`)
      repeat(1, () => send(target, { operation: 'pushChanges', body }))
    },
  },

  /** Pushes of 4 MiB of nested arrays, one after the other. */
  nesting: {
    run(target) {
      const depth = quotas.batchBodyBytes / 2 - 32
      const body = Buffer.from(`{"changes":${'['.repeat(depth)}${']'.repeat(depth)}}`)
      repeat(1, () => send(target, { operation: 'pushChanges', body }))
    },
  },

  /** Opens the 256 sockets a user may have. Their cursors are 1 MiB of changes apart, so each needs its own reads. */
  sockets: {
    seed: stored(256 * 16, 64 * kibibyte),
    async run(target) {
      const { text } = await send(target, { operation: 'pullChanges', body: '{"since":0,"limit":1}' })
      const { last_sync_timestamp: first }: Schemas['PullResponse'] = JSON.parse(text)
      times(256, (socket) => openSocket(target, first + socket * 16, `device-${socket}`))
    },
  },

  /** 60 simultaneous writes of one user. They wait for the lock of the user's row behind four pushes of 500 changes. */
  'row-lock': {
    needsPostgres: true,
    run(target) {
      repeat(4, () => pushOfMany(target))
      const body = JSON.stringify({ encrypted_data: 'x', data_hash: 'h' })
      repeat(60, () => send(target, { operation: 'createBookmark', body }))
    },
  },

  /** 64 bodies of 1 MiB without a session. None of them ever ends. */
  'unfinished-logins': { run: leaveLoginsUnfinished },

  /** Two pushes of 4 MiB that never end, in addition to the unfinished logins. */
  'unfinished-pushes': {
    run(target) {
      const body = Buffer.alloc(quotas.batchBodyBytes, ' ')
      times(2, () => sendUnfinished(target, { operation: 'pushChanges', body }))
      leaveLoginsUnfinished(target)
    },
  },

  /** Every second, 300 simultaneous pushes: nested arrays, just too small to need a `heavy` slot (load/gate.ts). */
  'nested-bursts': {
    run(target) {
      const body = Buffer.from(`{"changes":${'['.repeat(30_000)}${']'.repeat(30_000)}}`)
      sendInBursts(target, { operation: 'pushChanges', body }, 300)
    },
  },

  /** Eight accounts. Each leaves 8 pushes of 4 MiB and 8 of 64 KiB unfinished, and 8 lists of 16 MiB unread. */
  'eight-accounts': {
    accomplices: 7,
    seed: stored(64, 256 * kibibyte),
    run(target) {
      const [large, small] = [quotas.batchBodyBytes, 64 * kibibyte].map((bytes) => Buffer.alloc(bytes, ' '))
      for (const attacker of [target.attacker, ...target.accomplices]) {
        const own = { ...target, attacker }
        times(8, () => {
          sendUnfinished(own, { operation: 'pushChanges', body: large as Buffer })
          sendUnfinished(own, { operation: 'pushChanges', body: small as Buffer })
          sendUnread(own, { operation: 'listBookmarks', path: '/api/v1/bookmarks?limit=1000' })
        })
      }
    },
  },

  /** Starts up to 250 sign-ins a second, with a return URL that was percent-encoded a thousand times. */
  'return-to': {
    run(target) {
      const body = JSON.stringify({ returnTo: `/%${'25'.repeat(1_023)}` })
      let underWay = 0
      setInterval(() => {
        if (underWay >= 256) return
        underWay++
        const end = () => underWay--
        send(target, { operation: 'startLogin', body }).then(end, end)
      }, 4)
    },
  },

  sweep,

  /** `<img>` elements of a hostile page in the victim's browser: no cookie, but the victim's address. */
  images: {
    run({ port }) {
      const url = `http://127.0.0.1:${port}${operations.listBookmarks.path}`
      setInterval(() => {
        request(url).then(
          ({ body }) => body.dump(),
          () => {},
        )
      }, 20)
    },
  },

  /** Every second, 512 simultaneous requests on 32 connections, each for a bookmark of 64 KiB. */
  bursts: {
    seed: stored(1, 64 * kibibyte),
    run(target) {
      const path = `/api/v1/bookmarks/${newChange(0, 0).entity_id}`
      setInterval(() => times(32, () => sendAtOnce(target, { operation: 'getBookmark', path }, 16)), 1_000)
    },
  },

  /** Every second, 20 connections with 1,000 simultaneous requests each. Their path does not exist. */
  pipelined: {
    run(target) {
      setInterval(() => times(20, () => sendAtOnce(target, { operation: 'getBookmark', path: '/a' }, 1_000)), 1_000)
    },
  },

  ...callAttacks,
}

function stored(count: number, bytes: number): NonNullable<Attack['seed']> {
  return (context, attacker) => storeRecords(context, attacker, { count, bytes })
}

function times(count: number, act: (index: number) => void): void {
  for (let index = 0; index < count; index++) act(index)
}

function pushOfMany(target: AttackTarget) {
  const now = Date.now()
  const changes = Array.from({ length: PushRequest.changes.maxItems }, (_, number) => newChange(number, now))
  return send(target, { operation: 'pushChanges', body: JSON.stringify({ changes }) })
}

function leaveLoginsUnfinished(target: AttackTarget): void {
  const body = Buffer.alloc(mebibyte, ' ')
  times(64, () => sendUnfinished(target, { operation: 'startLogin', body }))
}

async function makeExport(target: AttackTarget): Promise<string> {
  const { text } = await send(target, { operation: 'createExport' })
  const { id }: Schemas['Export'] = JSON.parse(text)
  for (;;) {
    const list = await send(target, { operation: 'listExports' })
    const { exports }: { exports: Schemas['Export'][] } = JSON.parse(list.text)
    if (exports.some((made) => made.id === id && made.status === 'completed')) return id
    await sleep(100)
  }
}
