import t from 'tap'
import { sharedApp } from '../support/shared-app.ts'

t.test('Requests of one address that arrive at one instant delay those of others by a few, not by all', async (t) => {
  const { call, user } = await sharedApp()
  const [eve, ada] = [await user('eve'), await user('ada')]
  const path = '/api/v1/sync/status'
  let answered = 0
  const sent = (cookie: string, from: string) =>
    call('GET', path, { headers: { cookie }, from }).then(({ status }) => ({ status, before: answered++ }))
  const burst = Array.from({ length: 300 }, () => sent(eve.cookie, '192.0.2.66'))
  const hers = await sent(ada.cookie, '192.0.2.1')
  t.equal(hers.status, 200)
  t.ok(hers.before < 100, `${hers.before} of the burst were answered before it`)
  t.same(new Set((await Promise.all(burst)).map(({ status }) => status)), new Set([200]), 'and none is refused for it')
})

t.test('Of those that wait, each network has its turn; an IPv6 network is one', async (t) => {
  const { call } = await sharedApp()
  const order: string[] = []
  const sent = async (name: string, from: string) => {
    await call('GET', '/api/v1/sync/status', { from })
    order.push(name)
  }
  const burst = Array.from({ length: 200 }, (_, index) => sent('eve', `2001:db8:0:1::${index.toString(16)}`))
  await Promise.all([...burst, sent('ada', '192.0.2.1'), sent('bob', '2001:db8:0:2::1')])
  t.ok(order.indexOf('ada') < 100 && order.indexOf('bob') < 100, `${order.indexOf('ada')}, ${order.indexOf('bob')}`)
})

t.test('One that is refused because too many of its network wait has the headers of every response', async (t) => {
  const { call } = await sharedApp()
  const origin = 'http://127.0.0.1:3000'
  const sent = (path: string) => call('GET', path, { headers: { origin }, from: '192.0.2.77' })
  const burst = Array.from({ length: 600 }, () => sent('/api/v1/sync/status'))
  const monitoring = ['/api/v1/health', '/livez', '/readyz'].map(sent)
  const refused = (await Promise.all(burst)).filter(({ status }) => status === 503)
  t.ok(refused.length > 0)
  t.same(new Set(refused.map(({ headers }) => headers['access-control-allow-origin'])), new Set([origin]))
  t.same(
    (await Promise.all(monitoring)).map(({ status }) => status),
    [200, 200, 200],
    'monitoring is never refused',
  )
})
