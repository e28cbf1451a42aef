import fc from 'fast-check'
import t from 'tap'
import { formatRecoveryCode } from '../../src/client/crypto/recovery-code.ts'
import { isCodeLike } from '../../src/web/vault/code-like.ts'

t.test(
  'Every recovery code is taken for one, with each check symbol, as it is shown and as people type it',
  async (t) => {
    const last = new Set<string | undefined>()
    const property = fc.property(fc.uint8Array({ minLength: 16, maxLength: 16 }), fc.nat(26), (bytes, dropped) => {
      const code = formatRecoveryCode(bytes)
      last.add(code.at(-1))
      const characters = code.replaceAll('-', '')
      const typed = [code, code.toLowerCase(), ` ${code.replaceAll('-', ' ')} `, code.slice(1)]
      if (/\d\D*\d/.test(characters))
        typed.push(characters, characters.slice(0, dropped) + characters.slice(dropped + 1))
      return typed.every(isCodeLike)
    })
    fc.assert(property, { numRuns: 2_000 })
    t.equal(last.size, 37)
  },
)

for (const passphrase of ['correct horse battery staple', 'tinsel walrus oboe fjord', 'a b c d e f g', '12345678', ''])
  t.test(`“${passphrase}” is a passphrase`, async (t) => t.notOk(isCodeLike(passphrase)))
