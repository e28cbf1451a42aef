/**
 * `encrypted-bookmark-sync-client/pair`: opens the vault on a new device without the passphrase. A device with the keys
 * shows a code, and the new device scans it. Calls also reject with the errors of `unwrap` and the signal's reason.
 */
import { equalBytes } from '@noble/ciphers/utils.js'
import { bytesToHex, concatBytes, utf8ToBytes } from '@noble/hashes/utils.js'
import { pairingMs, reservedMs } from '../protocol/pairing.ts'
import type { Client } from './api/client.ts'
import { answer, type CallResult, unwrap } from './api/unwrap.ts'
import { NONCE_BYTES, open, seal, TAG_BYTES } from './crypto/aead.ts'
import { base64ToBytes, bytesToBase64 } from './crypto/base64.ts'
import { hkdfSha256 } from './crypto/hashes.ts'
import { deriveKeys, type Keys } from './crypto/keys.ts'
import { decryptBookmark, type StoredRecord } from './crypto/record.ts'
import { ApiError, OfflineError } from './errors.ts'
import { type Clock, systemClock } from './timing/clock.ts'
import type { Vault } from './vault/operations.ts'

export { pairingMs }

/** The options of both devices of a pairing. */
export interface PairingOptions {
  /** The signed-in user's client. */
  client: Client
  /** The signed-in user's `user_id`: both devices must be signed in as the same user. */
  userId: string
  /** Ends the pairing when it is aborted. */
  signal?: AbortSignal | undefined
  clock?: Clock | undefined
}

/** The options of the device that shows the code. */
export interface OfferPairingOptions extends PairingOptions {
  /** Called when the code was scanned on a device where the user must sign in first. The code is then valid for 10 minutes. */
  onReserved?: (() => void) | undefined
}

/** A pairing code for the new device to scan. */
export interface PairingOffer {
  /** 43 letters, digits, dashes and underscores. With it, a device may ask for the keys: show it, but never store it. */
  readonly code: string
  /**
   * Resolves once another device has scanned the code. A code works for one device only: after a failure, offer another.
   *
   * @throws PairingError `over`, `taken`, `altered`
   */
  guest(): Promise<PairingGuest>
}

/** Three numbers from 0 to 63, each for one of 64 pictures. Both devices show the same ones, unless an attacker is in between. */
export type PairingPictures = readonly [number, number, number]

/** The device that has scanned the code. */
export interface PairingGuest {
  /** The name that the device gave itself. */
  readonly name: string
  readonly pictures: PairingPictures
  /**
   * Sends the keys: call it once the person has seen the same pictures on both devices. Resolves when the vault is open there.
   *
   * @param masterKey from `loadMasterKey`, `openVault` or `createVault`
   * @throws PairingError `over`, `taken`, `altered`
   */
  admit(masterKey: Uint8Array): Promise<void>
  /**
   * Resolves once `admit` has sent the keys. Rejects if the device leaves before, so that the page can show it.
   *
   * @throws PairingError `over`: the device has left, or the time is up
   */
  admitted(): Promise<void>
}

/** The options of the new device. */
export interface TakePairingOptions extends PairingOptions {
  /** The scanned code. */
  code: string
  /** The name that the other device shows for this one, of up to 100 characters. */
  name: string
  /**
   * Shows the pictures, and resolves once the person has confirmed here that the other device shows the same. Without
   * comparing, an attacker who makes the person open a link with a code could give them keys that the attacker has, too.
   */
  compare: (pictures: PairingPictures) => Promise<void>
}

/**
 * The reasons why a pairing fails.
 * - `malformed`: the text is not a code
 * - `over`: the code is older than two minutes (a reservation: than ten), is another user's, was replaced by another code,
 *   or the other device has stopped
 * - `taken`: another device has scanned the code, or has answered in between
 * - `altered`: a message is not the one that the other device has sent
 * - `foreign`: the keys that the other device has sent open none of the user's bookmarks
 */
export type PairingFault = 'malformed' | 'over' | 'taken' | 'altered' | 'foreign'

