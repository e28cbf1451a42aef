/**
 * In place of the client's own import of `hash-wasm`: the same, but each passphrase, salt and parameters are worked on once in
 * a process. Tests open what they have just locked, and each time costs a quarter of a second of CPU.
 */
import { argon2id as derive } from 'hash-wasm'

type Options = Parameters<typeof derive>[0] & { password: Uint8Array; salt: Uint8Array; outputType: 'binary' }

const derived = new Map<string, Promise<Uint8Array>>()

export async function argon2id(options: Options): Promise<Uint8Array> {
  const { password, salt, ...parameters } = options
  const asked = JSON.stringify([Array.from(password), Array.from(salt), parameters])
  const key = derived.get(asked) ?? derive(options)
  derived.set(asked, key)
  // Whoever asks may wipe it.
  return Uint8Array.from(await key)
}
