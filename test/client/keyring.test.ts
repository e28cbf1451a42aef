import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { deriveInFull } from '../../scripts/test/argon2id.ts'
import { deriveId, type Likeness } from '../../src/client/crypto/derived-id.ts'
import {
  changePassphrase,
  createKeyring,
  isAuthentic,
  newRecoveryCode,
  openKeyring,
  rewrap,
  rotateKeyring,
} from '../../src/client/crypto/keyring.ts'
import { deriveKeys } from '../../src/client/crypto/keys.ts'
import { formatRecoveryCode, parseRecoveryCode } from '../../src/client/crypto/recovery-code.ts'
import { judgePassphrase } from '../../src/client/crypto.ts'
import { depth } from '../support/depth.ts'
import {
  fromHex,
  hkdf,
  type KeyringJson,
  keyringMac,
  open,
  passphraseBinding,
  passphraseKey,
  recoveryBinding,
  recoveryBytes,
  type SubKeys,
  seal,
  subKeys,
} from './second-implementation.ts'
import { readVectors } from './vectors.ts'

const vector = readVectors<{
  user_id: string
  passphrase: string
  passphrase_nfd: string
  recovery_code: string
  master_key: string
  keyring: string
  mac: string
}>('keyring')
const { user_id: userId, passphrase, recovery_code: recoveryCode, keyring } = vector
const masterKey = new Uint8Array(fromHex(vector.master_key))
const fault = (fault: string, message = /./) => ({
  name: /^wrong-/.test(fault) ? 'WrongKeyError' : 'KeyringError',
  fault,
  message,
})

/** The vector's keyring, changed by the function. */
function altered(change: (keyring: KeyringJson) => void): string {
  const parsed = JSON.parse(keyring) as KeyringJson
  change(parsed)
  return JSON.stringify(parsed)
}

t.test('vector: the passphrase in another Unicode form, and the recovery code, open the keyring', async (t) => {
  deriveInFull(t)
  t.not(vector.passphrase_nfd, passphrase)
  t.same(await openKeyring(keyring, { userId, passphrase: vector.passphrase_nfd }), masterKey)
  t.same(await openKeyring(keyring, { userId, recoveryCode }), masterKey)
})

t.test('vector: libsodium and OpenSSL wrap to the same bytes', async (t) => {
  const { passphrase: outer, recovery } = JSON.parse(keyring) as KeyringJson
  const wrapped = (key: Uint8Array, nonce: string, binding: string) =>
    seal(key, Buffer.from(nonce, 'base64'), binding, masterKey).toString('base64')
  t.equal(wrapped(passphraseKey(passphrase, outer), outer.nonce, passphraseBinding(userId, outer)), outer.wrapped_key)
  const recoveryKey = hkdf(recoveryBytes(recoveryCode), 'ebs/recovery/1')
  t.equal(wrapped(recoveryKey, recovery.nonce, recoveryBinding(userId)), recovery.wrapped_key)
})

t.test('a new keyring has random keys and the documented parameters, and libsodium and OpenSSL open it', async (t) => {
  deriveInFull(t)
  const made = await createKeyring({ userId, passphrase: 'correct horse' })
  const other = await createKeyring({ userId, passphrase: 'correct horse' })
  t.equal(made.masterKey.length, 32)
  t.notSame(made.masterKey, other.masterKey)
  t.not(made.recoveryCode, other.recoveryCode)
  const [one, two] = [JSON.parse(made.keyring) as KeyringJson, JSON.parse(other.keyring) as KeyringJson]
  t.not(one.passphrase.salt, two.passphrase.salt)
  t.not(one.passphrase.nonce, two.passphrase.nonce)
  t.not(one.recovery.nonce, two.recovery.nonce)
  t.ok(made.keyring.length <= 16_384)
  const { format, passphrase: outer, recovery } = JSON.parse(made.keyring) as KeyringJson
  t.equal(format, 'ebs/keyring/1')
  t.match(outer, { kdf: 'argon2id', memory_kib: 65_536, iterations: 3, parallelism: 1 })
  t.equal(Buffer.from(outer.salt, 'base64').length, 16)
  const key = passphraseKey('correct horse', outer)
  const nonce = Buffer.from(outer.nonce, 'base64')
  const wrapped = Buffer.from(outer.wrapped_key, 'base64')
  t.same(open(key, nonce, passphraseBinding(userId, outer), wrapped), Buffer.from(made.masterKey))
  const recovered = open(
    hkdf(parseRecoveryCode(made.recoveryCode), 'ebs/recovery/1'),
    Buffer.from(recovery.nonce, 'base64'),
    recoveryBinding(userId),
    Buffer.from(recovery.wrapped_key, 'base64'),
  )
  t.same(recovered, Buffer.from(made.masterKey))
  t.notMatch(made.keyring, made.recoveryCode)
})

