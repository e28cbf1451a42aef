import t from 'tap'
import { deriveKeys } from '../../src/client/crypto/keys.ts'
import { fromHex, type SubKeys, subKeys } from './second-implementation.ts'
import { readVectors } from './vectors.ts'

const vectors = readVectors<{ cases: (SubKeys & { label: string; master_key: string })[] }>('keys')

for (const { label, master_key, ...expected } of vectors.cases) {
  t.test(`subkeys of the master key ${label}`, async (t) => {
    const { recordKey, hashKey, exportKey } = deriveKeys(fromHex(master_key))
    const hex = [recordKey, hashKey, exportKey].map((key) => Buffer.from(key).toString('hex'))
    t.same(hex, [expected.record_key, expected.hash_key, expected.export_key])
    t.same(subKeys(fromHex(master_key)), expected, 'OpenSSL derives the same')
    t.equal(new Set(hex).size, 3)
  })
}

t.test('a master key of another length is refused by name', async (t) => {
  for (const length of [0, 16, 31, 33]) t.throws(() => deriveKeys(new Uint8Array(length)), /masterKey/)
})
