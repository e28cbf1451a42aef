import { fileURLToPath } from 'node:url'
import { methods } from '../openapi.ts'
import { redoclyDiff } from '../redocly.ts'
import { ReviewError } from './base.ts'
import type { Finding, Impact } from './impact.ts'

const config = fileURLToPath(new URL('../../../redocly.yaml', import.meta.url))

/** These rules report every change. If another rule reports it too, that rule's message says more. */
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
export async function listFindings(base: URL, revision: URL, file: string): Promise<Finding[]> {
  const sides = [new URL(file, base), new URL(file, revision)] as const
  const { changes } = await redoclyDiff<Report>(revision, ...sides, '--config', config).catch(
    (error: Error & { stderr?: string }) => {
      throw new ReviewError(`${file} cannot be compared. ${error.stderr?.trim() || error.message}`)
    },
  )
  return unique(changes.filter((change) => !isLeftOut(change)).map((change) => finding(change, file)))
}

/** One change can be reported twice: as a requirement that was removed and one that was added. */
function unique(findings: Finding[]): Finding[] {
  return [...new Map(findings.map((finding) => [JSON.stringify(finding), finding])).values()]
}

/** A new version number is not a change. Error texts are compared by operation, in `error-texts.ts`. */
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
  return { ...where, impact: isCookie(path) ? lower(impact) : impact, place: placeOf(path), message }
}

/** Browsers keep any cookie and send it back, and hide it from scripts: no client depends on what it looks like. */
function isCookie(pointer: string): boolean {
  return pointer.includes('/headers/Set-Cookie/')
}

function lower(impact: Impact): Impact {
  return impact === 'major' ? 'minor' : impact
}

const unsaid = ['', 'content', 'application/json', 'schema', 'properties', 'paths', 'payload']

/** A JSON pointer in readable form: `POST /api/v1/bookmarks › responses › 409 › error`. */
function placeOf(pointer: string): string {
  const steps = pointer.replace(/^#\/?/, '').split('/')
  const names = steps.map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'))
  const [root, path = '', method = '', ...rest] = names
  const isCall = root === 'paths' && methods.some((each) => each === method)
  const said = isCall ? [`${method.toUpperCase()} ${path}`, ...rest] : names
  return said.filter((name) => !unsaid.includes(name)).join(' › ') || 'the document'
}
