import assert from 'node:assert/strict'
import * as nodeCrypto from 'node:crypto'
import { xchacha20poly1305 } from '@noble/ciphers/chacha.js'
import fc from 'fast-check'
import t from 'tap'
import { form } from '../../generated/bookmark-form.ts'
import type { EntityType, PlaintextBookmark } from '../../src/client/bookmark.ts'
import { open as openByLibrary, seal as sealBytes } from '../../src/client/crypto/aead.ts'
import { base64ToBytes, bytesToBase64 } from '../../src/client/crypto/base64.ts'
import { deriveKeys } from '../../src/client/crypto/keys.ts'
import { decryptBookmarkAside, recordSealer } from '../../src/client/crypto/many-records.ts'
import type { NodeCrypto } from '../../src/client/crypto/node-crypto.ts'
import { openWith } from '../../src/client/crypto/open-chunk.ts'
import {
  decryptBookmark,
  encryptBookmark,
  openRecord as openBytes,
  SALT_BYTES,
  type SealedRecord,
  sealJson,
  toJson,
} from '../../src/client/crypto/record.ts'
import { depth } from '../support/depth.ts'
import { fromHex, openRecord, sealRecord, subKeys } from './second-implementation.ts'
import { readVectors } from './vectors.ts'

interface Case {
  label: string
  entity_type: EntityType
  bookmark: PlaintextBookmark
  json: string
  nonce: string
  encrypted_data: string
  data_hash: string
}

interface DeviceNameCase {
  device_id: string
  json: string
  nonce: string
  encrypted_name: string
}

const vectors = readVectors<{ master_key: string; cases: Case[]; device_name: DeviceNameCase }>('record')
const masterKey = fromHex(vectors.master_key)
const keys = deriveKeys(masterKey)
const fault = (fault: string, message = /./) => ({ name: 'RecordError', fault, message })
const bookmark: PlaintextBookmark = { id: 'a', title: 'Example', url: 'https://example.org/', source: 'bookmarks' }

/** A correctly encrypted record with this content, valid or not. */
function sealed(id: string, json: string) {
  return { id, ...sealRecord(subKeys(masterKey), 'bookmark', id, json, new Uint8Array(24)) }
}

for (const { label, entity_type: type, bookmark, json, nonce, ...record } of vectors.cases) {
  t.test(`vector: ${label}`, async (t) => {
    const { id } = bookmark
    t.same(decryptBookmark(keys, { id, ...record }, type), bookmark)
    t.same(sealRecord(subKeys(masterKey), type, id, json, fromHex(nonce)), record, 'libsodium seals to the same bytes')
    const ours = encryptBookmark(keys, bookmark, type)
    t.equal(ours.data_hash, record.data_hash, 'the hash depends on nothing random')
    t.equal(openRecord(subKeys(masterKey), type, id, ours).trimEnd(), json, 'libsodium opens ours')
    t.not(ours.encrypted_data, record.encrypted_data)
    const [aside] = (await (await recordSealer(keys, type))([[id, toJson(bookmark)]])) as SealedRecord[]
    t.equal(aside?.data_hash, record.data_hash, 'the platform computes the same hash')
    t.same(decryptBookmark(keys, { id, ...(aside as SealedRecord) }, type), bookmark)
  })
}

t.test("vector: a device's name opens only for its device", async (t) => {
  const { device_id: id, json, nonce, encrypted_name: encrypted_data } = vectors.device_name
  t.equal(sealRecord(subKeys(masterKey), 'device', id, json, fromHex(nonce)).encrypted_data, encrypted_data)
  const opened = openBytes(keys, { id, encrypted_data, data_hash: '' }, 'device').subarray(SALT_BYTES)
  t.equal(Buffer.from(opened).toString().trimEnd(), json)
  const ours = sealJson(keys, id, json, 'device')
  t.equal(openRecord(subKeys(masterKey), 'device', id, ours).trimEnd(), json, 'libsodium opens ours')
  for (const type of ['bookmark', 'history', 'group'] as const)
    t.throws(() => openBytes(keys, { id, ...ours }, type), fault('altered'), 'a name is no record')
})

