import { randomBytes } from 'node:crypto'
import { deriveKeys, type Keys } from '../../../src/client/crypto/keys.ts'
import type { TestUser } from '../../support/app.ts'
import rotated from '../../vectors/rotated.json' with { type: 'json' }

/** A vault's master key, and the part of the keyring on the service that devices read without a passphrase. */
export class VaultKeys {
  #masterKey: Buffer = randomBytes(32)
  #revision = 0
  readonly #user: Pick<TestUser, 'call'>

  /** @param user a login whose sign-in is recent enough for new keys */
  constructor(user: Pick<TestUser, 'call'>) {
    this.#user = user
  }

  get masterKey(): Uint8Array {
    return this.#masterKey
  }

  /** A new copy each time, because a sync overwrites its keys at sign-out. */
  get keys(): Keys {
    return deriveKeys(this.#masterKey)
  }

  async rotate(): Promise<Keys> {
    this.#masterKey = Buffer.concat([randomBytes(32), this.#masterKey])
    const key_id = Buffer.from(this.keys.prefix.subarray(1)).toString('base64')
    const body = { keyring: JSON.stringify({ ...JSON.parse(rotated.keyring), key_id }), revision: ++this.#revision }
    const { status } = await this.#user.call('PUT', '/api/v1/account/keyring', { body })
    if (status !== 200) throw new Error(`The keyring was refused: ${status}`)
    return this.keys
  }
}

/** The first characters of a record's `encrypted_data` under the newest key, after a rotation. */
export function markOf({ prefix }: Keys): string {
  return Buffer.from(prefix).toString('base64').slice(0, 12)
}
