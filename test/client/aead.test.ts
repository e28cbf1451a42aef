import assert from 'node:assert/strict'
import * as nodeCrypto from 'node:crypto'
import { xchacha20poly1305 } from '@noble/ciphers/chacha.js'
import fc from 'fast-check'
import t from 'tap'
import { openByLibrary, openWith, seal } from '../../src/client/crypto/aead.ts'
import type { NodeCrypto } from '../../src/client/crypto/node-crypto.ts'

const bytes = (maxLength: number) => fc.uint8Array({ maxLength })
const ofLength = (length: number) => fc.uint8Array({ minLength: length, maxLength: length })

const ways = {
  'the client alone': openByLibrary,
  "with Node's cipher": openWith(nodeCrypto as NodeCrypto),
}

t.test("opens also where Node's own module lacks the cipher, as in Bun and Electron", async (t) => {
  const node = process.getBuiltinModule('node:crypto')
  t.intercept(node, 'getCiphers', { value: () => ['aes-256-gcm'] })
  const createDecipheriv = () => {
    throw new Error('Unknown cipher')
  }
  t.intercept(node, 'createDecipheriv', { value: createDecipheriv })
  const { open } = (await import(`${new URL('../../src/client/crypto/aead.ts', import.meta.url)}?as-in-bun`)) as {
    open: typeof openByLibrary
  }
  const [key, nonce, text] = [new Uint8Array(32), new Uint8Array(24), Uint8Array.of(1, 2, 3)]
  t.same(open(key, nonce, new Uint8Array(0), seal(key, nonce, new Uint8Array(0), text)), text)
})

for (const [name, open] of Object.entries(ways)) {
  t.test(`${name}: opens what the library seals, of any length`, async () => {
    fc.assert(
      fc.property(ofLength(32), ofLength(24), bytes(80), bytes(400), (key, nonce, associatedData, plaintext) => {
        const sealed = xchacha20poly1305(key, nonce, associatedData).encrypt(plaintext)
        assert.deepEqual(open(key, nonce, associatedData, sealed), plaintext)
        assert.deepEqual(seal(key, nonce, associatedData, plaintext), sealed)
      }),
    )
  })

  t.test(
    `${name}: opens nothing else: no other key, nonce, associated data, ciphertext or tag, and nothing cut off`,
    async () => {
      const part = fc.constantFrom('key' as const, 'nonce' as const, 'associatedData' as const, 'sealed' as const)
      fc.assert(
        fc.property(
          ofLength(32),
          ofLength(24),
          bytes(80),
          bytes(80),
          part,
          fc.nat(),
          (key, nonce, ad, text, part, bit) => {
            const associatedData = Uint8Array.of(0, ...ad)
            const parts = { key, nonce, associatedData, sealed: seal(key, nonce, associatedData, text) }
            const opened = () => open(parts.key, parts.nonce, parts.associatedData, parts.sealed)
            const altered = parts[part]
            const index = (bit >> 3) % altered.length
            altered[index] = (altered[index] ?? 0) ^ (1 << (bit & 7))
            assert.equal(opened(), undefined)
            altered[index] = (altered[index] ?? 0) ^ (1 << (bit & 7))
            assert.deepEqual(opened(), text)
            for (const length of [0, 15, parts.sealed.length - 1]) {
              assert.equal(open(key, nonce, associatedData, parts.sealed.subarray(0, length)), undefined)
            }
            // A byte that moves from one part to the other keeps the concatenation as it was.
            const [moved, rest] = [
              associatedData.subarray(0, -1),
              Uint8Array.of(associatedData.at(-1) ?? 0, ...parts.sealed),
            ]
            assert.equal(open(key, nonce, moved, rest), undefined)
          },
        ),
      )
    },
  )
}
