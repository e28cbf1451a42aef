import { createHash, generateKeyPair, randomBytes } from 'node:crypto'
import type { RequestListener } from 'node:http'
import { text } from 'node:stream/consumers'
import { promisify } from 'node:util'
import Provider, {
  type Adapter,
  type AdapterFactory,
  type AdapterPayload,
  type Configuration,
  errors,
  interactionPolicy,
  type KoaContextWithOIDC,
} from 'oidc-provider'

const daySeconds = 86_400

export interface DevelopmentClient {
  redirectUri: string
  clientId: string
  clientSecret: string
}

interface Person {
  sub: string
  name: string
  email: string
}

/** Keeps everything in memory: after a restart, it knows nobody and refuses refresh tokens from before. */
export async function createOpenIdProvider(issuer: string, client: DevelopmentClient): Promise<RequestListener> {
  const { privateKey } = await promisify(generateKeyPair)('ec', { namedCurve: 'P-256' })
  const people = new Map<string, Person>()
  const provider = new Provider(issuer, configuration(client, privateKey.export({ format: 'jwk' }), people))
  provider.use((ctx, next) => (ctx.path.startsWith('/sign-in/') ? signIn(provider, people, ctx) : next()))
  return provider.callback()
}

function configuration(client: DevelopmentClient, key: object, people: Map<string, Person>): Configuration {
  const policy = interactionPolicy.base()
  policy.add(new interactionPolicy.Prompt({ name: 'select_account', requestable: true }), 0)
  return {
    adapter: memoryStore(),
    clients: [
      {
        client_id: client.clientId,
        client_secret: client.clientSecret,
        redirect_uris: [client.redirectUri],
        grant_types: ['authorization_code', 'refresh_token'],
        id_token_signed_response_alg: 'ES256',
        require_auth_time: true,
      },
    ],
    jwks: { keys: [{ ...key, alg: 'ES256', use: 'sig' }] },
    cookies: { keys: [randomBytes(32).toString('base64url')] },
    claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['name'] },
    features: {
      devInteractions: { enabled: false },
      rpInitiatedLogout: { enabled: false },
      revocation: { enabled: true, allowedPolicy: (_ctx, { clientId }, token) => token.clientId === clientId },
    },
    pkce: { required: () => true },
    findAccount(_ctx, sub) {
      const person = people.get(sub)
      return person && { accountId: sub, claims: () => ({ ...person, email_verified: true }) }
    },
    interactions: { policy, url: (_ctx, interaction) => `/sign-in/${interaction.uid}` },
    // Skips the consent page, but still issues a refresh token, although offline_access is dropped without
    // prompt=consent.
    loadExistingGrant: grantEverything,
    issueRefreshToken: () => true,
    rotateRefreshToken: true,
    expiresWithSession: () => false,
    ttl: {
      AccessToken: 3600,
      AuthorizationCode: 60,
      Grant: 30 * daySeconds,
      IdToken: 3600,
      Interaction: 3600,
      RefreshToken: 30 * daySeconds,
      Session: daySeconds,
    },
    renderError(ctx, { error, error_description: description }) {
      page(ctx, faultPage(description ?? error))
    },
  }
}

async function grantEverything({ oidc }: KoaContextWithOIDC) {
  const { provider, client, session, params } = oidc
  if (client === undefined || session?.accountId === undefined) return undefined
  const grant = new provider.Grant({ clientId: client.clientId, accountId: session.accountId })
  grant.addOIDCScope(String(params?.scope))
  await grant.save()
  return grant
}

type Context = Parameters<Parameters<Provider['use']>[0]>[0]

