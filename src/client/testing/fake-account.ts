import type { components as messages } from '../../../generated/asyncapi.ts'
import { quotas } from '../../../generated/limits.ts'
import type { components } from '../../../generated/openapi.ts'
import { continueFrom } from '../../protocol/sequence.ts'
import { uuidv7 } from '../ids.ts'
import type { RealtimeSocket } from '../sync/exchange/transport.ts'
import { FakeRecords } from './fake-records.ts'

type Schemas = components['schemas']
type ServerMessage = messages['schemas'][`${'Connected' | 'Sync' | 'Pong' | 'Error'}Message`]

const hourMs = 3_600_000

/** With the id that it has among the versions. */
type FakeKeyring = Schemas['Keyring'] & { id: string }

/** One user of the fake service. */
export class FakeAccount {
  readonly userId: string
  readonly records: FakeRecords
  keyring: FakeKeyring | undefined
  /** Those that were replaced, the last first. */
  keyringVersions: (FakeKeyring & { replaced_at: number })[] = []
  pairing: { id: string; content: Schemas['Pairing'] } | undefined
  /** False of the one that the service has made. */
  hasOwnExportKey = false
  exportKey = btoa('\0'.repeat(32))
  /** The service's clock. */
  readonly now: () => number
  /** Makes the account nobody's. */
  readonly leave: () => void
  /** The newest first. */
  #sessions: FakeSession[] = []

  constructor(userId: string, now: () => number, leave: () => void) {
    this.userId = userId
    this.records = new FakeRecords(userId)
    this.now = now
    this.leave = leave
  }

  get user(): Schemas['SessionUser'] {
    const { userId: user_id } = this
    return { user_id, email: `${user_id}@example.org`, name: user_id, avatar_url: '', email_verified: true }
  }

  /** The one that is replaced is kept. */
  replaceKeyring(keyring: FakeKeyring, replaced_at: number): void {
    const replaced = this.keyring ? [{ ...this.keyring, replaced_at }] : []
    this.keyringVersions = [...replaced, ...this.keyringVersions].slice(0, quotas.keyringVersions)
    this.keyring = keyring
  }

  signIn(): FakeSession {
    const now = this.now()
    const session = { id: uuidv7(), createdAt: now, lastUsedAt: now, purges: 0, sockets: new Set<FakeSocket>() }
    this.#sessions.unshift(session)
    return session
  }

  isOpen(session: FakeSession): boolean {
    return this.#sessions.includes(session)
  }

  /** False if there were none. */
  endSessions(isMeant: (session: FakeSession) => boolean): boolean {
    const ended = this.#sessions.filter(isMeant)
    this.#sessions = this.#sessions.filter((session) => !ended.includes(session))
    for (const { sockets } of ended) for (const socket of [...sockets]) socket.close(4401)
    return ended.length > 0
  }

  sessions(current: FakeSession): Schemas['AccountSession'][] {
    return this.#sessions.map((session) => ({
      id: session.id,
      created_at: session.createdAt,
      last_used_at: session.lastUsedAt - (session.lastUsedAt % hourMs),
      user_agent: '',
      current: session === current,
      sockets: session.sockets.size,
    }))
  }

  /** Sends what has changed to all who listen. */
  deliver(): void {
    for (const { sockets } of this.#sessions) for (const socket of sockets) queueMicrotask(() => socket.deliver())
  }
}

/** A session, from one sign-in on. */
export interface FakeSession {
  readonly id: string
  readonly createdAt: number
  /** How many deleted bookmarks it has erased since it was not young any more. */
  purges: number
  lastUsedAt: number
  readonly sockets: Set<FakeSocket>
}

/** The client's end of a realtime channel to the fake service. */
export class FakeSocket extends EventTarget implements RealtimeSocket {
  readonly #deviceId: string
  readonly #records: FakeRecords
  readonly #onClose: (socket: FakeSocket) => void
  /** Up to which sequence number changes were sent; undefined until the channel is open. */
  #cursor: number | undefined
  #isClosed = false

  constructor(deviceId: string, records: FakeRecords, onClose: (socket: FakeSocket) => void) {
    super()
    this.#deviceId = deviceId
    this.#records = records
    this.#onClose = onClose
  }

  /** @param since the cursor from which missed changes are sent; without it, only later ones are */
  open(since: number | undefined, timestamp: number): void {
    if (this.#isClosed) return
    const { lastStamp, epoch } = this.#records
    this.#cursor = continueFrom(since ?? lastStamp, lastStamp)
    this.dispatchEvent(new Event('open'))
    this.#say({ type: 'connected', deviceId: this.#deviceId, timestamp, epoch })
    this.deliver()
  }

  /** Sends what has changed since. */
  deliver(): void {
    if (this.#cursor === undefined) return
    for (const { event, stamp } of this.#records.changesAfter(this.#cursor)) {
      this.#say({ type: 'sync', event, stamp, previous_stamp: this.#cursor })
      this.#cursor = stamp
    }
  }

  send(data: string): void {
    if (this.#isClosed) return
    const { type } = JSON.parse(data) as { type: string }
    if (type === 'ping') queueMicrotask(() => this.#say({ type: 'pong' }))
    if (type === 'sync')
      queueMicrotask(() => this.#say({ type: 'error', error: 'The fake service takes no changes here' }))
  }

  close(code = 1000): void {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#onClose(this)
    queueMicrotask(() => this.dispatchEvent(Object.assign(new Event('close'), { code, reason: '', wasClean: true })))
  }

  #say(message: ServerMessage): void {
    if (!this.#isClosed) this.dispatchEvent(new MessageEvent('message', { data: JSON.stringify(message) }))
  }
}
