import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { methods } from '../openapi.ts'
import { redoclyDiff } from '../redocly.ts'
import { contractsIn, type Documents, isSame, ReviewError, readBoth } from './base.ts'
import { type ClientChange, clientTypes, compareClients } from './clients.ts'
import { compareData } from './data.ts'
import { compareErrorTexts } from './error-texts.ts'
import { type Finding, highest, type Impact } from './impact.ts'

export interface Comparison {
  /** Undefined if nothing changed. */
  verdict: Impact | undefined
  findings: Finding[]
  versions: Version[]
  client: ClientChange[]
}

/** Compares the contracts of two folders. */
export async function compareContracts(base: URL, revision: URL): Promise<Comparison> {
  const [before, after] = await Promise.all([contractsIn(base), contractsIn(revision)])
  const kept = await Promise.all(
    after.filter((file) => before.includes(file)).map((file) => readBoth(base, revision, file)),
  )
  const findings = [
    ...before.filter((file) => !after.includes(file)).map((file) => whole(file, 'major', 'The contract is gone.')),
    ...after.filter((file) => !before.includes(file)).map((file) => whole(file, 'minor', 'The contract is new.')),
    ...(await Promise.all(kept.map((documents) => compare(base, revision, documents)))).flat(),
  ]
  const verdict = highest(findings.map(({ impact }) => impact))
  return {
    verdict,
    findings,
    versions: kept.map((documents) => versionOf(documents, verdict)),
    client: await compareClientsOf(kept.find(({ file }) => file === 'openapi.yaml')),
  }
}

async function compare(base: URL, revision: URL, documents: Documents): Promise<Finding[]> {
  if (isSame(documents)) return []
  const { file, before, after } = documents
  const texts = compareErrorTexts(before, after)
  const source = await readFile(new URL(file, revision), 'utf8')
  const findings = [
    ...(await listFindings(base, revision, file)),
    ...compareData(before, after).map((change) => ({ ...change, file })),
    ...texts.map(({ calls, ...change }) => ({ ...change, file, line: lineOf(source, calls[0]), place: list(calls) })),
  ]
  return findings.length > 0 ? findings : [whole(file, 'patch', 'Only examples or the order changed.')]
}

/** The line where the operation begins. */
function lineOf(source: string, call = ''): number {
  const [method = '', path = ''] = call.toLowerCase().split(' ')
  const lines = source.toLowerCase().split('\n')
  const start = lines.findIndex((line) => line.trim() === `${path}:`)
  return lines.findIndex((line, index) => index > start && line.trim() === `${method}:`) + 1
}

function list(calls: string[]): string {
  return calls.length > 3 ? `${calls.slice(0, 2).join(', ')} and ${calls.length - 2} more` : calls.join(', ')
}

function whole(file: string, impact: Impact, message: string): Finding {
  return { file, impact, message, place: 'the document' }
}

async function compareClientsOf(documents: Documents | undefined): Promise<ClientChange[]> {
  if (!documents || isSame(documents)) return []
  return compareClients(await clientTypes(documents.before), await clientTypes(documents.after))
}

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
async function listFindings(base: URL, revision: URL, file: string): Promise<Finding[]> {
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

export interface Version {
  file: string
  before: string
  after: string
  /** The lowest version that the verdict requires. */
  wanted: string | undefined
  isEnough: boolean
}

export function versionOf({ file, before, after }: Documents, verdict: Impact | undefined): Version {
  const wanted = verdict && nextVersion(before.info.version, verdict)
  const isEnough = !verdict || (wanted !== undefined && isAtLeast(after.info.version, wanted))
  return { file, before: before.info.version, after: after.info.version, wanted, isEnough }
}

/** The next version that such a change requires; undefined if the version is not semver. Below 1.0, any version may break. */
function nextVersion(version: unknown, impact: Impact): string | undefined {
  const parts = numbers(version)
  if (!parts) return undefined
  const [major, minor, patch] = parts
  if (impact === 'patch') return `${major}.${minor}.${patch + 1}`
  return impact === 'major' && major > 0 ? `${major + 1}.0.0` : `${major}.${minor + 1}.0`
}

function isAtLeast(version: unknown, wanted: string): boolean {
  const [has, wants] = [numbers(version), numbers(wanted)]
  if (!has || !wants) return false
  const index = has.findIndex((part, at) => part !== wants[at])
  return index === -1 || Number(has[index]) > Number(wants[index])
}

function numbers(version: unknown): [number, number, number] | undefined {
  const [, major, minor, patch] = /^(\d+)\.(\d+)\.(\d+)(?:[-+].*)?$/.exec(String(version)) ?? []
  return major === undefined ? undefined : [Number(major), Number(minor), Number(patch)]
}
