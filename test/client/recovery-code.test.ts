import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { formatRecoveryCode, parseRecoveryCode } from '../../src/client/crypto/recovery-code.ts'
import { fromHex, recoveryBytes } from './second-implementation.ts'
import { readVectors } from './vectors.ts'

const { recovery_codes: codes } = readVectors<{ recovery_codes: { code: string; written: string }[] }>('keyring')
const bytes16 = fc.uint8Array({ minLength: 16, maxLength: 16 })
const mistyped = { name: 'KeyringError', fault: 'mistyped-recovery-code' }
const SYMBOLS = '0123456789ABCDEFGHJKMNPQRSTVWXYZ*~$=U'

for (const { code, written } of codes) {
  t.test(`vector ${written}`, async (t) => {
    t.equal(formatRecoveryCode(fromHex(code)), written)
    t.same(Buffer.from(parseRecoveryCode(written)).toString('hex'), code)
    t.same(recoveryBytes(written).toString('hex'), code)
  })
}

t.test('every 128-bit value reads back, in nine groups of three', async () => {
  fc.assert(
    fc.property(bytes16, (bytes) => {
      const code = formatRecoveryCode(bytes)
      assert.match(code, /^[0-7][0-9A-HJKMNP-TV-Z]{2}(-[0-9A-HJKMNP-TV-Z]{3}){7}-[0-9A-HJKMNP-TV-Z]{2}[0-9A-Z*~$=]$/)
      assert.deepEqual(parseRecoveryCode(code), bytes)
    }),
  )
})

t.test('typed by hand: case, separators, look-alikes and full-width forms do not matter', async (t) => {
  const code = '5PB-TKV-XSC-99W-9TN-FGQ-953-AGH-C1='
  const bytes = parseRecoveryCode(code)
  const typed = [
    code.toLowerCase(),
    code.replaceAll('-', ''),
    code.replaceAll('-', ' '),
    ` ${code.replaceAll('-', ' – ')}\n`,
    code.replaceAll('1', 'l'),
    code.replaceAll('1', 'I'),
    code.replaceAll('-', '_').replaceAll('=', '＝'),
    `\u200b${code}\u00a0`,
  ]
  for (const text of typed) t.same(parseRecoveryCode(text), bytes, JSON.stringify(text))
  t.same(parseRecoveryCode('OOO-ooo-000-000-000-000-000-000-000'), new Uint8Array(16))
})

t.test('a wrong character anywhere is a typing mistake', async () => {
  fc.assert(
    fc.property(bytes16, fc.nat(26), fc.constantFrom(...SYMBOLS), (bytes, place, symbol) => {
      const code = formatRecoveryCode(bytes).replaceAll('-', '')
      fc.pre(code[place] !== symbol)
      assert.throws(() => parseRecoveryCode(code.slice(0, place) + symbol + code.slice(place + 1)), mistyped)
    }),
  )
})

t.test('two swapped neighbours are a typing mistake', async () => {
  fc.assert(
    fc.property(bytes16, fc.nat(25), (bytes, place) => {
      const code = formatRecoveryCode(bytes).replaceAll('-', '')
      const [a, b] = [code.charAt(place), code.charAt(place + 1)]
      fc.pre(a !== b)
      assert.throws(() => parseRecoveryCode(code.slice(0, place) + b + a + code.slice(place + 2)), mistyped)
    }),
  )
})

t.test('the message tells the mistake', async (t) => {
  const code = '5PB-TKV-XSC-99W-9TN-FGQ-953-AGH-C1='
  t.throws(() => parseRecoveryCode(''), { ...mistyped, message: /0 characters instead of 27/ })
  t.throws(() => parseRecoveryCode(code.slice(1)), { ...mistyped, message: /26 characters instead of 27/ })
  t.throws(() => parseRecoveryCode(`${code}1`), { ...mistyped, message: /28 characters instead of 27/ })
  t.throws(() => parseRecoveryCode(code.replace('5', 'U')), { ...mistyped, message: /cannot contain "U"/ })
  t.throws(() => parseRecoveryCode(code.replace('5', '6')), { ...mistyped, message: /last character/ })
  t.throws(() => parseRecoveryCode(code.replace('5', 'ü')), { ...mistyped, message: /cannot contain "Ü"/ })
})

t.test('a number above 128 bits with a right check symbol is no recovery code', async (t) => {
  const check = SYMBOLS.charAt(Number(2n ** 128n % 37n))
  t.throws(() => parseRecoveryCode(`8${'0'.repeat(25)}${check}`), mistyped)
})
