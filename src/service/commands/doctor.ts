import { styleText } from 'node:util'
import { type Config, readConfig } from '../config/config.ts'
import { ConfigError } from '../config/values.ts'
import { demandOwnDomain } from '../config/web.ts'
import { operatorCommand } from '../terminal/command.ts'
import { examineBackups, examineDatabase } from './doctor-data.ts'
import { examineBucket, examineIssuer, examineProxy } from './doctor-network.ts'
import { examineDisk, examineMemory, examineVariables, type Finding } from './doctor-place.ts'

type Examination = (config: Config) => Finding[] | Promise<Finding[]>

const examinations: Examination[] = [
  examineVariables,
  examineDatabase,
  examineDisk,
  examineMemory,
  examineBucket,
  examineIssuer,
  examineProxy,
  examineBackups,
]

export const doctorCommand = operatorCommand(
  'doctor',
  'Looks at all that the service needs: settings, database, keys, clock, disk, memory, bucket, provider, proxy, backups.',
  'It changes nothing, and works while the service runs and before it ever has. While nothing listens on PORT, it does so itself for a moment, to see what the proxy sends. The exit status is 1 if there is an error.',
)
  .option('--json', 'prints a list of {about, state, says, todo}')
  .action(async ({ json }: { json?: true }) => {
    const findings = await examine()
    if (json) console.log(JSON.stringify(findings, null, 2))
    else for (const finding of findings) console.log(lineOf(finding))
    if (findings.some(({ state }) => state === 'error')) process.exitCode = 1
  })

async function examine(): Promise<Finding[]> {
  let config: Config
  try {
    config = readConfig(process.env)
    await demandOwnDomain(config)
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    const todo = 'correct this first: nothing else was looked at'
    return [{ about: 'settings', state: 'error', says: error.message, todo }]
  }
  const found = await Promise.all(examinations.map(async (examination) => examination(config)))
  return found.flat()
}

const colours = { ok: 'green', warning: 'yellow', error: 'red' } as const

function lineOf({ about, state, says, todo }: Finding): string {
  const line = `${styleText(colours[state], state.padEnd(8))} ${about.padEnd(12)} ${says}`
  return todo === undefined ? line : `${line}\n${' '.repeat(22)}${todo}`
}
