import { UsageError } from '../../../src/service/terminal/command.ts'
import { withProgress } from '../../../src/service/terminal/progress.ts'
import { type Attempt, attempt } from './attempt.ts'
import type { Tool } from './tool.ts'
import { tools } from './tools.ts'

/** The tools of these names; all if there are none. */
export function chooseTools(names: string[]): Record<string, Tool> {
  const unknown = names.filter((name) => !Object.hasOwn(tools, name))
  if (unknown.length > 0) throw new UsageError(`${unknown.join(', ')}: the tools are ${Object.keys(tools).join(', ')}`)
  return Object.fromEntries(Object.entries(tools).filter(([name]) => names.length === 0 || names.includes(name)))
}

/** Tries the tools one after another, and prints a table. `strict` means that none may be left out. */
export async function conformClients(service: URL, chosen: Record<string, Tool>, strict: boolean): Promise<boolean> {
  console.log(row('tool', 'version', 'language', 'builds', 'story passes'))
  const attempts: Attempt[] = []
  await withProgress(async (progress) => {
    for (const [index, [name, tool]] of Object.entries(chosen).entries()) {
      progress.report(`generating, building and running ${name}`, index, Object.keys(chosen).length)
      const tried = await attempt(name, tool, service)
      progress.print(row(tool.name, tool.version, tool.language, tried.builds, tried.story))
      if (tried.complaint !== undefined) progress.print(tried.complaint.replaceAll(/^/gm, '    '))
      attempts.push(tried)
    }
  })
  return attempts.every(({ builds, story }) => {
    if (builds === 'not run') return !strict
    return builds === 'yes' && story !== 'no'
  })
}

function row(...[tool = '', version = '', language = '', builds = '', story = '']: string[]): string {
  return `${tool.padEnd(38)}${version.padEnd(10)}${language.padEnd(12)}${builds.padEnd(9)}${story}`
}
