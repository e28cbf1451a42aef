import fc from 'fast-check'
import t from 'tap'
import { formatRecoveryCode, parseRecoveryCode } from '../../src/client/crypto/recovery-code.ts'
import { KeyringError } from '../../src/client/errors.ts'
import { isCodeLike, tryTyped } from '../../src/client/vault/typed-secret.ts'

t.test('A recovery code is recognized with each check symbol, as shown and as people type it', async (t) => {
  const last = new Set<string | undefined>()
  const property = fc.property(fc.uint8Array({ minLength: 16, maxLength: 16 }), fc.nat(26), (bytes, dropped) => {
    const code = formatRecoveryCode(bytes)
    last.add(code.at(-1))
    const characters = code.replaceAll('-', '')
    const typed = [code, code.toLowerCase(), ` ${code.replaceAll('-', ' ')} `, code.slice(1)]
    if (/\d\D*\d/.test(characters)) typed.push(characters, characters.slice(0, dropped) + characters.slice(dropped + 1))
    return typed.every(isCodeLike)
  })
  fc.assert(property, { numRuns: 2_000 })
  t.equal(last.size, 37)
})

for (const passphrase of ['correct horse battery staple', 'tinsel walrus oboe fjord', 'a b c d e f g', '12345678', ''])
  t.test(`“${passphrase}” is recognized as a passphrase`, async (t) => t.notOk(isCodeLike(passphrase)))

/** A vault that opens with this passphrase, or with any well-formed recovery code. */
const openBy = (right: string) => async (credentials: { passphrase: string } | { recoveryCode: string }) => {
  if ('recoveryCode' in credentials) return parseRecoveryCode(credentials.recoveryCode) && 'code'
  if (credentials.passphrase !== right) throw new KeyringError('wrong-passphrase', 'Wrong')
  return 'passphrase'
}

const fault = (fault: string) => ({ name: 'KeyringError', fault })

t.test('A typed secret opens as code or passphrase, and the error fits what it looks like', async (t) => {
  const code = formatRecoveryCode(new Uint8Array(16).fill(35))
  const short = 'ab1 cd2 ef3 gh4 ij5 kl6 mn7'
  const spaced = ' tinsel walrus oboe fjord '
  for (const typed of [code, code.replaceAll('-', ''), ` ${code.replaceAll('-', ' ')}`.toLowerCase()])
    t.equal(await tryTyped('ada', typed, openBy(spaced)), 'code', typed)
  for (const typed of [spaced, short]) t.equal(await tryTyped('ada', typed, openBy(typed)), 'passphrase', typed)
  await t.rejects(tryTyped('ada', spaced.trim(), openBy(spaced)), fault('wrong-passphrase'))
  // A phone's keyboard adds a space after a suggestion.
  t.equal(await tryTyped('ada', spaced, openBy(spaced.trim())), 'passphrase')
  await t.rejects(tryTyped('ada', spaced, openBy('another')), fault('wrong-passphrase'))
  await t.rejects(tryTyped('ada', code.slice(1), openBy(spaced)), fault('mistyped-recovery-code'))
})