t.test('any bookmark is unchanged after encryption and decryption, also its unknown fields', async () => {
  const id = fc.string({ minLength: 1, maxLength: 128 }).filter((id) => id !== '.' && id !== '..')
  const unknown = fc.string({ unit: 'binary' }).filter((name) => !Object.hasOwn(form, name))
  const others = fc.dictionary(unknown, fc.jsonValue())
  const strings = fc.string({ unit: 'binary' })
  fc.assert(
    fc.property(id, others, strings, (id, others, title) => {
      // JSON has no -0.
      const plain = JSON.parse(JSON.stringify({ ...others, id, title, source: 'bookmarks' })) as PlaintextBookmark
      assert.deepEqual(decryptBookmark(keys, { id, ...encryptBookmark(keys, plain) }), plain)
    }),
  )
})

t.test('data_hash is equal on all devices, whatever the order of fields, and differs between users', async (t) => {
  const reordered = Object.fromEntries(
    Object.entries({ ...bookmark, extra: { b: 1, a: 2 } }).reverse(),
  ) as PlaintextBookmark
  const a = encryptBookmark(keys, { ...bookmark, extra: { a: 2, b: 1 } })
  const b = encryptBookmark(keys, reordered)
  t.equal(a.data_hash, b.data_hash)
  t.match(a.data_hash, /^[0-9a-f]{64}$/)
  t.not(a.encrypted_data, b.encrypted_data)
  const otherUser = deriveKeys(new Uint8Array(32))
  t.not(encryptBookmark(otherUser, bookmark).data_hash, encryptBookmark(keys, bookmark).data_hash)
})

t.test('a record under another id, as another entity type or of another user is refused', async (t) => {
  const record = encryptBookmark(keys, bookmark)
  t.same(decryptBookmark(keys, { id: 'a', ...record }), bookmark)
  t.throws(() => decryptBookmark(keys, { id: 'b', ...record }), fault('altered', /Record b .*another id/))
  t.throws(() => decryptBookmark(keys, { id: 'a', ...record }, 'history'), fault('altered', /as history/))
  t.throws(() => decryptBookmark(keys, { id: 'a', ...encryptBookmark(keys, bookmark, 'group') }), fault('altered'))
  const otherUser = deriveKeys(new Uint8Array(32))
  t.throws(() => decryptBookmark(otherUser, { id: 'a', ...record }), fault('altered', /another key/))
})

t.test('an altered ciphertext is refused, whichever byte it is', async (t) => {
  const record = encryptBookmark(keys, bookmark)
  const bytes = Buffer.from(record.encrypted_data, 'base64')
  for (let index = 1; index < bytes.length; index++) {
    const altered = Buffer.from(bytes)
    altered.writeUInt8(bytes.readUInt8(index) ^ (1 << (index % 8)), index)
    assert.throws(
      () => decryptBookmark(keys, { id: 'a', ...record, encrypted_data: altered.toString('base64') }),
      fault('altered'),
    )
  }
  const cut = bytes.subarray(0, -1).toString('base64')
  t.throws(() => decryptBookmark(keys, { id: 'a', ...record, encrypted_data: cut }), fault('altered', /Record a/))
})

t.test('an altered hash is refused', async (t) => {
  const record = { id: 'a', ...encryptBookmark(keys, bookmark) }
  const other = encryptBookmark(keys, { ...bookmark, title: 'Else' }).data_hash
  for (const data_hash of [other, '', record.data_hash.toUpperCase(), `${record.data_hash}0`]) {
    t.throws(() => decryptBookmark(keys, { ...record, data_hash }), fault('altered-hash', /Record a .*data_hash/))
    await t.rejects(decryptBookmarkAside(keys, { ...record, data_hash }), fault('altered-hash', /Record a .*data_hash/))
  }
  t.same(await decryptBookmarkAside(keys, record), bookmark)
})

t.test('a correctly encrypted record with another id or without a bookmark is refused', async (t) => {
  t.throws(() => decryptBookmark(keys, sealed('a', JSON.stringify({ ...bookmark, id: 'b' }))), fault('other-id'))
  for (const json of ['null', '1', '[]', '{}', '{"title":""}', 'x', '', '\ufeff{"id":"a"}']) {
    t.throws(() => decryptBookmark(keys, sealed('a', json)), fault('malformed', /Record a does not contain/), json)
  }
  t.equal(decryptBookmark(keys, sealed('a', JSON.stringify(bookmark))).title, 'Example')
})

