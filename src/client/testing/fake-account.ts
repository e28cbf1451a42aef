import type { components } from '../../../generated/openapi.ts'
import {
  getExportKey,
  getKeyring,
  getSession,
  logout,
  pullChanges,
  pushChanges,
  refreshSession,
  setExportKey,
  setKeyring,
  startLogin,
} from '../../../generated/paths.ts'
import { FakeRecords } from './fake-records.ts'
import type { FakeSocket } from './fake-socket.ts'

type Schemas = components['schemas']

interface FakeAnswer {
  status: number
  body: unknown
}

/** One user of the fake service. */
export class FakeAccount {
  readonly userId: string
  readonly records: FakeRecords
  readonly sockets = new Set<FakeSocket>()
  readonly #now: () => number
  #keyring: Schemas['Keyring'] | undefined
  #exportKey = btoa('\0'.repeat(32))

  constructor(userId: string, now: () => number) {
    this.userId = userId
    this.records = new FakeRecords(userId)
    this.#now = now
  }

  /** Answers as the contract says. Bodies are not validated, except where an app could easily be wrong. */
  async answer(request: Request, pathname: string): Promise<FakeAnswer> {
    const deviceId = request.headers.get('x-device-id') ?? 'unknown'
    const body = request.body === null ? {} : await request.json()
    switch (`${request.method} ${pathname}`) {
      case `GET ${getSession}`:
        return ok({ authenticated: true, user: this.#user() })
      case `POST ${refreshSession}`:
      case `POST ${logout}`:
        return ok({ success: true })
      case `POST ${startLogin}`:
        return ok({ authorizationUrl: new URL('/sign-in', request.url).href })
      case `POST ${pullChanges}`:
        return ok(this.records.pull(body, deviceId))
      case `POST ${pushChanges}`:
        return this.#push(body)
      case `GET ${getKeyring}`:
        return this.#keyring ? ok(this.#keyring) : failed(404, 'Keyring not found')
      case `PUT ${setKeyring}`:
        return this.#setKeyring(body)
      case `GET ${getExportKey}`:
        return ok({ key: this.#exportKey })
      case `PUT ${setExportKey}`:
        this.#exportKey = body.key
        return ok({ success: true })
      default:
        return failed(501, `The fake service has no ${request.method} ${pathname}`)
    }
  }

  #user(): Schemas['SessionUser'] {
    const { userId: user_id } = this
    return { user_id, email: `${user_id}@example.org`, name: user_id, avatar_url: '', email_verified: true }
  }

  #push({ changes }: Partial<Schemas['PushRequest']>): FakeAnswer {
    if (!Array.isArray(changes) || !changes.every(isChange)) return failed(400, 'Invalid changes format')
    const answer = this.records.push(changes, this.#now())
    for (const socket of this.sockets) queueMicrotask(() => socket.deliver())
    return ok(answer)
  }

  #setKeyring({ keyring, revision }: Schemas['Keyring']): FakeAnswer {
    if (revision !== (this.#keyring?.revision ?? 0) + 1) return failed(409, 'Keyring was changed')
    this.#keyring = { keyring, revision }
    return ok(this.#keyring)
  }
}

function isChange(value: Partial<Schemas['Change']>): boolean {
  const { id, entity_type, entity_id, operation, timestamp, device_id, encrypted_data, data_hash } = value
  const texts = [id, entity_type, entity_id, operation, device_id]
  const data = operation === 'delete' ? [] : [encrypted_data, data_hash]
  const isText = (text: unknown) => typeof text === 'string' && /^[ -~]+$/.test(text)
  return [...texts, ...data].every(isText) && Number.isSafeInteger(timestamp)
}

function ok(body: unknown): FakeAnswer {
  return { status: 200, body }
}

export function failed(status: number, error: string): FakeAnswer {
  return { status, body: { error } }
}
