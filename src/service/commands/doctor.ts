import { styleText } from 'node:util'
import { type Config, readConfig } from '../config/config.ts'
import { becomeOwner } from '../config/folders.ts'
import type { Env } from '../config/values.ts'
import { requireOwnDomain } from '../config/web.ts'
import { operatorCommand } from '../terminal/command.ts'
import { examineBackups, examineDatabase } from './doctor-data.ts'
import { examineBucket, examineIssuer, examineListening } from './doctor-network.ts'
import { examineDisk, examinePage, examineSignUp, examineVariables, type Finding, failure } from './doctor-place.ts'
import { examineSecretFiles } from './doctor-secrets.ts'
import { examineMemory, examineUnit, readUnit, type Unit } from './doctor-unit.ts'

type Examination = (config: Config, unit: Unit | undefined, env: Env) => Finding[] | Promise<Finding[]>

const examinations: Examination[] = [
  examineVariables,
  examineDatabase,
  examineDisk,
  examineUnit,
  examineMemory,
  examineBucket,
  examineIssuer,
  examineSignUp,
  examinePage,
  examineListening,
  examineBackups,
]

export const doctorCommand = operatorCommand(
  'doctor',
  'Checks everything that the service needs: settings, database, notifications, keys, clock, exports, disk, memory, bucket, provider, who may sign in, ports, proxy, backups.',
  'It changes nothing, and works before the first start and while the service runs. If nothing listens on PORT and ADMIN_PORT, it listens there for a moment, to see what the proxy sends. The exit status is 1 if there is an error.',
)
  .option('--json', 'prints a list of {about, state, says, todo}')
  .option('--unit <name>', 'also checks the limits of this systemd unit; the ebs that comes with a unit adds this')
  .action(async ({ json, unit }: { json?: true; unit?: string }) => {
    const findings = await examine(process.env, unit)
    if (json) console.log(JSON.stringify(findings, null, 2))
    else for (const finding of findings) console.log(lineOf(finding))
    if (findings.some(({ state }) => state === 'error')) process.exitCode = 1
  })

export async function examine(env: Env, unitName?: string): Promise<Finding[]> {
  // Read early, as root: the service's user may not see these folders.
  const early = examineSecretFiles(env)
  // Read as root, too: without D-Bus, systemd answers only root.
  const unit = unitName === undefined ? undefined : await readUnit(unitName)
  let config: Config
  try {
    becomeOwner(env)
    config = readConfig(env)
    await requireOwnDomain(config)
  } catch (error) {
    return [...early, settingsFault(error as Error)]
  }
  const found = await Promise.all(
    examinations.map(async (examination) => examination(config, unit, env)).map(asFinding),
  )
  return [...early, ...found.flat()]
}

async function asFinding(findings: Promise<Finding[]>): Promise<Finding[]> {
  try {
    return await findings
  } catch (error) {
    return [failure('doctor', (error as Error).message, 'the rest of this check was not made')]
  }
}

function settingsFault({ message: says }: Error): Finding {
  // A new key would open none of the existing data.
  const first = says.startsWith('SECRET_KEY') ? 'if there is data, put the old key back' : 'correct this first'
  return failure('settings', says, `${first}: nothing else was checked`)
}

const colours = { ok: 'green', warning: 'yellow', error: 'red' } as const

function lineOf({ about, state, says, todo }: Finding): string {
  const line = `${styleText(colours[state], state.padEnd(8))} ${about.padEnd(12)} ${says}`
  return todo === undefined ? line : `${line}\n${' '.repeat(22)}${todo}`
}
