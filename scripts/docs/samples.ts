import { type Call, callOf } from '../contract/call.ts'
import { type Contract, type Located, operationsOf } from '../contract/openapi.ts'
import { sampleOrigin } from './guides.ts'

/** The device id in all TypeScript samples. */
const device = 'laptop-7f3a'

/** The contract with `x-codeSamples` on each operation. */
export function withSamples(contract: Contract): Contract {
  const copy = structuredClone(contract)
  for (const operation of operationsOf(contract)) {
    const { curl, typescript } = samplesOf(contract, operation)
    Object.assign(copy.paths?.[operation.path]?.[operation.method] ?? {}, {
      'x-codeSamples': [
        { lang: 'Shell', label: 'curl', source: curl },
        { lang: 'JavaScript', label: 'TypeScript', source: typescript },
      ],
    })
  }
  return copy
}

/** A shell command, and a TypeScript module that calls the operation, mostly with the client package, and compiles. */
export function samplesOf(contract: Contract, operation: Located): { curl: string; typescript: string } {
  const call = callOf(contract, operation)
  return { curl: curlSample(call), typescript: (written[call.operationId] ?? plainCall)(call) }
}

/** A shell command that keeps its cookies in the file `jar`. */
function curlSample(call: Call): string {
  const { operationId, method, body } = call
  const words = [
    'curl -s',
    ...(needsCookies(call) ? ['-b jar'] : []),
    ...(call.setsCookies ? ['-c jar'] : []),
    ...(isImplied(method, body) ? [] : [`-X ${method.toUpperCase()}`]),
    ...(options[operationId] ?? []),
    quote(sampleOrigin + target(call)),
  ]
  const headers = {
    ...(operationId === 'openRealtime' && handshake),
    ...(body !== undefined && { 'content-type': 'application/json' }),
    ...call.headers,
  }
  const lines = [
    words.join(' '),
    ...Object.entries(headers).map(([name, value]) => `-H ${quote(`${name}: ${value}`)}`),
    ...(body === undefined ? [] : [`-d ${bodies[operationId] ?? quote(JSON.stringify(body, null, 2))}`]),
  ]
  const warning = warnings[operationId]
  return `${warning ? `# ${warning}\n` : ''}${lines.join(' \\\n  ')}`
}

const placeholder = 'This data is a placeholder, which no app can decrypt: use an account of its own for trying.'
const warnings: Record<string, string> = {
  createBookmark: placeholder,
  updateBookmark: placeholder,
  pushChanges: placeholder,
  importBookmarks: placeholder,
  setKeyring:
    'keyring.json is {"keyring": "…", "revision": 1}. Store none but what createKeyring of the client package made.',
}
/** Shell code for bodies that everybody who copies the sample must make themselves. */
const bodies: Record<string, string> = {
  setKeyring: '@keyring.json',
  setExportKey: `"{\\"key\\":\\"$(head -c 32 /dev/urandom | base64)\\"}"`,
}

/** curl's options for some operations: a file name, the target of a redirect, the end of the WebSocket after 5 s. */
const options: Record<string, string[]> = {
  downloadExport: ['-o bookmarks.dat'],
  completeLogin: ["-o answer.txt -w '%{redirect_url}\\n'"],
  openRealtime: ['-i -m 5 --http1.1'],
}

/** Headers that RFC 6455 requires. The contract does not list them. */
const handshake = {
  connection: 'Upgrade',
  'sec-websocket-version': '13',
  'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
}

function needsCookies({ security, setsCookies, operationId }: Call): boolean {
  return security?.length !== 0 || setsCookies || operationId === 'logout'
}

function isImplied(method: string, body: unknown): boolean {
  return method === (body === undefined ? 'get' : 'post')
}

function target({ path, pathParameters, query }: Call): string {
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(String(pathParameters[name])))
  const search = new URLSearchParams(Object.entries(query).map(([name, value]) => [name, String(value)])).toString()
  return search ? `${filled}?${search}` : filled
}

function quote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`
}

/**
 * Hand-written samples, for operations whose plain call would not work, or would store data that is not encrypted with
 * the account's keys.
 */
const written: Record<string, (call: Call) => string> = {
  createBookmark: () => `${openVaultFirst('encryptBookmark')}
const bookmark = { id: crypto.randomUUID(), ${content} }
const body = { id: bookmark.id, ...encryptBookmark(keys, bookmark) }
console.log(unwrap(await client.POST('/api/v1/bookmarks', { body })))
`,
  updateBookmark: ({ pathParameters: { id } }) => `${openVaultFirst('decryptBookmark', 'encryptBookmark')}
const params = { path: { id: ${literal(id)} } }
const stored = decryptBookmark(keys, unwrap(await client.GET('/api/v1/bookmarks/{id}', { params })))
const body = encryptBookmark(keys, { ...stored, title: 'Argon2' })
console.log(unwrap(await client.PUT('/api/v1/bookmarks/{id}', { params, body })))
`,
  pushChanges: () => `${openVaultFirst('encryptBookmark')}
