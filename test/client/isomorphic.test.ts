import { readdirSync, readFileSync } from 'node:fs'
import t from 'tap'

const root = new URL('../../', import.meta.url)
const folders = ['src/client/', 'src/extension/', 'src/protocol/', 'generated/']

t.test('Nothing in the client but its entry /node needs Node: it runs in browsers as it is', async (t) => {
  const files = ['src/client/', 'src/extension/', 'src/protocol/'].flatMap((folder) => {
    const names = readdirSync(new URL(folder, root), { recursive: true, encoding: 'utf8' })
    return names.filter((name) => name.endsWith('.ts') && !isForNode(name)).map((name) => folder + name)
  })
  t.ok(files.includes('src/client/crypto/record.ts') && files.includes('src/protocol/order.ts'))
  const violations = files.flatMap((name) => {
    const source = readFileSync(new URL(name, root), 'utf8')
    const imported = [...source.matchAll(/(?:from|import\() ?'([^']+)'/g)].map(([, path = '']) => path)
    const foreign = imported.filter((path) => path.startsWith('node:') || (path.startsWith('.') && !isOurs(path, name)))
    // `process?.` asks whether there is one.
    const globals = source.match(/\b(?:Buffer|process(?!\?)|require|__dirname|setImmediate)\b/g) ?? []
    return [...foreign, ...globals].map((violation) => `${name}: ${violation}`)
  })
  t.strictSame(violations, [], 'neither an import of Node or the server, nor a global of Node')
})

/** `.dependency-cruiser.js` makes sure that nothing else in src/client imports these. */
function isForNode(name: string): boolean {
  return name === 'node.ts' || name.startsWith('node/')
}

function isOurs(path: string, from: string): boolean {
  const { href } = new URL(path, new URL(from, root))
  return folders.some((folder) => href.startsWith(new URL(folder, root).href))
}