const rotated = readVectors<{ user_id: string; passphrase: string; master_key: string; keyring: string; mac: string }>(
  'rotated',
)
const withMac = JSON.stringify({ ...JSON.parse(keyring), mac: vector.mac })
const altering = fault('altered', /not made with these keys/)

t.test('vector: the MAC by which keys recognize their keyring, of both formats', async (t) => {
  for (const known of [vector, rotated]) {
    const master = new Uint8Array(fromHex(known.master_key))
    t.equal(keyringMac(known.keyring, known.user_id, master.subarray(0, 32)), known.mac, 'OpenSSL computes the same')
    const authentic = JSON.stringify({ ...JSON.parse(known.keyring), mac: known.mac })
    t.ok(isAuthentic(authentic, known.user_id, deriveKeys(master)))
    t.notOk(isAuthentic(known.keyring, known.user_id, deriveKeys(master)), 'a keyring without a MAC')
  }
})

t.test('each function that writes a keyring writes a MAC, also into a keyring that had none', async (t) => {
  const rules = { fewestGuesses: 0 }
  const owner = { userId, passphrase: 'correct horse', ...rules }
  const made = await createKeyring(owner)
  const next = await rotateKeyring(made.keyring, { userId, recoveryCode: made.recoveryCode }, 'next', rules)
  const again = await rewrap(next.masterKey, owner)
  const code = await newRecoveryCode(again.keyring, { userId, recoveryCode: again.recoveryCode })
  const written: [string, Uint8Array][] = [
    [made.keyring, made.masterKey],
    [await changePassphrase(keyring, { userId, recoveryCode }, 'another', rules), masterKey],
    [(await newRecoveryCode(keyring, { userId, recoveryCode })).keyring, masterKey],
    [next.keyring, next.masterKey],
    [again.keyring, next.masterKey],
    [code.keyring, next.masterKey],
  ]
  for (const [text, master] of written) {
    t.ok(isAuthentic(text, userId, deriveKeys(master)))
    t.equal(keyringMac(text, userId, master.subarray(0, 32)), JSON.parse(text).mac)
  }
})

t.test('a keyring with a changed field, of another user or of other keys, is not authentic', async (t) => {
  for (const known of [vector, rotated]) {
    const keys = deriveKeys(fromHex(known.master_key))
    const whole = { ...JSON.parse(known.keyring), mac: known.mac }
    const tried: string[] = []
    for (const part of ['passphrase', 'recovery', 'older'] as const) {
      for (const [name, value] of Object.entries((whole[part] ?? {}) as Record<string, string | number>)) {
        if (name === 'kdf') continue
        const other = typeof value === 'number' ? value + 1 : (value[0] === 'A' ? 'B' : 'A') + value.slice(1)
        const text = JSON.stringify({ ...whole, [part]: { ...whole[part], [name]: other } })
        t.throws(() => isAuthentic(text, known.user_id, keys), altering, `${part}.${name}`)
        tried.push(name)
      }
    }
    t.equal(tried.length, known === vector ? 8 : 10)
    const text = JSON.stringify(whole)
    t.throws(() => isAuthentic(text, 'eve', keys), altering)
    t.throws(() => isAuthentic(text.replace(known.mac, `${known.mac.slice(0, 42)}A`), known.user_id, keys), {
      name: 'KeyringError',
    })
  }
  t.throws(() => isAuthentic(withMac, userId, deriveKeys(new Uint8Array(32))), altering, 'keys of another vault')
  t.throws(() => isAuthentic(withMac, userId, deriveKeys(fromHex(rotated.master_key))), fault('keys-replaced'))
})

