/** A step of `npm run check`: no regular expression takes more than linear time, whatever text somebody gives it. */
import { glob, readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import ts from 'typescript'

/** By `require`, so that types are checked also where it is not installed yet. */
const require = createRequire(import.meta.url)
const { checkSync }: Checker = require('recheck')

interface Checker {
  checkSync(
    source: string,
    flags: string,
    options: { timeout: number; randomSeed: number },
  ): { status: 'safe' | 'vulnerable' | 'unknown'; complexity?: { summary: string } }
}

/** Longer than any takes on a busy machine; a pattern that is not decided in it counts as a fault. */
const timeout = 60_000

interface Pattern {
  file: string
  source: string
  flags: string
}

const found = [...(await patternsOfSources()), ...(await patternsOfContract())]
for (const same of Map.groupBy(found, ({ source, flags }) => `/${source}/${flags}`).values()) {
  const [{ source, flags }] = same as [Pattern]
  const { status, complexity } = checkSync(source, flags, { timeout, randomSeed: 1 })
  if (status === 'safe') continue
  const files = [...new Set(same.map(({ file }) => file))].join(', ')
  console.error(`${files}: /${source}/${flags} takes time that is ${complexity?.summary ?? status}`)
  process.exitCode = 1
}

async function patternsOfSources(): Promise<Pattern[]> {
  const files = await Array.fromAsync(glob('src/**/*.{ts,tsx}'))
  const patterns = await Promise.all(files.map(async (file) => patternsOf(file, await readFile(file, 'utf8'))))
  return patterns.flat()
}

function patternsOf(file: string, text: string): Pattern[] {
  const patterns: Pattern[] = []
  const visit = (node: ts.Node) => {
    if (ts.isRegularExpressionLiteral(node)) {
      const end = node.text.lastIndexOf('/')
      patterns.push({ file, source: node.text.slice(1, end), flags: node.text.slice(end + 1) })
    }
    ts.forEachChild(node, visit)
  }
  visit(ts.createSourceFile(file, text, ts.ScriptTarget.Latest))
  return patterns
}

/** Ajv and the clients use them, with the flag u. */
async function patternsOfContract(): Promise<Pattern[]> {
  const patterns: Pattern[] = []
  for (const file of ['generated/openapi.json', 'generated/asyncapi.json']) {
    JSON.parse(await readFile(file, 'utf8'), (key, value: unknown) => {
      if (key === 'pattern' && typeof value === 'string') patterns.push({ file, source: value, flags: 'u' })
      return value
    })
  }
  return patterns
}
