/**
 * Replaces `hash-wasm` in the client: derives keys of the same length with one hash. Argon2id takes a quarter of a second
 * of CPU, and most tests only need equal keys for equal input.
 */
import { hkdfSync } from 'node:crypto'
import { argon2id as derive } from 'hash-wasm'
import type { Test } from 'tap'

type Options = Parameters<typeof derive>[0] & { password: Uint8Array; salt: Uint8Array; outputType: 'binary' }

const isDeep = process.env.TEST_DEPTH === 'deep'
let isFull = isDeep

/** Uses the real Argon2id until the test ends, for data that other programs read or write. */
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