t.test('data that are not base64, too short or of another version are refused', async (t) => {
  const { encrypted_data, data_hash } = encryptBookmark(keys, bookmark)
  const opening = (encrypted_data: string) => () => decryptBookmark(keys, { id: 'a', encrypted_data, data_hash })
  const twisted = encrypted_data.replace(/.(?==*$)/, (digit) => (digit === 'B' ? 'C' : 'B'))
  for (const text of ['', '*', 'AQ', ` ${encrypted_data}`, encrypted_data.slice(0, -1), `${encrypted_data}=`, 'AR==']) {
    t.throws(opening(text), fault('malformed', /base64/), text.slice(0, 10))
  }
  t.throws(opening(twisted), { name: 'RecordError' }, 'changed bits beyond the last byte are noticed')
  for (const text of ['AQ==', Buffer.alloc(72, 1).toString('base64')]) {
    t.throws(opening(text), fault('malformed', /too short/), text)
  }
  const version3 = Buffer.from(encrypted_data, 'base64').fill(3, 0, 1).toString('base64')
  t.throws(opening(version3), fault('unknown-version', /version 3/))
  t.throws(opening('AA=='), fault('unknown-version', /version 0/))
})

t.test('a record is padded to 256 bytes, and takes a bookmark of at most 196,352 bytes', async (t) => {
  const frame = JSON.stringify({ ...bookmark, title: '' }).length
  const titled = (letters: number, others: number) => ({
    ...bookmark,
    title: 'x'.repeat(others) + '\u00e9'.repeat(letters),
  })
  for (const letters of [1, 2, 100, 130, 255, 256, 300]) {
    for (let bytes = 766; bytes <= 770; bytes++) {
      const one = titled(letters, bytes - frame - 2 * letters)
      const record = encryptBookmark(keys, one)
      t.same(decryptBookmark(keys, { id: 'a', ...record }), one)
      const binary = Buffer.from(record.encrypted_data, 'base64').length
      t.equal(binary - 1 - 24 - 32 - 16, bytes <= 768 ? 768 : 1024, `${letters} letters, ${bytes} bytes`)
    }
  }
  const largest = titled(90_000, 196_352 - frame - 180_000)
  const sealed = encryptBookmark(keys, largest)
  t.ok(sealed.encrypted_data.length <= 262_144, `${sealed.encrypted_data.length}`)
  t.same(decryptBookmark(keys, { id: 'a', ...sealed }), largest)
  const larger = { ...largest, title: `${largest.title}x` }
  t.throws(() => encryptBookmark(keys, larger), fault('too-large', /Bookmark a .*196353 bytes; the limit is 196352/))
})

t.test('an id that the service would not accept is refused', async (t) => {
  for (const id of ['', 'a\0b', 'é', 'x'.repeat(129), 'a\n', undefined as unknown as string]) {
    t.throws(() => encryptBookmark(keys, { ...bookmark, id }), fault('invalid-id'), JSON.stringify(id))
    t.throws(() => decryptBookmark(keys, sealed(id, '{}')), fault('invalid-id'), JSON.stringify(id))
  }
})

t.test('a bookmark whose fields do not have the documented types is not encrypted', async (t) => {
  const cycle: Record<string, unknown> = {}
  cycle.itself = [cycle]
  const malformed: Record<string, unknown[]> = {
    title: [undefined, 5, null],
    source: ['weird', undefined],
    url: [['x']],
    tags: ['abc', [1], { 0: 'a' }],
    owner: [{ login: 1 }, []],
    type: ['folder'],
    stargazers_count: [Number.NaN, '1'],
    attributes: [{ a: 1 }],
    position: [1],
    extra: [new Map(), { deep: [new Date()] }, { n: 1n }, cycle, 'x'],
    unknown: [Number.POSITIVE_INFINITY, () => 1, [Symbol.iterator], new Set()],
  }
  for (const [name, values] of Object.entries(malformed)) {
    const message = new RegExp(`Bookmark a: ${name} is not what the contract says`)
    for (const value of values) {
      t.throws(() => encryptBookmark(keys, { ...bookmark, [name]: value }), fault('malformed', message), name)
    }
  }
})

t.test('any JSON value is encrypted unchanged, also in unknown fields and with half a surrogate pair', async (t) => {
  const extra = { yes: true, none: null, deep: [[{ n: -1.5 }]], constructor: 'c', left: undefined }
  const { left, ...kept } = extra
  const fields = { description: null, title: 'a\ud800b', extra, unknown: [1, 'x', null], url: undefined as never }
  const opened = decryptBookmark(keys, { id: 'a', ...encryptBookmark(keys, { ...bookmark, ...fields }) })
  const { url, ...rest } = { ...bookmark, ...fields }
  t.strictSame(opened, { ...rest, extra: kept })
})

