import t from 'tap'
import { buildApp } from '../support/app.ts'
import { keyringOf } from '../support/keyrings.ts'

const path = '/api/v1/account/keyring'

t.test(
  'When two devices replace a keyring at once, one gets 409, and the keyring of the other is stored',
  async (t) => {
    const app = await buildApp(t)
    for (let round = 0; round < 10; round++) {
      const ada = await app.user(`ada ${round}`)
      const put = (name: string, revision: number) =>
        ada.call('PUT', path, { body: { keyring: keyringOf(name), revision } })
      t.equal((await put('first', 1)).status, 200)
      const answers = await Promise.all([put('of the laptop', 2), put('of the phone', 2)])
      t.same(answers.map(({ status }) => status).sort(), [200, 409])
      const [winner] = answers.filter(({ status }) => status === 200)
      t.same((await ada.call('GET', path)).body, winner?.body)
      const { versions } = (await ada.call('GET', `${path}/versions`)).body
      t.match(versions, [{ revision: 1 }], 'only the first was replaced')
      t.equal(versions.length, 1)
    }
  },
)
