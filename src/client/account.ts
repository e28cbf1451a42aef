/** `encrypted-bookmark-sync-client/account`: what the user stores, their devices and sessions, deleting the account. */
import type { components } from '../../generated/client.ts'
import type { Client } from './api/client.ts'
import { answer, type CallResult, unwrap } from './api/unwrap.ts'
import type { Keys } from './crypto/keys.ts'
import { openRecord, SALT_BYTES, sealJson } from './crypto/record.ts'
import { ApiError, OfflineError } from './errors.ts'
import type { Sync } from './sync/sync.ts'

export { SignInAgainError } from './errors.ts'

type Schemas = components['schemas']

/** The options of `openAccount`. */
export interface AccountOptions {
  /** The sync's client. */
  client: Client
  /** The signed-in user's `user_id`. */
  userId: string
  /** The device's sync. It need not be started. */
  sync: Pick<Sync, 'signOut' | 'stop'>
  /** The vault's keys, which encrypt and decrypt the names of devices. */
  keys?: Keys | undefined
}

/** The contract's `Account`: the user, how much they store, and their limits. */
export interface AccountInfo {
  user: CamelCased<Schemas['SessionUser']>
  usage: CamelCased<Schemas['AccountUsage']>
  limits: CamelCased<Schemas['AccountLimits']>
}

/** A device that has pulled or pushed. */
export interface AccountDevice {
  /** Its `deviceId`. */
  id: string
  /** When it last pulled or pushed (Unix ms). Repeated pulls without changes update this once a minute. */
  lastSeen: number
  /** Changes of other devices that it has not pulled yet. Only the user's 10,000 newest changes are looked at. */
  pendingChanges: number
  /** True for this device: the client's `deviceId`. */
  current: boolean
  /** The name that the user gave it; undefined if it has none, or if `keys` is not given or does not open it. */
  name: string | undefined
}

/** The longest name of a device, in UTF-16 code units. */
export const mostDeviceName: number = 100

/** A session, which began with a sign-in. */
export interface AccountSession {
  id: string
  /** When the user signed in (Unix ms). */
  createdAt: number
  /** When the user last signed in at the provider (Unix ms), as far as the provider reports it: `createdAt` or earlier. */
  authenticatedAt: number
  /** When the session's last request arrived (Unix ms), rounded down to the hour. */
  lastUsedAt: number
  /** The name that the browser or program gave itself at the sign-in (200 characters at most); empty if it is not known. */
  userAgent: string
  /** True for this device's session, which made the call. */
  current: boolean
  /** The number of the session's open WebSockets at the service instance that responded. */
  sockets: number
}

/**
 * The user's account. All methods need the network. They reject with OfflineError, SignedOutError (also if another user is
 * signed in; nothing was changed), or ApiError.
 */
export interface Account {
  account(): Promise<AccountInfo>
  /** The devices that have pulled or pushed in the last 400 days, sorted by id. */
  devices(): Promise<AccountDevice[]>
  /**
   * Names a device. The service gets the name encrypted. An empty name removes the old one, and so does `forgetDevice`.
   *
   * @throws RangeError the name is longer than `mostDeviceName`
   * @throws TypeError the name is not empty, and `openAccount` got no `keys`, or signing out has erased them
   * @throws ApiError 404: there is no such device
   */
  renameDevice(id: string, name: string): Promise<void>
  /**
   * Removes a device from the list. The device is not signed out (`endSession` does that): if it syncs, it is listed again.
   *
   * @throws ApiError 404: there is no such device
   */
  forgetDevice(id: string): Promise<void>
  /** The user's sessions, the newest sign-in first. */
  sessions(): Promise<AccountSession[]>
  /**
   * Ends a session at once. Its device keeps what it has stored: replace the keys (`rotateKeys`) if the device is lost. To
   * sign this device out, call the sync's `signOut`.
   *
   * @throws ApiError 404: there is no such session, or it has ended
   */
  endSession(id: string): Promise<void>
  /**
   * Ends all sessions except this one, at once.
   *
   * @throws SignInAgainError the sign-in is older than 10 minutes
   */
  signOutOthers(): Promise<void>
  /**
   * Deletes the account from the service, and then all its data from this device, in all tabs: bookmarks, unsent
   * edits and keys. Other devices are signed out, but keep what they have stored.
   *
   * Stops the sync first: otherwise a page would see the session end, and reload before everything is erased. After a
   * rejection, create another sync to continue. After an error of the store, too, the account may be deleted already.
   *
   * @throws SignInAgainError nothing was deleted: the sign-in is older than 10 minutes. Start another with
   *   `prompt: 'login'`, then call this again
   * @throws OfflineError no response arrived. If the account was deleted nevertheless, a later call throws
   *   SignedOutError, and only this device's copy is left: call `signOut({ discardUnsent: true })` of another sync
   */
  deleteAccount(): Promise<void>
}