/** The devices could not be paired; `fault` has the reason. No keys were given away, unless `admit` had been called. */
export class PairingError extends Error {
  override readonly name = 'PairingError'
  readonly fault: PairingFault

  constructor(fault: PairingFault) {
    super(`The pairing failed: ${fault}`)
    this.fault = fault
  }
}

/**
 * Begins a pairing, on a device that has the keys. The service passes on encrypted messages, none of which depends on
 * the keys until `admit`. The user's earlier codes become invalid.
 */
export async function offerPairing(options: OfferPairingOptions): Promise<PairingOffer> {
  const secret = crypto.getRandomValues(new Uint8Array(32))
  const talk = new Talk(secret, options)
  const own = await newKeyPair()
  // Commits to the public key, which follows once the other device's has arrived: otherwise an attacker with the code could
  // choose a key that leads to the same pictures.
  await talk.orEnd(() => talk.send(0, commitmentTo(own.publicBytes)))
  options.signal?.addEventListener('abort', () => talk.end())
  const meet = async (): Promise<PairingGuest> => {
    const hello = await talk.receive(1, talk.codeKey, options.onReserved)
    const [theirs, name] = [hello.subarray(0, publicKeyBytes), hello.subarray(publicKeyBytes)]
    await talk.send(2, own.publicBytes)
    const { key, pictures } = await agree(secret, own, theirs, [own.publicBytes, theirs])
    await talk.receive(3, key)
    let isAdmitting = false
    return {
      name: new TextDecoder().decode(name).slice(0, mostNameCharacters),
      pictures,
      async admit(masterKey) {
        isAdmitting = true
        await talk.orEnd(async () => {
          await talk.send(4, masterKey, key)
          await talk.receive(5, key)
        })
        talk.end()
      },
      async admitted() {
        await talk.untilPast(3).catch((error) => {
          // If `admit` was called, it reports the error: this device itself may have ended the pairing.
          if (!isAdmitting) throw error
        })
      },
    }
  }
  let met: ReturnType<typeof meet> | undefined
  return {
    code: bytesToBase64(secret).replaceAll('+', '-').replaceAll('/', '_').replace('=', ''),
    // Only the first answer counts: with more, an attacker who knows the public key would try until the pictures match.
    guest: () => (met ??= talk.orEnd(meet)),
  }
}

/**
 * Reserves a code that was scanned on a device where nobody is signed in yet, so that there is time to sign in.
 *
 * @param userId the user who shows the code; the scanned link must name them
 * @throws PairingError `malformed`, `over`
 */
export async function reservePairing(
  client: Client,
  { userId, code }: Pick<TakePairingOptions, 'userId' | 'code'>,
): Promise<void> {
  const params = { path: { id: idOf(secretOf(code)) } }
  try {
    unwrap(await answer(client.POST(`${path}/reservation`, { params, body: { user_id: userId } })))
  } catch (error) {
    throw error instanceof ApiError && error.status === 404 ? new PairingError('over') : error
  }
}

/**
 * Ends a pairing that this device has begun and lost, for example because the page was reloaded, so that the other device
 * does not wait for it.
 *
 * @throws PairingError `malformed`
 */
export async function cancelPairing({
  client,
  userId,
  code,
}: Pick<TakePairingOptions, 'client' | 'userId' | 'code'>): Promise<void> {
  const params = { path: { id: idOf(secretOf(code)) } }
  unwrap(await answer(client.as(userId).DELETE(path, { params })))
}

/**
 * Asks for the keys, on the new device. Resolves once the person has admitted it on the other device.
 *
 * @throws PairingError
 */
export async function takePairing(options: TakePairingOptions): Promise<Vault> {
  const { code, name, compare } = options
  const secret = secretOf(code)
  const talk = new Talk(secret, options)
  const commitment = await talk.receive(0)
  const own = await newKeyPair()
  await talk.send(1, concatBytes(own.publicBytes, utf8ToBytes(name.slice(0, mostNameCharacters))))
  return talk.orEnd(() => takeAsGuest(talk, own, { secret, commitment, compare }))
}

