import { read } from './files.ts'

interface Instruction {
  name: string
  /** `--from=build` and such. */
  flags: Record<string, string>
  rest: string
}

export interface Stage {
  from: string
  name: string | undefined
  instructions: Instruction[]
}

/** Reads what deploy/Containerfile uses of the format: comments, continued lines, flags. */
export function readStages(): Stage[] {
  const lines = read('deploy/Containerfile')
    .split('\n')
    .filter((line) => !/^\s*(#|$)/.test(line))
    .join('\n')
    .replaceAll(/\\\n\s*/g, ' ')
    .split('\n')
  const stages: Stage[] = []
  for (const line of lines) {
    const [, name = '', flagText = '', rest = ''] = /^([A-Z]+) ((?:--\S+ )*)(.+)$/.exec(line) ?? []
    if (name === '') throw new Error(`not an instruction: ${line}`)
    if (name === 'FROM') {
      const [from = '', , stage] = rest.split(' ')
      stages.push({ from, name: stage, instructions: [] })
      continue
    }
    const flags = Object.fromEntries([...flagText.matchAll(/--([\w-]+)=(\S+)/g)].map(([, key, value]) => [key, value]))
    stages.at(-1)?.instructions.push({ name, flags, rest })
  }
  return stages
}

export function valuesOf({ instructions }: Stage, name: string): string[] {
  return instructions.filter((instruction) => instruction.name === name).map(({ rest }) => rest)
}

/** What ENV sets. */
export function environmentOf(stage: Stage): Record<string, string> {
  const pairs = valuesOf(stage, 'ENV').flatMap((rest) => rest.split(' '))
  return Object.fromEntries(pairs.map((pair) => pair.split('=', 2)))
}

/** Of an instruction that has a command as a list. */
export function commandOf(stage: Stage, name: 'ENTRYPOINT' | 'CMD' | 'HEALTHCHECK'): string[] {
  const [rest = '[]'] = valuesOf(stage, name)
  return JSON.parse(rest.replace(/^.*?CMD /, ''))
}

/** Whether .dockerignore, which excludes everything and then names what is let in, lets a path of the repository in. */
export function isInContext(path: string): boolean {
  const allowed = read('.dockerignore')
    .split('\n')
    .filter((line) => line.startsWith('!'))
    .map((line) => line.slice(1))
  return allowed.some((pattern) => {
    const exact = pattern.replaceAll('.', '\\.').replaceAll('*', '[^/]*')
    return new RegExp(`^${exact}(/|$)`).test(path)
  })
}
