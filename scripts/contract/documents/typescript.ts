import type { Call } from './call.ts'

const origin = 'http://127.0.0.1:3000'
const device = 'laptop-7f3a'

/** A module that calls the operation with the client package, and type-checks as it is. */
export function typescriptSample(call: Call): string {
  return (written[call.operationId] ?? plainCall)(call)
}

const written: Record<string, (call: Call) => string> = {
  completeLogin: () => `${client()}
// The identity provider sends the browser to this operation. An app only starts the login:
const { authorizationUrl } = unwrap(await client.POST('/api/v1/auth/login', { body: { returnTo: '/' } }))
location.assign(authorizationUrl)
`,
  downloadExport: ({ pathParameters: { id } }) => `${client('openExport', 'openVault')}
const { user_id: userId } = unwrap(await client.GET('/api/v1/auth/session')).user
const { keys } = await openVault(client, { userId, passphrase: 'correct horse battery' })
const params = { path: { id: ${literal(id)} } }
const file = unwrap(await client.GET('/api/v1/exports/{id}', { params, parseAs: 'stream' }))
const { bookmarks } = await openExport(file, { exportKey: keys.exportKey, keys })
console.log(bookmarks.map(({ title }) => title))
`,
  openRealtime: ({
    headers,
    query,
  }) => `// createSync of the client package does this, and goes on by itself after a break.
const address = new URL('${origin.replace('http', 'ws')}/api/v1/sync/realtime')
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

const createClient = `const client = createClient({ baseUrl: '${origin}', deviceId: '${device}' })`

function client(...more: string[]): string {
  const names = ['createClient', ...more, 'unwrap'].join(', ')
  return `import { ${names} } from 'encrypted-bookmark-sync-client'\n\n${createClient}`
}

/** As a person would write it: names without quotes, strings in single quotes. */
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
