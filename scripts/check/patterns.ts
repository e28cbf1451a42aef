/** A step of `npm run check`: no text makes a regular expression of src/ or the contracts take more than linear time. */
import { glob, readFile } from 'node:fs/promises'
import { checkSync } from 'recheck'
import ts from 'typescript'

/**
 * `timeout` (ms) is longer than any pattern takes on a busy machine. An undecided pattern counts as a fault. The phases
 * of recheck have no time limits (null), only limits of steps, so that the verdict does not depend on the machine.
 */
const bounds = { timeout: 60_000, seedingTimeout: null, incubationTimeout: null, attackTimeout: null }

interface Pattern {
  file: string
  source: string
  flags: string
}

const found = [...(await patternsOfSources()), ...(await patternsOfContract())]
for (const same of Map.groupBy(found, ({ source, flags }) => `/${source}/${flags}`).values()) {
  const [{ source, flags }] = same as [Pattern]
  const verdict = checkSync(source, flags, { ...bounds, randomSeed: 1 })
  if (verdict.status === 'safe') continue
  const time = verdict.status === 'vulnerable' ? verdict.complexity.summary : verdict.status
  const files = [...new Set(same.map(({ file }) => file))].join(', ')
  console.error(`${files}: /${source}/${flags} takes time that is ${time}`)
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

/** Ajv and the clients use these patterns with the flag u. */
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