t.test('reading a record leaves out the malformed fields of another client, and only these', async (t) => {
  const read = (fields: object) => decryptBookmark(keys, sealed('a', JSON.stringify({ id: 'a', ...fields })))
  t.same(read({ title: 5, tags: 'abc', url: null, unknown: { tags: 5 } }), {
    ...{ id: 'a', title: '', source: 'bookmarks', unknown: { tags: 5 } },
  })
  const fine = { id: 'a', title: 'Example', source: 'stars', owner: { login: 'a', id: 7 }, description: null }
  t.same(read({ ...fine, stargazers_count: '12', attributes: { a: 1 }, extra: [] }), fine)
})

t.test('records encrypted together have different nonces, and an invalid one gets its error', async (t) => {
  const ids = ['a', '.', 'b', 'c']
  const list = ids.map((id) => [id, toJson({ ...bookmark, id })] as const)
  const sealed = await (await recordSealer(keys, 'bookmark'))(list)
  t.match(sealed[1], fault('invalid-id'))
  const records = ids.flatMap((id, index) => (id === '.' ? [] : { id, ...(sealed[index] as SealedRecord) }))
  for (const record of records) t.same(decryptBookmark(keys, record), { ...bookmark, id: record.id })
  const nonces = records.map(({ encrypted_data }) => Buffer.from(encrypted_data, 'base64').toString('hex', 1, 25))
  t.equal(new Set(nonces).size, records.length)
})

t.test('nothing is encrypted after the keys were erased, not even if it was begun before', async (t) => {
  const erased = deriveKeys(masterKey)
  const sealing = (await recordSealer(erased, 'bookmark'))([[bookmark.id, toJson(bookmark)]])
  for (const key of Object.values(erased)) key.fill(0)
  await t.rejects(sealing, TypeError)
  t.throws(() => encryptBookmark(erased, bookmark), TypeError)
})

const bytes = (maxLength: number) => fc.uint8Array({ maxLength })
const ofLength = (length: number) => fc.uint8Array({ minLength: length, maxLength: length })

const ways = { 'the client alone': openByLibrary, "with Node's cipher": openWith(nodeCrypto as NodeCrypto) }

t.test("a file's chunks also open if Node's crypto lacks the cipher, as in Bun and Electron", async (t) => {
  const node = process.getBuiltinModule('node:crypto')
  t.intercept(node, 'getCiphers', { value: () => ['aes-256-gcm'] })
  const createDecipheriv = () => {
    throw new Error('Unknown cipher')
  }
  t.intercept(node, 'createDecipheriv', { value: createDecipheriv })
  const chunks = new URL('../../src/client/crypto/open-chunk.ts', import.meta.url)
  const { openChunk } = (await import(`${chunks}?as-in-bun`)) as { openChunk: typeof openByLibrary }
  const [key, nonce, text] = [new Uint8Array(32), new Uint8Array(24), Uint8Array.of(1, 2, 3)]
  t.same(openChunk(key, nonce, new Uint8Array(0), sealBytes(key, nonce, new Uint8Array(0), text)), text)
})

for (const [name, open] of Object.entries(ways)) {
  t.test(`${name}: opens data of any length that the library has encrypted`, async () => {
    fc.assert(
      fc.property(ofLength(32), ofLength(24), bytes(80), bytes(400), (key, nonce, associatedData, plaintext) => {
        const sealed = xchacha20poly1305(key, nonce, associatedData).encrypt(plaintext)
        assert.deepEqual(open(key, nonce, associatedData, sealed), plaintext)
        assert.deepEqual(sealBytes(key, nonce, associatedData, plaintext), sealed)
      }),
    )
  })

  t.test(`${name}: refuses another key, nonce, associated data, ciphertext or tag, and shortened ones`, async () => {
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
          const parts = { key, nonce, associatedData, sealed: sealBytes(key, nonce, associatedData, text) }
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
          // Moving a byte from the associated data to the ciphertext leaves their concatenation unchanged.
          const [moved, rest] = [
            associatedData.subarray(0, -1),
            Uint8Array.of(associatedData.at(-1) ?? 0, ...parts.sealed),
          ]
          assert.equal(open(key, nonce, moved, rest), undefined)
        },
      ),
    )
  })
}

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
