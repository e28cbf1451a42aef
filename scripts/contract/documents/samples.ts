import { type Contract, operationsOf } from '../openapi.ts'
import { type Call, callOf } from './call.ts'
import { sampleOrigin } from './markdown.ts'
import { typescriptSample } from './typescript.ts'

/** The contract with `x-codeSamples` on each operation. */
export function withSamples(contract: Contract): Contract {
  const copy = structuredClone(contract)
  for (const operation of operationsOf(contract)) {
    const call = callOf(contract, operation)
    Object.assign(copy.paths?.[operation.path]?.[operation.method] ?? {}, {
      'x-codeSamples': [
        { lang: 'Shell', label: 'curl', source: curlSample(call) },
        { lang: 'JavaScript', label: 'TypeScript', source: typescriptSample(call) },
      ],
    })
  }
  return copy
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
/** What must not be the same for all who copy the sample. */
const bodies: Record<string, string> = {
  setKeyring: '@keyring.json',
  setExportKey: `"{\\"key\\":\\"$(head -c 32 /dev/urandom | base64)\\"}"`,
}

/** What only some operations need: a file name, the target of a redirect, an end of the channel. */
const options: Record<string, string[]> = {
  downloadExport: ['-o bookmarks.dat'],
  completeLogin: ["-o answer.txt -w '%{redirect_url}\\n'"],
  openRealtime: ['-i -m 5 --http1.1'],
}

/** The headers of RFC 6455, which the contract does not repeat. */
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
