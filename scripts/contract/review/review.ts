import { mkdtempDisposable, readFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { staleFiles } from '../generated.ts'
import { checkOut, gitIn } from '../git.ts'
import { contractsIn, type Documents, findBase, isSame, readBoth } from './base.ts'
import { type ClientChange, compareClients } from './client-changes.ts'
import { clientTypes } from './client-types.ts'
import { compareErrorTexts } from './error-texts.ts'
import { listFindings } from './findings.ts'
import { type Finding, highest, type Impact, isAtLeast, nextVersion } from './impact.ts'

export interface Review {
  /** The base of the comparison, for people. */
  base: string
  /** Undefined when nothing changed. */
  verdict: Impact | undefined
  findings: Finding[]
  versions: Version[]
  client: ClientChange[]
  /** Files of generated/ that do not match the contracts. */
  stale: string[]
}

export interface Version {
  file: string
  before: string
  after: string
  /** The lowest version that the verdict allows. */
  wanted: string | undefined
  isEnough: boolean
}

/** Compares the contracts in the folder `root`, committed or not, with those of a commit. */
export async function review(root: URL, ref?: string): Promise<Review> {
  const { commit, name } = await findBase(root, ref)
  await using folder = await mkdtempDisposable(join(tmpdir(), 'contract-base-'))
  const base = pathToFileURL(`${folder.path}/`)
  if (commit) await checkOut(gitIn(root), commit, base)
  const [before, after] = await Promise.all([contractsIn(base), contractsIn(root)])
  const kept = await Promise.all(
    after.filter((file) => before.includes(file)).map((file) => readBoth(base, root, file)),
  )
  const findings = [
    ...before.filter((file) => !after.includes(file)).map((file) => whole(file, 'major', 'The contract is gone.')),
    ...after.filter((file) => !before.includes(file)).map((file) => whole(file, 'minor', 'The contract is new.')),
    ...(await Promise.all(kept.map((documents) => compare(base, root, documents)))).flat(),
  ]
  const verdict = highest(findings.map(({ impact }) => impact))
  return {
    base: name,
    verdict,
    findings,
    versions: kept.map((documents) => versionOf(documents, verdict)),
    client: await compareClientsOf(kept.find(({ file }) => file === 'openapi.yaml')),
    stale: await staleFiles(root).catch((error: Error) => [`all of it, for it cannot be made (${error.message})`]),
  }
}

/** What must not be merged: a breaking change without a major version, or stale generated files. */
export function isRefused({ verdict, versions, stale }: Review): boolean {
  const isRaised = versions.length > 0 && versions.every(({ isEnough }) => isEnough)
  return stale.length > 0 || (verdict === 'major' && !isRaised)
}

async function compare(base: URL, revision: URL, documents: Documents): Promise<Finding[]> {
  if (isSame(documents)) return []
  const { file, before, after } = documents
  const texts = compareErrorTexts(before, after)
  const source = await readFile(new URL(file, revision), 'utf8')
  const findings = [
    ...(await listFindings(base, revision, file)),
    ...texts.map(({ calls, ...change }) => ({ ...change, file, line: lineOf(source, calls[0]), place: list(calls) })),
  ]
  return findings.length > 0 ? findings : [whole(file, 'patch', 'Examples or an order changed.')]
}

/** Where the operation begins. */
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

function versionOf({ file, before, after }: Documents, verdict: Impact | undefined): Version {
  const wanted = verdict && nextVersion(before.info.version, verdict)
  const isEnough = !verdict || (wanted !== undefined && isAtLeast(after.info.version, wanted))
  return { file, before: before.info.version, after: after.info.version, wanted, isEnough }
}

async function compareClientsOf(documents: Documents | undefined): Promise<ClientChange[]> {
  if (!documents || isSame(documents)) return []
  return compareClients(await clientTypes(documents.before), await clientTypes(documents.after))
}
