import type { components } from '../../../generated/openapi.ts'
import { uuidv7 } from '../ids.ts'
import type { FakeSocket } from './fake-socket.ts'

type Schemas = components['schemas']

const hourMs = 3_600_000

/** A session, from one sign-in on. */
export interface FakeSession {
  readonly id: string
  readonly createdAt: number
  lastUsedAt: number
  readonly sockets: Set<FakeSocket>
}

/** Where one user is signed in. */
export class FakeSessions {
  #open: FakeSession[] = []

  get sockets(): FakeSocket[] {
    return this.#open.flatMap(({ sockets }) => [...sockets])
  }

  begin(now: number): FakeSession {
    const session = { id: uuidv7(), createdAt: now, lastUsedAt: now, sockets: new Set<FakeSocket>() }
    this.#open.unshift(session)
    return session
  }

  isOpen(session: FakeSession): boolean {
    return this.#open.includes(session)
  }

  /** The newest first. */
  list(current: FakeSession): Schemas['AccountSession'][] {
    return this.#open.map((session) => ({
      id: session.id,
      created_at: session.createdAt,
      last_used_at: session.lastUsedAt - (session.lastUsedAt % hourMs),
      user_agent: '',
      current: session === current,
      sockets: session.sockets.size,
    }))
  }

  /** Returns whether there were any. */
  end(isMeant: (session: FakeSession) => boolean): boolean {
    const ended = this.#open.filter(isMeant)
    this.#open = this.#open.filter((session) => !ended.includes(session))
    for (const { sockets } of ended) for (const socket of [...sockets]) socket.close(4401)
    return ended.length > 0
  }
}
