/**
 * In place of the client's own import of `hash-wasm`: keys of the same form from one hash. Argon2id takes a quarter of a second
 * of CPU for each, and most tests only need that the same passphrase, salt and parameters make the same key.
 */
import { hkdfSync } from 'node:crypto'
import { argon2id as derive } from 'hash-wasm'
import type { Test } from 'tap'

type Options = Parameters<typeof derive>[0] & { password: Uint8Array; salt: Uint8Array; outputType: 'binary' }

const isDeep = process.env.TEST_DEPTH === 'deep'
let isFull = isDeep

/** Until the test ends, keys are made by Argon2id: other programs open what is locked with them, or the reverse. */
export function deriveInFull(t: Pick<Test, 'teardown'>): void {
  isFull = true
  t.teardown(() => {
    isFull = isDeep
  })
}

export async function argon2id(options: Options): Promise<Uint8Array> {
  if (isFull) return derive(options)
  const { password, salt, outputType, ...parameters } = options
  return new Uint8Array(hkdfSync('sha256', password, salt, JSON.stringify(parameters), parameters.hashLength))
}