/** Converts a name of the contract, such as `stored_bytes`, to camel case: `storedBytes`. */
export type CamelCase<Name> = Name extends `${infer Head}_${infer Tail}`
  ? `${Head}${Capitalize<CamelCase<Tail>>}`
  : Name

/** An object of the contract with the names of its fields in camel case. */
export type CamelCased<T> = { [Name in keyof T as CamelCase<Name & string>]: T[Name] }

/** Opens the signed-in user's account. Sends nothing until a method is called. */
export function openAccount(options: AccountOptions): Account {
  const { sync, keys } = options
  const client = options.client.as(options.userId)
  const done = async (call: Promise<CallResult<Schemas['Done']>>): Promise<void> => {
    unwrap(await answer(call))
  }

  return {
    async account() {
      const found = await answer(client.GET('/api/v1/account'))
      const { user, usage, limits } = unwrap(found)
      return { user: camelCased(user), usage: camelCased(usage), limits: camelCased(limits) }
    },
    async devices() {
      const list = await answer(client.GET('/api/v1/account/devices', everything))
      const { devices } = unwrap(list)
      return devices.map(({ encrypted_name, ...device }) => ({
        ...camelCased(device),
        name: keys && encrypted_name ? openName(keys, device.id, encrypted_name) : undefined,
      }))
    },
    async renameDevice(id, name) {
      const encrypted_name = name === '' ? null : sealName(keys, id, name)
      await done(client.PUT('/api/v1/account/devices/{id}', { params: { path: { id } }, body: { encrypted_name } }))
    },
    forgetDevice: (id) => done(client.DELETE('/api/v1/account/devices/{id}', { params: { path: { id } } })),
    async sessions() {
      const list = await answer(client.GET('/api/v1/account/sessions', everything))
      const { sessions } = unwrap(list)
      return sessions.map(camelCased)
    },
    endSession: (id) => done(client.DELETE('/api/v1/account/sessions/{id}', { params: { path: { id } } })),
    signOutOthers: () => done(client.DELETE('/api/v1/account/sessions')),
    deleteAccount: () => eraseAccount(client, sync),
  }
}

/** The largest page, which is the whole list: a user has at most 1000 sessions and 1000 devices. */
const everything = { params: { query: { limit: 1000 } } }

function camelCased<T extends object>(object: T): CamelCased<T> {
  const fields = Object.entries(object).map(([name, value]) => [
    name.replace(/_(.)/g, (_, first: string) => first.toUpperCase()),
    value,
  ])
  return Object.fromEntries(fields)
}

function sealName(keys: Keys | undefined, id: string, name: string): string {
  if (!keys) throw new TypeError('A name needs the keys of the vault')
  if (name.length > mostDeviceName) throw new RangeError(`The name has more than ${mostDeviceName} characters`)
  return sealJson(keys, id, JSON.stringify({ name }), 'device').encrypted_data
}

/** The name; undefined if the keys do not open it, or if it was encrypted for another device. */
function openName(keys: Keys, id: string, encrypted_data: string): string | undefined {
  try {
    const plaintext = openRecord(keys, { id, encrypted_data, data_hash: '' }, 'device')
    const { name } = JSON.parse(new TextDecoder().decode(plaintext.subarray(SALT_BYTES)))
    return typeof name === 'string' ? name : undefined
  } catch {
    return undefined
  }
}

async function eraseAccount(client: Client, sync: Pick<Sync, 'signOut' | 'stop'>): Promise<void> {
  let isDeleted = false
  const first = async () => {
    unwrap(await answer(client.DELETE('/api/v1/account')))
    isDeleted = true
  }
  try {
    await sync.signOut({ discardUnsent: true, first })
  } catch (error) {
    if (isDeleted) {
      // The account is deleted, so there is no session left to end.
      if (error instanceof OfflineError || error instanceof ApiError) return
      throw error instanceof AggregateError ? error.errors[0] : error
    }
    await sync.stop()
    throw error
  }
}
