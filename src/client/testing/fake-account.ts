import type { components } from '../../../generated/openapi.ts'
import { FakeHistory } from './fake-history.ts'
import { FakeRecords } from './fake-records.ts'
import { FakeSessions } from './fake-sessions.ts'

type Schemas = components['schemas']

/** One user of the fake service. */
export class FakeAccount {
  readonly userId: string
  readonly records: FakeRecords
  readonly history: FakeHistory
  readonly sessions = new FakeSessions()
  keyring: Schemas['Keyring'] | undefined
  exportKey = btoa('\0'.repeat(32))
  /** The service's clock. */
  readonly now: () => number
  /** Makes the account nobody's. */
  readonly leave: () => void

  constructor(userId: string, now: () => number, leave: () => void) {
    this.userId = userId
    this.records = new FakeRecords(userId)
    this.history = new FakeHistory(this.records)
    this.now = now
    this.leave = leave
  }

  get user(): Schemas['SessionUser'] {
    const { userId: user_id } = this
    return { user_id, email: `${user_id}@example.org`, name: user_id, avatar_url: '', email_verified: true }
  }
}