/** Continues after this device was the first to answer the code. */
async function takeAsGuest(
  talk: Talk,
  own: KeyPair,
  { secret, commitment, compare }: { secret: Uint8Array; commitment: Uint8Array } & Pick<TakePairingOptions, 'compare'>,
): Promise<Vault> {
  const theirs = await talk.receive(2)
  if (!equalBytes(commitmentTo(theirs), commitment)) throw new PairingError('altered')
  const { key, pictures } = await agree(secret, own, theirs, [theirs, own.publicBytes])
  await talk.send(3, new Uint8Array(), key)
  const [masterKey] = await Promise.all([talk.receive(4, key), compare(pictures)])
  const vault = { masterKey, keys: deriveKeys(masterKey) }
  if (!(await talk.mayOpenBookmarks(vault.keys))) throw new PairingError('foreign')
  // On the service, this message replaces the one with the keys. The vault is open even if that fails.
  await talk.send(5, new Uint8Array(), key).catch(() => {})
  return vault
}

function secretOf(code: string): Uint8Array {
  const secret = /^[\w-]{43}$/.test(code)
    ? base64ToBytes(`${code.replaceAll('-', '+').replaceAll('_', '/')}=`)
    : undefined
  if (!secret) throw new PairingError('malformed')
  return secret
}

function idOf(secret: Uint8Array): string {
  return bytesToHex(hkdfSha256(secret, 'ebs/pairing-id/1').subarray(0, 16))
}

/** How many ms a device waits before it asks for the message again. */
const pauseMs = 500
const mostNameCharacters = 100
/** The bytes of an uncompressed P-256 point. */
const publicKeyBytes = 65
const curve = { name: 'ECDH', namedCurve: 'P-256' }

interface KeyPair {
  privateKey: CryptoKey
  publicBytes: Uint8Array
}

/** P-256, because WebCrypto has it in all browsers. The private key cannot be exported. */
async function newKeyPair(): Promise<KeyPair> {
  const { privateKey, publicKey } = await crypto.subtle.generateKey(curve, false, ['deriveBits'])
  return { privateKey, publicBytes: new Uint8Array(await crypto.subtle.exportKey('raw', publicKey)) }
}

function commitmentTo(publicBytes: Uint8Array): Uint8Array {
  return hkdfSha256(publicBytes, 'ebs/pairing-commitment/1')
}

/** Derives the shared key and the pictures. The code alone reveals neither: each private key stays on its device. */
async function agree(secret: Uint8Array, own: KeyPair, theirs: Uint8Array, publicKeys: [Uint8Array, Uint8Array]) {
  const publicKey = await crypto.subtle.importKey('raw', Uint8Array.from(theirs), curve, false, []).catch(() => {
    throw new PairingError('altered')
  })
  const shared = await crypto.subtle.deriveBits({ name: 'ECDH', public: publicKey }, own.privateKey, 256)
  const material = concatBytes(secret, new Uint8Array(shared), ...publicKeys)
  const [one = 0, two = 0, three = 0] = hkdfSha256(material, 'ebs/pairing-pictures/1')
  const pictures: PairingPictures = [one % 64, two % 64, three % 64]
  return { key: hkdfSha256(material, 'ebs/pairing-key/1'), pictures }
}

/** The messages that the two devices exchange in turn, numbered by step and each encrypted for its step. */
class Talk {
  readonly #options: PairingOptions
  readonly #client: Client
  readonly #id: string
  readonly codeKey: Uint8Array
  #isEnded = false

  constructor(secret: Uint8Array, options: PairingOptions) {
    this.#options = options
    this.#client = options.client.as(options.userId)
    this.#id = idOf(secret)
    this.codeKey = hkdfSha256(secret, 'ebs/pairing/1')
  }

