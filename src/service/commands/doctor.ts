import { styleText } from 'node:util'
import { type Config, readConfig } from '../config/config.ts'
import { becomeOwner } from '../config/folders.ts'
import { demandOwnDomain } from '../config/web.ts'
import { operatorCommand } from '../terminal/command.ts'
import { examineBackups, examineDatabase } from './doctor-data.ts'
import { examineBucket, examineIssuer, examineProxy } from './doctor-network.ts'
import { examineDisk, examineMemory, examineVariables, type Finding } from './doctor-place.ts'
import { examineSecretFiles } from './doctor-secrets.ts'

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
  // The service's user may not see the folders that they are in.
  const early = examineSecretFiles(process.env)
  let config: Config
  try {
    becomeOwner(process.env)
    config = readConfig(process.env)
    await demandOwnDomain(config)
  } catch (error) {
    return [...early, settingsFault(error as Error)]
  }
  const found = await Promise.all(examinations.map(async (examination) => examination(config)).map(toldIfItFails))
  return [...early, ...found.flat()]
}

async function toldIfItFails(findings: Promise<Finding[]>): Promise<Finding[]> {
  try {
    return await findings
  } catch (error) {
    return [
      { about: 'doctor', state: 'error', says: (error as Error).message, todo: 'the rest of this was not looked at' },
    ]
  }
}

function settingsFault({ message: says }: Error): Finding {
  // A new key would open nothing of what is there.
  const first = says.startsWith('SECRET_KEY') ? 'if there is data, put the old key back' : 'correct this first'
  return { about: 'settings', state: 'error', says, todo: `${first}: nothing else was looked at` }
}

const colours = { ok: 'green', warning: 'yellow', error: 'red' } as const

function lineOf({ about, state, says, todo }: Finding): string {
  const line = `${styleText(colours[state], state.padEnd(8))} ${about.padEnd(12)} ${says}`
  return todo === undefined ? line : `${line}\n${' '.repeat(22)}${todo}`
}
