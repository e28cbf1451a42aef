import { randomBytes } from 'node:crypto'
import t from 'tap'
import { type Binding, createSeal } from '../src/service/seal/seal.ts'

const [old, now] = [randomBytes(32), randomBytes(32)]
const binding: Binding = { purpose: 'provider-token', userId: 'ada', rowId: 'login' }
const value = Buffer.from('a secret')

t.test('A sealed value does not open in another row, for another user or for another purpose', async (t) => {
  const seal = createSeal([now])
  const sealed = seal.seal(value, binding)
  t.strictSame(Buffer.from(seal.open(sealed, binding) ?? []), value)
  const elsewhere: Partial<Binding>[] = [
    { rowId: 'another login' },
    { userId: 'bob' },
    { purpose: 'export-key' },
    { userId: '', rowId: 'ada' },
  ]
  for (const other of elsewhere) t.equal(seal.open(sealed, { ...binding, ...other }), null, JSON.stringify(other))
})

t.test('The first key of the list seals, and every key of the list opens', async (t) => {
  const sealed = createSeal([old]).seal(value, binding)
  const both = createSeal([now, old])
  t.strictSame(Buffer.from(both.open(sealed, binding) ?? []), value)
  t.equal(createSeal([now]).open(sealed, binding), null, 'a value does not open if its key is not listed')
  t.equal(createSeal([old]).open(both.seal(value, binding), binding), null, 'not the key that sealed')
})

t.test('An altered or shortened value does not open', async (t) => {
  const seal = createSeal([now])
  const sealed = Buffer.from(seal.seal(value, binding), 'base64url')
  for (let index = 0; index < sealed.length; index++) {
    const altered = Buffer.from(sealed)
    altered.writeUInt8(altered.readUInt8(index) ^ 1, index)
    t.equal(seal.open(altered.toString('base64url'), binding), null, `byte ${index}`)
    t.equal(seal.open(sealed.subarray(0, index).toString('base64url'), binding), null, `${index} bytes`)
  }
})
