import { readFile } from 'node:fs/promises'
import { contractsIn, type Documents, isSame, readBoth } from './base.ts'
import { type ClientChange, compareClients } from './client-changes.ts'
import { clientTypes } from './client-types.ts'
import { compareData } from './data.ts'
import { compareErrorTexts } from './error-texts.ts'
import { listFindings } from './findings.ts'
import { type Finding, highest, type Impact } from './impact.ts'
import { type Version, versionOf } from './versions.ts'

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
