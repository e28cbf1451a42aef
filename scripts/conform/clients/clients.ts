import { readFile, writeFile } from 'node:fs/promises'
import { UsageError } from '../../../src/service/terminal/command.ts'
import { withProgress } from '../../../src/service/terminal/progress.ts'
import { type Attempt, attempt } from './attempt.ts'
import type { Tool } from './tool.ts'
import { tools } from './tools.ts'

/** The tools with these names, or all. */
export function chooseTools(names: string[]): Record<string, Tool> {
  const unknown = names.filter((name) => !Object.hasOwn(tools, name))
  if (unknown.length > 0) throw new UsageError(`${unknown.join(', ')}: the tools are ${Object.keys(tools).join(', ')}`)
  return Object.fromEntries(Object.entries(tools).filter(([name]) => names.length === 0 || names.includes(name)))
}

export interface ConformResult {
  passes: boolean
  /** Keyed by the tool's name in `tools`. */
  attempts: Map<string, Attempt>
}

/** Tries the tools one after another, and prints a table. With `strict`, a missing program of a tool is a failure. */
export async function conformClients(
  service: URL,
  chosen: Record<string, Tool>,
  strict: boolean,
): Promise<ConformResult> {
  console.log(row('tool', 'version', 'language', 'builds', 'story passes'))
  const attempts: ConformResult['attempts'] = new Map()
  await withProgress(async (progress) => {
    for (const [index, [name, tool]] of Object.entries(chosen).entries()) {
      progress.report(`generating, building and running ${name}`, index, Object.keys(chosen).length)
      const tried = await attempt(name, tool, service)
      progress.print(row(tool.name, tool.version, tool.language, tried.builds, tried.story))
      if (tried.complaint !== undefined) progress.print(tried.complaint.replaceAll(/^/gm, '    '))
      attempts.set(name, tried)
    }
  })
  const passes = Object.entries(chosen).every(([name, { breaks }]) => {
    const { builds, story } = attempts.get(name) ?? { builds: 'not run' }
    if (builds === 'not run') return !strict
    return breaks === undefined ? builds !== 'no' && story !== 'no' : builds === 'no'
  })
  return { passes, attempts }
}

/** Updates the table of a guide. The rows of tools that were not run stay as they are. */
export async function writeTable(guide: URL, attempts: ConformResult['attempts']): Promise<void> {
  const text = await readFile(guide, 'utf8')
  const rows = Object.entries(tools).map(([name, { version, language, breaks, ...tool }]) => {
    const start = `| ${tool.name} | ${version} | ${language} | `
    const { builds, story } = attempts.get(name) ?? { builds: 'not run', story: 'not run' }
    const stayed = text.split('\n').find((line) => line.startsWith(start))
    if (builds === 'not run' && stayed !== undefined) return stayed
    const why = builds === 'no' && breaks !== undefined ? `no: ${breaks}` : builds
    return `${start}${why} | ${story === 'none' ? '–' : story} |`
  })
  await writeFile(
    guide,
    text.replace(/(?<=^\|(?:---\|){5}\n)(?:\|.*\n)+/m, () => `${rows.join('\n')}\n`),
  )
}

function row(...[tool = '', version = '', language = '', builds = '', story = '']: string[]): string {
  return `${tool.padEnd(38)}${version.padEnd(10)}${language.padEnd(12)}${builds.padEnd(11)}${story}`
}