t.test('a change of the passphrase or code gives no MAC to a keyring with an altered wrap', async (t) => {
  const made = await createKeyring({ userId, passphrase })
  const { recoveryCode, masterKey } = made
  const whole = JSON.parse(made.keyring) as KeyringJson
  const junk = Buffer.alloc(48, 7).toString('base64')
  const badCode = JSON.stringify({ ...whole, recovery: { ...whole.recovery, wrapped_key: junk } })
  const badPassphrase = JSON.stringify({ ...whole, passphrase: { ...whole.passphrase, wrapped_key: junk } })
  t.same(await openKeyring(badCode, { userId, passphrase }), masterKey, 'the passphrase still opens it')
  await t.rejects(changePassphrase(badCode, { userId, passphrase }, 'another', { fewestGuesses: 0 }), altering)
  await t.rejects(newRecoveryCode(badPassphrase, { userId, recoveryCode }), altering)
})

t.test('after a change of the passphrase the old one opens nothing; master key and recovery code stay', async (t) => {
  // One more space makes a different passphrase.
  const changed = await changePassphrase(keyring, { userId, recoveryCode }, `${passphrase} `)
  await t.rejects(openKeyring(changed, { userId, passphrase }), fault('wrong-passphrase', /passphrase/))
  t.same(await openKeyring(changed, { userId, recoveryCode }), masterKey)
  const [before, after] = [JSON.parse(keyring) as KeyringJson, JSON.parse(changed) as KeyringJson]
  t.same(after.recovery, before.recovery)
  t.not(after.passphrase.salt, before.passphrase.salt)
  const again = await changePassphrase(changed, { userId, passphrase: `${passphrase} ` }, 'another passphrase')
  t.same(await openKeyring(again, { userId, passphrase: 'another passphrase' }), masterKey)
})

t.test('after a new recovery code the old one opens nothing; master key and passphrase stay', async (t) => {
  const replaced = await newRecoveryCode(keyring, { userId, recoveryCode })
  await t.rejects(openKeyring(replaced.keyring, { userId, recoveryCode }), fault('wrong-recovery-code'))
  t.same(await openKeyring(replaced.keyring, { userId, recoveryCode: replaced.recoveryCode }), masterKey)
  const [before, after] = [JSON.parse(keyring) as KeyringJson, JSON.parse(replaced.keyring) as KeyringJson]
  t.same(after.passphrase, before.passphrase)
  t.not(after.recovery.nonce, before.recovery.nonce)
})

t.test('a wrong recovery code and a mistyped one have different errors', async (t) => {
  const wrong = fault('wrong-recovery-code', /recovery code/)
  await t.rejects(openKeyring(keyring, { userId, recoveryCode: '0'.repeat(27) }), wrong)
  const typo = recoveryCode.replace('5', '6')
  await t.rejects(openKeyring(keyring, { userId, recoveryCode: typo }), fault('mistyped-recovery-code', /typing/))
})

t.test('an empty passphrase is refused, when making, opening and changing', async (t) => {
  const empty = fault('empty-passphrase')
  await t.rejects(createKeyring({ userId, passphrase: '' }), empty)
  await t.rejects(openKeyring(keyring, { userId, passphrase: '' }), empty)
  await t.rejects(changePassphrase(keyring, { userId, recoveryCode }, ''), empty)
})

t.test('a new passphrase that is easy to guess is refused, unless an app lowers the limit', async (t) => {
  const current = { userId, recoveryCode }
  const weak = { name: 'WeakPassphraseError', fault: 'weak-passphrase', advice: [/^Add more words/] }
  await t.rejects(createKeyring({ userId, passphrase: 'a' }), weak)
  await t.rejects(changePassphrase(keyring, current, 'a'), weak)
  await t.rejects(rotateKeyring(keyring, current, 'a'), weak)

  const changed = await changePassphrase(keyring, current, 'a', { fewestGuesses: 10 })
  t.same(await openKeyring(changed, { userId, passphrase: 'a' }), masterKey)
  await t.rejects(createKeyring({ userId, passphrase: 'correct horse', fewestGuesses: 1e10 }), { name: weak.name })
  await t.rejects(createKeyring({ userId, passphrase: 'Correct horse battery staple' }), { name: weak.name })
})

t.test("the person's name and address do not make a passphrase stronger", async (t) => {
  const passphrase = 'lovelace-1815'
  const { guesses, level } = await judgePassphrase(passphrase)
  t.ok(guesses >= 1e8 && level !== 'refused')
  t.equal((await judgePassphrase(passphrase, ['Ada Lovelace <ada@example.org>'])).level, 'refused')
})

