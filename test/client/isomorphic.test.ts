import { readdirSync, readFileSync } from 'node:fs'
import t from 'tap'

const FOLDER = new URL('../../src/client/', import.meta.url)
const GENERATED = new URL('../../generated/', import.meta.url)

t.test('nothing in the client needs Node: it runs in browsers as it is', async (t) => {
  const files = readdirSync(FOLDER, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'))
  t.ok(files.includes('record.ts') && files.length > 10)
  for (const name of files) {
    const source = readFileSync(new URL(name, FOLDER), 'utf8')
    const imported = [...source.matchAll(/(?:from|import\() ?'([^']+)'/g)].map(([, path = '']) => path)
    const foreign = imported.filter((path) => path.startsWith('node:') || (path.startsWith('.') && !isOurs(path, name)))
    t.strictSame(foreign, [], `${name} imports neither Node nor the server`)
    // `process?.` asks whether there is one.
    const globals = /\b(?:Buffer|process(?!\?)|require|__dirname|setImmediate)\b/
    t.notMatch(source, globals, `${name} needs no global of Node`)
  }
})

function isOurs(path: string, from: string): boolean {
  const { href } = new URL(path, new URL(from, FOLDER))
  return href.startsWith(FOLDER.href) || href.startsWith(GENERATED.href)
}
