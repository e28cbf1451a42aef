import t, { type Test } from 'tap'
import { openProvider } from '../../src/service/provider/openid.ts'
import type { TestApp } from '../support/app.ts'
import { buildApp } from '../support/app.ts'
import { type Browser, openBrowser } from '../support/browser.ts'
import { type SetCookie, setCookies } from '../support/cookies.ts'
import { buildWithMock } from '../support/mock-service.ts'
import { relyingParty, startMock } from '../support/relying-party.ts'

const everywhere = { httponly: true, samesite: 'Lax' }
const secret = { SECRET_KEY: Buffer.alloc(32, 1).toString('base64') }

/** Over https, the prefix keeps other hosts of the domain from setting this cookie (RFC 6265bis, section 4.1.3.2). */
const https: [string, object] = ['__Host-service_login', { path: '/', secure: true }]
const http: [string, object] = ['service_login', { path: '/api/v1/auth' }]

const sync = { PUBLIC_URL: 'https://sync.example', ...secret }
const environments: Record<string, Record<string, string>> = {
  'development over http': {},
  'development over https': { PUBLIC_URL: 'https://localhost:8443' },
  'staging over https': { NODE_ENV: 'staging', ...sync },
  'production over https': { NODE_ENV: 'production', ...sync },
  'production with COOKIE_DOMAIN': { NODE_ENV: 'production', COOKIE_DOMAIN: 'example', ...sync },
}

/** Outside development the issuer must be https: the service starts with one, and then gets a provider over http. */
async function build(t: Test, env: Record<string, string>): Promise<TestApp> {
  if (!env.NODE_ENV) return buildWithMock(t, env)
  const app = await buildApp(t, { OIDC_ISSUER: 'https://127.0.0.1:9', ...env })
  const { issuer } = await startMock(t)
  const provider = openProvider({ ...relyingParty, issuer, redirectUri: `${env.PUBLIC_URL}/api/v1/auth/callback` })
  t.teardown(() => provider.close())
  app.context.provider = provider
  return app
}

for (const [name, env] of Object.entries(environments)) {
  t.test(`Cookie attributes in ${name}`, async (t) => {
    const { call } = await build(t, env)
    const isSecure = name !== 'development over http'
    const login = isSecure ? https : http
    const domain = env.COOKIE_DOMAIN && { domain: env.COOKIE_DOMAIN }
    const shared = { ...(isSecure && { secure: true }), ...domain }
    const browser = openBrowser(call)
    const session = { ...everywhere, path: '/', ...shared }
    const refresh = { ...everywhere, path: '/api/v1/auth', ...shared }
    const steps: [name: string, request: (browser: Browser) => Promise<SetCookie[]>, expected: object[]][] = [
      [
        `login sets ${login[0]}`,
        async (browser) => setCookies(await browser.call('POST', '/api/v1/auth/login', { body: {} })),
        [[login[0], true, { ...everywhere, ...login[1], 'max-age': '600' }]],
      ],
      [
        'the callback sets service_session and service_refresh, nothing else',
        async (browser) => setCookies(await browser.signIn('Ada')),
        [
          ['service_session', true, { ...session, 'max-age': '604800' }],
          ['service_refresh', true, { ...refresh, 'max-age': '2592000' }],
        ],
      ],
      [
        'refresh sets only service_session',
        async (browser) => setCookies(await browser.call('POST', '/api/v1/auth/refresh')),
        [['service_session', true, { ...session, 'max-age': '604800' }]],
      ],
      [
        'logout clears both',
        async (browser) => setCookies(await browser.call('POST', '/api/v1/auth/logout')),
        [
          ['service_session', false, { ...session, 'max-age': '0' }],
          ['service_refresh', false, { ...refresh, 'max-age': '0' }],
        ],
      ],
    ]
    for (const [name, request, expected] of steps) {
      const cookies = await request(browser)
      t.same(
        cookies.map(({ name, value, attributes }) => [name, value !== '', attributes]),
        expected,
        name,
      )
    }
  })
}

t.test('Tokens are 32 random bytes in base64url', async (t) => {
  const { call } = await buildWithMock(t)
  const browser = openBrowser(call)
  const seen = new Set<string | undefined>()
  for (const answer of [await browser.signIn('Ada'), await browser.signIn('Ada')]) {
    for (const { value } of setCookies(answer)) {
      t.match(value, /^[\w-]{43}$/)
      seen.add(value)
    }
  }
  t.equal(seen.size, 4, 'each another')
})

t.test('No other response sets a cookie', async (t) => {
  const app = await buildApp(t)
  const ada = await app.user('ada')
  for (const path of ['/api/v1/health', '/api/v1/auth/session', '/api/v1/bookmarks', '/docs', '/nowhere']) {
    t.same(setCookies(await ada.call('GET', path)), [], path)
  }
})