t.test('the keyring of another user is refused', async (t) => {
  const other = '0199f6a0-1c00-7000-8000-0000000000ab'
  const { keyring, recoveryCode } = await createKeyring({ userId, passphrase })
  await t.rejects(openKeyring(keyring, { userId: other, passphrase }), fault('wrong-passphrase'))
  await t.rejects(openKeyring(keyring, { userId: other, recoveryCode }), fault('wrong-recovery-code'))
  await t.rejects(openKeyring(keyring, { userId: 'a\0argon2id', passphrase }), TypeError)
})

t.test('altered parameters within the bounds are refused, also those on which the key does not depend', async (t) => {
  deriveInFull(t)
  type Change = (keyring: KeyringJson) => void
  const unbound: Change = (keyring) => {
    const key = passphraseKey(passphrase, keyring.passphrase)
    const nonce = Buffer.from(keyring.passphrase.nonce, 'base64')
    keyring.passphrase.wrapped_key = seal(key, nonce, '', masterKey).toString('base64')
  }
  const changes: Change[] = [
    unbound,
    (keyring) => (keyring.passphrase.salt = Buffer.alloc(16).toString('base64')),
    (keyring) => (keyring.passphrase.iterations = 4),
    (keyring) => (keyring.passphrase.memory_kib = 65_537),
    (keyring) => (keyring.passphrase.wrapped_key = keyring.recovery.wrapped_key),
    (keyring) => (keyring.passphrase.nonce = keyring.recovery.nonce),
  ]
  for (const change of changes.slice(0, depth(1, changes.length))) {
    await t.rejects(openKeyring(altered(change), { userId, passphrase }), fault('wrong-passphrase'))
  }
})

t.test('weak and excessive parameters are refused before a key is derived, and the error names them', async (t) => {
  const weak = { memory_kib: 65_535, iterations: 2, parallelism: 0 }
  const excessive = { memory_kib: 2 ** 31, iterations: 1_000_000, parallelism: 255 }
  for (const name of ['memory_kib', 'iterations', 'parallelism'] as const) {
    const message = new RegExp(name)
    const weaker = altered((keyring) => (keyring.passphrase[name] = weak[name]))
    const heavier = altered((keyring) => (keyring.passphrase[name] = excessive[name]))
    await t.rejects(openKeyring(weaker, { userId, passphrase }), fault('weak-kdf', message))
    await t.rejects(openKeyring(weaker, { userId, recoveryCode }), fault('weak-kdf', message))
    await t.rejects(openKeyring(heavier, { userId, passphrase }), fault('excessive-kdf', message))
    await t.rejects(changePassphrase(heavier, { userId, recoveryCode }, 'new'), fault('excessive-kdf', message))
  }
})

t.test('an unknown format version is refused, and the error names it', async (t) => {
  const later = altered((keyring) => (keyring.format = 'ebs/keyring/3'))
  await t.rejects(openKeyring(later, { userId, passphrase }), fault('unknown-version', /ebs\/keyring\/3/))
})

t.test('text that is not a keyring is refused, and the error names the faulty part', async (t) => {
  const refused = async (text: string, message: RegExp) =>
    t.rejects(openKeyring(text, { userId, recoveryCode }), fault('malformed', message), String(message))
  const refusedWith = (change: Parameters<typeof altered>[0], message: RegExp) => refused(altered(change), message)
  await refused('', /not JSON/)
  await refused('{', /not JSON/)
  await refused('null', /the keyring is not an object/)
  await refused('[]', /no format/)
  await refused(' '.repeat(16_385), /16384 characters/)
  await refused(JSON.stringify({ format: 'ebs/keyring/1' }), /passphrase is not an object/)
  await refusedWith((keyring) => (keyring.passphrase.kdf = 'pbkdf2'), /passphrase.kdf/)
  await refusedWith((keyring) => (keyring.recovery.kdf = 'none'), /recovery.kdf/)
  await refusedWith((keyring) => (keyring.passphrase.iterations = 3.5), /passphrase.iterations/)
  await refusedWith((keyring) => (keyring.passphrase.salt = 'AAAA'), /passphrase.salt is not 16 bytes/)
  await refusedWith((keyring) => (keyring.recovery.nonce += ' '), /recovery.nonce/)
  await refusedWith((keyring) => (keyring.recovery.wrapped_key = ''), /recovery.wrapped_key is not 48 bytes/)
})