const bookmark = { id: crypto.randomUUID(), ${content} }
const change = {
  id: crypto.randomUUID(),
  entity_type: 'bookmark',
  entity_id: bookmark.id,
  operation: 'create',
  timestamp: Date.now(),
  device_id: '${device}',
  ...encryptBookmark(keys, bookmark),
} as const
console.log(unwrap(await client.POST('/api/v1/sync/push', { body: { changes: [change] } })))
`,
  importBookmarks: () => `${openVaultFirst('encryptBookmark')}
const bookmark = { id: crypto.randomUUID(), ${content} }
const body = { bookmarks: [{ id: bookmark.id, ...encryptBookmark(keys, bookmark) }] }
console.log(unwrap(await client.POST('/api/v1/sync/import', { body })))
`,
  setKeyring: () => `${client('createVault')}
const { user_id: userId } = unwrap(await client.GET('/api/v1/auth/session')).user
const draft = await createVault(client, { userId, passphrase: 'correct horse battery' })
console.log('On paper, please:', draft.recoveryCode)
await draft.confirm() // stores the keyring; nothing else opens it than the passphrase and the recovery code
`,
  setExportKey: () => `${openVaultFirst('bytesToBase64')}
const key = bytesToBase64(keys.exportKey)
console.log(unwrap(await client.PUT('/api/v1/account/export-key', { body: { key } })))
`,
  completeLogin: () => `${client()}
// The identity provider sends the browser to this operation. An app only starts the login:
const { authorizationUrl } = unwrap(await client.POST('/api/v1/auth/login', { body: { returnTo: '/' } }))
location.assign(authorizationUrl)
`,
  downloadExport: ({ pathParameters: { id } }) => `${openVaultFirst('openExport')}
const params = { path: { id: ${literal(id)} } }
const file = unwrap(await client.GET('/api/v1/exports/{id}', { params, parseAs: 'stream' }))
const { bookmarks } = await openExport(file, { exportKey: keys.exportKey, keys })
console.log(bookmarks.map(({ title }) => title))
`,
  openRealtime: ({
    headers,
    query,
  }) => `// createSync of the client package does this, and goes on by itself after a break.
const address = new URL('${sampleOrigin.replace('http', 'ws')}/api/v1/sync/realtime')
address.searchParams.set('user_id', ${literal(headers['x-user-id'])})
address.searchParams.set('device_id', ${literal(headers['x-device-id'])})
address.searchParams.set('since', ${literal(String(query.since))})

const socket = new WebSocket(address)
socket.addEventListener('message', ({ data }) => {
  const message = JSON.parse(data)
  if (message.type === 'ping') socket.send(JSON.stringify({ type: 'pong' }))
  if (message.type === 'sync') console.log(message.stamp, message.event)
})
socket.addEventListener('close', ({ code }) => console.log('closed', code))

export {}
`,
}

function plainCall({ method, path, pathParameters, query, body }: Call): string {
  const params = {
    ...(Object.keys(pathParameters).length > 0 && { path: pathParameters }),
    ...(Object.keys(query).length > 0 && { query }),
  }
  const options = { ...(Object.keys(params).length > 0 && { params }), ...(body !== undefined && { body }) }
  const second = Object.keys(options).length > 0 ? `, ${literal(options)}` : ''
  return `${client()}
const answer = unwrap(await client.${method.toUpperCase()}('${path}'${second}))
console.log(answer)
`
}

const createClient = `const client = createClient({ baseUrl: '${sampleOrigin}', deviceId: '${device}' })`

/** The fields of a bookmark, except its id. */
const content = "title: 'RFC 9106', url: 'https://www.rfc-editor.org/rfc/rfc9106', source: 'bookmarks' as const"

function openVaultFirst(...more: string[]): string {
  return `${client(...more, 'openVault')}
const { user_id: userId } = unwrap(await client.GET('/api/v1/auth/session')).user
const { keys } = await openVault(client, { userId, passphrase: 'correct horse battery' })`
}

function client(...more: string[]): string {
  const names = ['createClient', ...more, 'unwrap'].join(', ')
  return `import { ${names} } from 'encrypted-bookmark-sync-client'\n\n${createClient}`
}

/** The value in TypeScript, formatted as a person would: names without quotes, strings in single quotes. */
function literal(value: unknown, indent = ''): string {
  if (typeof value === 'string')
    return `'${JSON.stringify(value).slice(1, -1).replaceAll('\\"', '"').replaceAll("'", "\\'")}'`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const deeper = `${indent}  `
  const entries = Array.isArray(value)
    ? value.map((item) => literal(item, deeper))
    : Object.entries(value).map(
        ([name, item]) => `${/^\w+$/.test(name) ? name : literal(name)}: ${literal(item, deeper)}`,
      )
  const [open, close] = Array.isArray(value) ? ['[', ']'] : ['{ ', ' }']
  const line = `${open}${entries.join(', ')}${close}`
  if (line.length < 70 && !line.includes('\n')) return line
  return `${open.trim()}\n${entries.map((entry) => `${deeper}${entry},\n`).join('')}${indent}${close.trim()}`
}
