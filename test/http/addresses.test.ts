import t, { type Test } from 'tap'
import { buildApp } from '../support/app.ts'

/** Returns a function that sends these X-Forwarded-For headers and returns the logged addresses and warnings. */
async function open(t: Test, TRUST_PROXY: string, LOG_ADDRESSES = 'full') {
  const { call, log } = await buildApp(t, { TRUST_PROXY, LOG_ADDRESSES })
  return async (headers: string[], from = '127.0.0.1') => {
    const before = log.length
    for (const header of headers) await call('GET', '/api/v1/health', { from, headers: { 'x-forwarded-for': header } })
    const lines = log.slice(before).map((line) => JSON.parse(line) as { msg: string; address?: string; level: number })
    const addresses = lines.filter(({ msg }) => msg === 'request').map(({ address }) => address)
    return {
      addresses: [...new Set(addresses)],
      warnings: lines.filter(({ level, msg }) => level === 40 && /X-Forwarded-For/.test(msg)).length,
    }
  }
}

const some = (form: (index: number) => string) => [1, 2, 3, 4].map(form)

t.test('An address with a port, in brackets or within IPv6 counts as the plain address', async (t) => {
  const forms: [string, string[], string][] = [
    ['IPv4 with a port', some((index) => `203.0.113.8:${40_000 + index}`), '203.0.113.8'],
    ['IPv6 with a port', some((index) => `[2001:db8::7]:${40_000 + index}`), '2001:db8::7'],
    ['IPv6 in brackets, or not', ['[2001:db8::7]', '2001:DB8:0::7'], '2001:db8::7'],
    ['IPv4 within IPv6', ['::ffff:203.0.113.9', '[::ffff:cb00:7109]:1'], '203.0.113.9'],
    ['a zone', some((index) => `fe80::1%br-${index}`), 'fe80::1'],
    [
      'entries sent by the caller come before it',
      some((index) => `198.51.100.${index}, junk, 203.0.113.8:${index}`),
      '203.0.113.8',
    ],
  ]
  for (const trusted of ['1', '127.0.0.0/8']) {
    const send = await open(t, trusted)
    for (const [name, headers, address] of forms)
      t.same(await send(headers), { addresses: [address], warnings: 0 }, `${name}, TRUST_PROXY=${trusted}`)
  }
})

t.test('An entry that is not an address counts as the proxy that wrote it, and is logged once', async (t) => {
  const forms = [
    ...some((index) => `unknown-${index}`),
    ...some((index) => `198.51.100.${index},`),
    ...some((index) => `198.51.100.${index}, ${index}`),
    ...some((index) => `198.51.100.${index}, unknown`),
  ]
  for (const trusted of ['1', '2', '127.0.0.1']) {
    const send = await open(t, trusted)
    t.same(await send(forms), { addresses: ['127.0.0.1'], warnings: 1 }, `TRUST_PROXY=${trusted}`)
  }
})

t.test('A trusted proxy is recognized in every form of its address', async (t) => {
  const callers = some((index) => `203.0.113.${index}`)
  const through = async (trusted: string, proxies: string[], expected: string[]) => {
    const send = await open(t, trusted)
    for (const proxy of proxies) {
      const { addresses } = await send(callers.map((caller) => `${caller}, ${proxy}`))
      t.same(addresses, expected, `${proxy}, TRUST_PROXY=${trusted}`)
    }
  }
  const forms = ['10.0.0.2', '10.0.0.2:8080', '::ffff:10.0.0.2', '[::ffff:10.0.0.2]:80']
  for (const trusted of ['2', '127.0.0.1,10.0.0.0/8', '127.0.0.1,::ffff:10.0.0.0/104', '127.0.0.1,::ffff:10.0.0.2'])
    await through(trusted, forms, callers)
  for (const trusted of ['1', '127.0.0.1,10.1.0.0/16', '127.0.0.1,::/1']) await through(trusted, forms, ['10.0.0.2'])
  await through('127.0.0.1,2001:db8::/64', ['2001:db8::5', '[2001:db8::5]:443'], callers)
  const send = await open(t, 'fe80::5%eth0')
  t.same((await send(callers, 'fe80::5%eth0')).addresses, callers)
  t.same((await send(callers, 'fe80::5%eth1')).addresses, ['fe80::5'], 'another interface')
})

t.test('With LOG_ADDRESSES=network the log shows the network of each form of address', async (t) => {
  const send = await open(t, '1', 'network')
  const { addresses } = await send(['203.0.113.8:1', '[2001:db8::7]:1', '::ffff:203.0.114.9', 'junk'])
  t.same(addresses, ['203.0.113.0/24', '2001:db8::/64', '203.0.114.0/24', '127.0.0.0/24'])
})