  async send(step: number, plaintext: Uint8Array, key = this.codeKey): Promise<void> {
    const { signal = null } = this.#options
    const nonce = crypto.getRandomValues(new Uint8Array(NONCE_BYTES))
    const message = bytesToBase64(concatBytes(nonce, seal(key, nonce, this.#place(step), plaintext)))
    await this.#ask(() => this.#client.PUT(path, { ...this.#params, signal, body: { step, message } }))
  }

  /** Ends the pairing if `work` fails, so that the other device does not wait. */
  async orEnd<Result>(work: () => Promise<Result>): Promise<Result> {
    try {
      return await work()
    } catch (error) {
      this.end()
      throw error
    }
  }

  /** Asks the service to erase the last message. If that fails, the message expires within minutes. */
  end(): void {
    if (this.#isEnded) return
    this.#isEnded = true
    answer(this.#client.DELETE(path, this.#params)).catch(() => {})
  }

  /**
   * Waits for the message of this step.
   *
   * @param onReserved called if the code was reserved (`reservePairing`), which extends the time
   */
  async receive(step: number, key = this.codeKey, onReserved?: () => void): Promise<Uint8Array> {
    const { signal = null } = this.#options
    const read = () => this.#client.GET(path, { ...this.#params, signal })
    const isHere = (last: { step: number }) => last.step >= step
    let stored = await this.#ask(read, (last) => isHere(last) || (step === 1 && last.reserved))
    if (stored && !isHere(stored)) {
      onReserved?.()
      stored = await this.#ask(read, isHere, reservedMs)
    }
    if (!stored || stored.step > step) throw new PairingError('taken')
    const bytes = base64ToBytes(stored.message)
    // Checked first, because cipher libraries throw if the nonce is shorter.
    const isWhole = bytes && bytes.length >= NONCE_BYTES + TAG_BYTES
    const opened = isWhole && open(key, bytes.subarray(0, NONCE_BYTES), this.#place(step), bytes.subarray(NONCE_BYTES))
    if (!opened) throw new PairingError('altered')
    return opened
  }

  /** Waits for a message of a later step. */
  async untilPast(step: number): Promise<void> {
    const { signal = null } = this.#options
    await this.#ask(
      () => this.#client.GET(path, { ...this.#params, signal }),
      (last) => last.step > step,
    )
  }

  /** False if there are bookmarks and the keys open none of the newest 20. */
  async mayOpenBookmarks(keys: Keys): Promise<boolean> {
    const { signal = null } = this.#options
    const page = await this.#ask(() =>
      this.#client.GET('/api/v1/bookmarks', { params: { query: { limit: 20 } }, signal }),
    )
    const opens = (record: StoredRecord) => {
      try {
        return decryptBookmark(keys, record) !== undefined
      } catch {
        return false
      }
    }
    return !page || page.data.length === 0 || page.data.some(opens)
  }

  /**
   * Repeats the call until its response is usable, because a phone's network may fail for a moment. Has its own time limit,
   * because a faulty service might never report that the pairing is over.
   */
  async #ask<Data>(
    call: () => Promise<CallResult<Data>>,
    isEnough: (data: NonNullable<Data>) => boolean = () => true,
    patienceMs = pairingMs,
  ): Promise<NonNullable<Data> | undefined> {
    const { signal = new AbortController().signal, clock = systemClock } = this.#options
    let isUnsure = false
    for (const end = clock.now() + patienceMs; ; await clock.sleep(pauseMs, signal)) {
      try {
        const data = unwrap(await answer(call()))
        // A late response does not count, because the service may have held it back.
        if (clock.now() < end && isEnough(data)) return data
      } catch (error) {
        const status = error instanceof ApiError ? error.status : undefined
        if (status === 404) throw new PairingError('over')
        // This message may have arrived at an earlier try, and the other device may have answered it since: `receive` checks.
        if (status === 409 && isUnsure) return undefined
        if (status === 409) throw new PairingError('taken')
        if (!(error instanceof OfflineError)) throw error
        isUnsure = true
      }
      if (clock.now() >= end) throw new PairingError('over')
    }
  }

  get #params() {
    return { params: { path: { id: this.#id } } }
  }

  #place(step: number): Uint8Array {
    return utf8ToBytes(['ebs/pairing/1', this.#options.userId, this.#id, step].join('\0'))
  }
}

const path = '/api/v1/account/pairings/{id}'