const { recovery_codes: codes } = readVectors<{ recovery_codes: { code: string; written: string }[] }>('keyring')
const bytes16 = fc.uint8Array({ minLength: 16, maxLength: 16 })
const mistyped = { name: 'KeyringError', fault: 'mistyped-recovery-code' }
const SYMBOLS = '0123456789ABCDEFGHJKMNPQRSTVWXYZ*~$=U'

for (const { code, written } of codes) {
  t.test(`vector: the recovery code ${written}`, async (t) => {
    t.equal(formatRecoveryCode(fromHex(code)), written)
    t.same(Buffer.from(parseRecoveryCode(written)).toString('hex'), code)
    t.same(recoveryBytes(written).toString('hex'), code)
  })
}

t.test('a code has nine groups of three, and every 128-bit value reads back from its code', async () => {
  fc.assert(
    fc.property(bytes16, (bytes) => {
      const code = formatRecoveryCode(bytes)
      assert.match(code, /^[0-7][0-9A-HJKMNP-TV-Z]{2}(-[0-9A-HJKMNP-TV-Z]{3}){7}-[0-9A-HJKMNP-TV-Z]{2}[0-9A-Z*~$=]$/)
      assert.deepEqual(parseRecoveryCode(code), bytes)
    }),
  )
})

t.test('in a typed code, case, separators, look-alikes and full-width forms do not matter', async (t) => {
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

t.test('the message about a mistyped code names the mistake', async (t) => {
  const code = '5PB-TKV-XSC-99W-9TN-FGQ-953-AGH-C1='
  t.throws(() => parseRecoveryCode(''), { ...mistyped, message: /0 characters instead of 27/ })
  t.throws(() => parseRecoveryCode(code.slice(1)), { ...mistyped, message: /26 characters instead of 27/ })
  t.throws(() => parseRecoveryCode(`${code}1`), { ...mistyped, message: /28 characters instead of 27/ })
  t.throws(() => parseRecoveryCode(code.replace('5', 'U')), { ...mistyped, message: /cannot contain "U"/ })
  t.throws(() => parseRecoveryCode(code.replace('5', '6')), { ...mistyped, message: /last character/ })
  t.throws(() => parseRecoveryCode(code.replace('5', 'ü')), { ...mistyped, message: /cannot contain "Ü"/ })
})

t.test('a number above 128 bits with a right check symbol is not a recovery code', async (t) => {
  const check = SYMBOLS.charAt(Number(2n ** 128n % 37n))
  t.throws(() => parseRecoveryCode(`8${'0'.repeat(25)}${check}`), mistyped)
})

const vectors = readVectors<{
  cases: (SubKeys & { label: string; master_key: string })[]
  imported: { master_key: string; cases: (Likeness & { label: string; id: string })[] }
}>('keys')

for (const { label, id, ...likeness } of vectors.imported.cases) {
  t.test(`the id of an imported bookmark: ${label}`, async (t) => {
    t.equal(deriveId(deriveKeys(fromHex(vectors.imported.master_key)), likeness), id)
    t.equal(
      deriveId(deriveKeys(fromHex(vectors.imported.master_key).subarray(32)), likeness),
      id,
      'before the rotation',
    )
  })
}

for (const { label, master_key, ...expected } of vectors.cases) {
  t.test(`subkeys of the master key ${label}`, async (t) => {
    const { recordKey, hashKey, exportKey, keyringKey, idKey } = deriveKeys(fromHex(master_key))
    const hex = [recordKey, hashKey, exportKey, keyringKey, idKey].map((key) => Buffer.from(key).toString('hex'))
    const { record_key, hash_key, export_key, keyring_key, id_key } = expected
    t.same(hex, [record_key, hash_key, export_key, keyring_key, id_key])
    t.same(subKeys(fromHex(master_key)), expected, 'OpenSSL derives the same')
    t.equal(new Set(hex).size, 5)
  })
}

t.test('a master key of a wrong length is refused, and the error names it', async (t) => {
  for (const length of [0, 16, 31, 33]) t.throws(() => deriveKeys(new Uint8Array(length)), /masterKey/)
})
