/** The forms that the service accepts as a keyring. keyrings.test.ts tests stored keyrings. */
import t from 'tap'
import type { TestUser } from '../support/app.ts'
import { sharedUser } from '../support/shared-app.ts'
import keyring1 from '../vectors/keyring.json' with { type: 'json' }
import keyring2 from '../vectors/rotated.json' with { type: 'json' }

const path = '/api/v1/account/keyring'
const macs = [keyring1, keyring2].map(({ keyring, mac }) => JSON.stringify({ ...JSON.parse(keyring), mac }))

async function put({ call }: TestUser, keyring: string, revision: number) {
  const { status, body } = await call('PUT', path, { body: { keyring, revision } })
  return [status, body]
}

t.test('Real keyrings of both formats are accepted, with a MAC and without', async (t) => {
  const eve = await sharedUser()
  for (const [index, keyring] of [keyring1.keyring, keyring2.keyring, ...macs].entries())
    t.equal((await put(eve, keyring, index + 1))[0], 200, keyring.slice(0, 40))
})

const refused = [400, { error: 'Invalid request body' }]

t.test('A keyring is refused if any field is missing or has a wrong type, length or range', async (t) => {
  const mia = await sharedUser()
  for (const whole of macs.map((text) => JSON.parse(text))) {
    for (const [faulty, what] of faultsOf(whole)) t.same(await put(mia, JSON.stringify(faulty), 1), refused, what)
  }
  for (const text of ['x', '{}', '[]', 'null', '"ebs/keyring/1"', '{"format":"ebs/keyring/1"', '['.repeat(16_384)])
    t.same(await put(mia, text, 1), refused, text.slice(0, 20))
  t.equal((await mia.call('GET', path)).status, 404)
})

/** Copies of the value that each have one fault. */
function* faultsOf(whole: object, names: string[] = []): Generator<[object, string]> {
  for (const [name, value] of Object.entries(whole)) {
    const at = [...names, name].join('.')
    const odd: unknown[] = [undefined, null, true, [], typeof value === 'string' ? 5 : 'x']
    if (typeof value === 'string') odd.push('', `${value}A`, value.slice(1), `${value.slice(0, -1)}é`, ` ${value}`)
    if (typeof value === 'number') odd.push(0, -1, 2 ** 31, value + 0.5)
    // `mac` may be missing, because earlier clients write none.
    if (name === 'mac') odd.shift()
    for (const other of odd) yield [{ ...whole, [name]: other }, `${at}: ${JSON.stringify(other)}`]
    if (typeof value !== 'object') continue
    for (const [inner, what] of faultsOf(value, [...names, name])) yield [{ ...whole, [name]: inner }, what]
  }
}
