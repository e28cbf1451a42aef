import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { base64ToBytes, bytesToBase64 } from '../../src/client/crypto/base64.ts'
import { depth } from '../support/depth.ts'

t.test('writes what Node writes, and reads it back', async (t) => {
  fc.assert(
    fc.property(fc.uint8Array(), (bytes) => {
      const text = bytesToBase64(bytes)
      assert.equal(text, Buffer.from(bytes).toString('base64'))
      assert.deepEqual(base64ToBytes(text), bytes)
    }),
  )
  const large = new Uint8Array(300_000).map((_, index) => index % 251)
  t.equal(bytesToBase64(large), Buffer.from(large).toString('base64'))
  t.same(base64ToBytes(bytesToBase64(large)), large)
})

t.test(
  'takes one spelling only: no spaces, no missing or extra padding, no unused bits, no other alphabet',
  async (t) => {
    for (const text of ['A', 'AA', 'AAA', 'AA=', 'AA== ', 'A A=', 'AB==', 'AAB=', 'AAAA====', '-_==', 'Ä===', '====']) {
      t.equal(base64ToBytes(text), undefined, text)
    }
  },
)

t.test('takes exactly what Node writes for what Node reads', async () => {
  const character = fc.constantFrom(...'AQgwB/+=- \n')
  fc.assert(
    fc.property(fc.array(character, { maxLength: 9 }), (characters) => {
      const text = characters.join('')
      const bytes = Buffer.from(text, 'base64')
      assert.deepEqual(base64ToBytes(text), bytes.toString('base64') === text ? new Uint8Array(bytes) : undefined)
    }),
    { numRuns: depth(1000, 5000) },
  )
})
