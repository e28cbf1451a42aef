import { randomUUID } from 'node:crypto'
import { type Client, createClient } from '../api/client.ts'
import { answer, unwrap } from '../api/unwrap.ts'
import { base64ToBytes, bytesToBase64 } from '../crypto/base64.ts'
import { deriveKeys, type Keys } from '../crypto/keys.ts'
import { OfflineError, SignedOutError } from '../errors.ts'
import type { OpenWebSocket } from '../sync/exchange/transport.ts'
import type { Store } from '../sync/store/store.ts'
import { type Cookie, createCookieJar, parseCookieHeader } from './cookie-jar.ts'
import { DatabaseFile, storeIn } from './file-store.ts'
import { signInByRedirect } from './sign-in.ts'

/** The options of `openDevice`. */
export interface DeviceOptions {
  /** The service's PUBLIC_URL, such as `https://sync.example.org`. */
  baseUrl: string
  /**
   * The Cookie header of an existing session, instead of signing in: `service_session=…; service_refresh=…`. It is used
   * until the service sets newer cookies, which the file keeps. Passing another header later replaces those.
   */
  cookie?: string | undefined
}

/** This machine as one of the user's devices. Its fields are options of `createSync`. */
export interface Device {
  /** Made at the first start, and kept in the file. */
  readonly deviceId: string
  /** Sends the cookies, and keeps those that the service sets. */
  readonly client: Client
  readonly webSocket: OpenWebSocket
  readonly store: Store
  /**
   * Makes sure that a user is signed in, and returns their `user_id`: without a network, that of the last sign-in.
   *
   * @param open shows the URL to the user, or opens it in a browser on this machine; not called if the session is valid
   * @throws SignInError the sign-in was refused or expired; ApiError the service refused to start it; what `open` throws
   * @throws OfflineError the service does not respond, and nobody has signed in before or the session has ended
   * @throws Error the file belongs to another user
   */
  signIn(open: (url: string) => unknown, options?: { signal?: AbortSignal | undefined }): Promise<string>
  /**
   * The keys from the file. At the first start, calls `openVault`, and keeps the vault's master key in the file.
   *
   * @throws what `openVault` throws
   */
  unlock(openVault: () => Promise<{ masterKey: Uint8Array }>): Promise<Keys>
  /** Stores another master key: after `rotateKeys`, or after opening the vault again because another device rotated the keys. */
  keepMasterKey(masterKey: Uint8Array): void
}

/**
 * Opens this machine's copy of a user's bookmarks: one SQLite file, which only its owner may read (0600). It holds in
 * plaintext what the next start needs: the bookmarks, the cookies, the master key. `signOut` deletes it. While a sync
 * uses the file, no other process can.
 *
 * @throws StoreInUseError another process uses the file
 * @throws StoreVersionError a newer version of the package has changed it
 * @throws Error the file is another program's
 */
export function openDevice(path: string, { baseUrl, cookie }: DeviceOptions): Device {
  const file = new DatabaseFile(path)
  const deviceId = file.readSetting('device-id') ?? `node-${randomUUID()}`
  file.writeSetting('device-id', deviceId)
  const jar = createCookieJar(baseUrl, readCookies(file, cookie), (cookies) =>
    file.writeSetting('cookies', JSON.stringify(cookies)),
  )
  const client = createClient({ baseUrl, deviceId, fetch: jar.fetch })

  async function readUserId(signal: AbortSignal | undefined): Promise<string | undefined> {
    try {
      const session = await answer(client.GET('/api/v1/auth/session', { signal: signal ?? null }))
      return unwrap(session).user.user_id
    } catch (error) {
      if (error instanceof SignedOutError) return undefined
      throw error
    }
  }

  const keepMasterKey = (masterKey: Uint8Array) => file.writeSetting('master-key', bytesToBase64(masterKey))

  return {
    deviceId,
    client,
    webSocket: jar.webSocket,
    store: storeIn(file),
    async signIn(open, { signal } = {}) {
      const known = file.readSetting('user-id')
      const current = await readUserId(signal).catch((error: unknown) => {
        if (error instanceof OfflineError && known !== undefined) return known
        throw error
      })
      if (current === undefined) await signInByRedirect({ client, fetch: jar.fetch, open, signal })
      const userId = current ?? (await readUserId(signal))
      if (userId === undefined) throw new SignedOutError()
      if (known !== undefined && known !== userId) throw new Error(`${path} is another user's`)
      file.writeSetting('user-id', userId)
      return userId
    },
    async unlock(openVault) {
      const kept = file.readSetting('master-key')
      if (kept !== undefined) return deriveKeys(base64ToBytes(kept) ?? new Uint8Array())
      const { masterKey } = await openVault()
      keepMasterKey(masterKey)
      return deriveKeys(masterKey)
    },
    keepMasterKey,
  }
}

/** The cookies to start with. A header that was given before does not count: the service may have set newer cookies since. */
function readCookies(file: DatabaseFile, given: string | undefined): Cookie[] {
  if (given === undefined || given === file.readSetting('given-cookie')) {
    return JSON.parse(file.readSetting('cookies') ?? '[]') as Cookie[]
  }
  const cookies = parseCookieHeader(given)
  file.writeSetting('cookies', JSON.stringify(cookies))
  file.writeSetting('given-cookie', given)
  return cookies
}