async function signIn(provider: Provider, people: Map<string, Person>, ctx: Context): Promise<void> {
  try {
    await provider.interactionDetails(ctx.req, ctx.res)
  } catch (error) {
    if (!(error instanceof errors.SessionNotFound)) throw error
    ctx.status = 400
    page(ctx, faultPage('This sign-in has ended. Go back to the app and start again.'))
    return
  }
  if (ctx.method !== 'POST') {
    page(ctx, signInPage())
    return
  }
  const typed = new URLSearchParams(await text(ctx.req)).get('name') ?? ''
  const person = personCalled(typed)
  if (person === null) {
    ctx.status = 400
    page(ctx, signInPage('The name must contain a letter or digit and have at most 64 characters.'))
    return
  }
  people.set(person.sub, person)
  const done = { login: { accountId: person.sub }, select_account: {}, consent: {} }
  const returnTo = await provider.interactionResult(ctx.req, ctx.res, done, { mergeWithLastSubmission: false })
  ctx.status = 303
  ctx.redirect(returnTo)
}

/** Names with the same words are the same person, whatever their case, Unicode form and the marks between words. */
function personCalled(typed: string): Person | null {
  const form = typed.normalize('NFKC').replace(/[\s\p{C}]+/gu, ' ')
  const name = form.trim()
  const words = name.toLowerCase().match(/[\p{L}\p{M}\p{N}]+/gu)
  const account = words?.join('.')
  if (account === undefined || name.length > 64) return null
  const sub = createHash('sha256').update(account).digest('base64url')
  return { sub, name, email: `${account}@dev.localhost` }
}

function page(ctx: Pick<Context, 'type' | 'body' | 'set'>, html: string): void {
  ctx.set(
    'Content-Security-Policy',
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; frame-ancestors 'none'",
  )
  ctx.set('Cache-Control', 'no-store')
  ctx.type = 'html'
  ctx.body = html
}

/** Storage in memory. It deletes nothing that expires, because the library checks that itself. */
function memoryStore(): AdapterFactory {
  // Does not keep sessions, so that each sign-in asks for a name: it may be another person's.
  return (model) => storeOf(model === 'Session' ? null : new Map())
}

function storeOf(records: Map<string, AdapterPayload> | null): Adapter {
  return {
    async upsert(id, payload) {
      records?.set(id, payload)
    },
    async find(id) {
      return records?.get(id)
    },
    async findByUid() {},
    async findByUserCode() {},
    async consume(id) {
      const record = records?.get(id)
      if (record !== undefined) record.consumed = Math.floor(Date.now() / 1000)
    },
    async destroy(id) {
      records?.delete(id)
    },
    async revokeByGrantId(grantId) {
      for (const [id, record] of records ?? []) if (record.grantId === grantId) records?.delete(id)
    },
  }
}

const style = `
  :root { color-scheme: light dark; font: 1.125rem/1.5 system-ui, sans-serif }
  body { display: grid; min-height: 90vh; place-content: center; margin: 1rem }
  main { width: min(22rem, 90vw) }
  h1 { font-size: 1.5rem }
  input, button { box-sizing: border-box; width: 100%; padding: .5rem; margin-top: .5rem; font: inherit }
  [role=alert] { font-weight: bold }
`

export function signInPage(fault?: string): string {
  const alert = fault === undefined ? '' : `<p id="fault" role="alert">${escaped(fault)}</p>`
  const described = fault === undefined ? 'hint' : 'fault hint'
  return document(
    'Sign in',
    `${alert}
<form method="post">
  <label for="name">Your name</label>
  <input id="name" name="name" required maxlength="64" autocomplete="username" autofocus aria-describedby="${described}">
  <button>Sign in</button>
</form>
<p id="hint">For development only: every name is an account, and no password is needed.</p>`,
  )
}

export function faultPage(fault: string): string {
  return document('Sign-in failed', `<p role="alert">${escaped(fault)}</p>`)
}

function document(title: string, content: string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="data:,">
<title>${title} (development)</title>
<style>${style}</style>
</head>
<body>
<main>
<h1>${title}</h1>
${content}
</main>
</body>
</html>
`
}

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)
}
