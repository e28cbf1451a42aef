import { execFile } from 'node:child_process'
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { ReviewError } from './error.ts'
import type { Finding } from './finding.ts'
import type { Impact } from './impact.ts'
import { placeOf } from './place.ts'

const redocly = createRequire(import.meta.url).resolve('@redocly/cli/bin/cli.js')
const config = fileURLToPath(new URL('../../../redocly.yaml', import.meta.url))

/** They speak of every change, so others say more about one. */
const general = ['house/harmless-changed', 'house/words-changed', 'house/carried-by-none-changed']

interface Report {
  changes: Change[]
}

interface Change {
  path: string
  typeName: string
  property?: string
  impact: Impact
  verdicts: { ruleId: string; impact: Impact; message: string }[]
  revision?: { file: string; line: number }
}

/** Every change that Redocly sees, with the impact that redocly.yaml gives it. */
export async function redoclyDiff(base: URL, revision: URL, file: string): Promise<Finding[]> {
  const [before, after] = [base, revision].map((folder) => fileURLToPath(new URL(file, folder)))
  const args = [redocly, 'diff', String(before), String(after), '--config', config, '--format=json', '--fail-on=none']
  const env = { ...process.env, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true', NO_COLOR: '1' }
  const options = { cwd: fileURLToPath(revision), env, maxBuffer: 256 * 1024 * 1024 }
  const { stdout } = await promisify(execFile)(process.execPath, args, options).catch(
    (error: Error & { stderr?: string }) => {
      throw new ReviewError(`${file} cannot be compared. ${error.stderr?.trim() || error.message}`)
    },
  )
  const { changes } = JSON.parse(stdout) as Report
  return unique(changes.filter((change) => !isLeftOut(change)).map((change) => finding(change, file)))
}

/** One change can show as several: a requirement that went and another that came. */
function unique(findings: Finding[]): Finding[] {
  return [...new Map(findings.map((finding) => [JSON.stringify(finding), finding])).values()]
}

/** The version follows from the changes and is none itself; error texts are compared by operation, in `error-texts.ts`. */
function isLeftOut({ path, typeName, property = '' }: Change): boolean {
  if (typeName === 'Info') return property === 'version'
  if (typeName === 'Operation') return ['x-invalid', 'x-not-found'].includes(property)
  return property === 'enum' && /\/responses\/[45]\d\d\/content\/[^/]+\/schema\/properties\/error$/.test(path)
}

function finding({ path, impact, verdicts, revision }: Change, file: string): Finding {
  const decisive = verdicts.filter((verdict) => verdict.impact === impact)
  const special = decisive.find(({ ruleId }) => !general.includes(ruleId))
  const { message = 'Changed.' } = special ?? decisive[0] ?? {}
  const where = revision ? { file: revision.file, line: revision.line } : { file }
  return { ...where, impact, place: placeOf(path), message }
}
