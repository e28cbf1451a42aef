import { readFile } from 'node:fs/promises'
import { getLineColLocation, parseYaml, Source } from '@redocly/openapi-core'
import { contractsIn, type Documents, readBoth } from './base.ts'
import { changesOf } from './changes.ts'
import { type Finding, highest, type Impact } from './impact.ts'
import { judge } from './judge.ts'
import { stepsOf } from './nodes.ts'
import { component } from './schema.ts'

export interface Comparison {
  /** Undefined if nothing changed. */
  verdict: Impact | undefined
  findings: Finding[]
  versions: Version[]
}

/** Compares the contracts of two folders. */
export async function compareContracts(base: URL, revision: URL): Promise<Comparison> {
  const [before, after] = await Promise.all([contractsIn(base), contractsIn(revision)])
  const kept = await Promise.all(
    after.filter((file) => before.includes(file)).map((file) => readBoth(base, revision, file)),
  )
  const workflows = kept.filter(({ after }) => 'arazzo' in after).map(({ file }) => file)
  const findings = [
    ...before.filter((file) => !after.includes(file)).map((file) => whole(file, 'major', 'The contract is gone.')),
    ...after.filter((file) => !before.includes(file)).map((file) => whole(file, 'minor', 'The contract is new.')),
    ...(await located(compareDocuments(...kept), revision)),
  ]
  const impactOn = (has: (file: string) => boolean) =>
    highest(findings.filter(({ file }) => has(file)).map(({ impact }) => impact))
  return {
    verdict: impactOn(() => true),
    findings,
    // openapi.yaml and asyncapi.yaml share a version; the Arazzo workflows have their own.
    versions: kept.map((documents) => {
      const isWorkflows = 'arazzo' in documents.after
      return versionOf(
        documents,
        impactOn((file) => (isWorkflows ? file === documents.file : !workflows.includes(file))),
      )
    }),
  }
}

/** Lists a change once, even if it affects several operations or contracts. */
export function compareDocuments(...all: Documents[]): Finding[] {
  const findings = new Map<string, Finding>()
  for (const { file, before, after } of all) {
    const { changes, unrated } = changesOf(before, after)
    let isReported = unrated.length > 0
    for (const change of changes) {
      const verdict = judge(change)
      const fact = change.is ?? change.was
      if (!verdict || !fact) continue
      isReported = true
      const { at } = fact
      const place = placeOf(fact.place)
      const where = isOfType.test(at) ? place : fact.of === 'errors' ? file : `${file} ${at}`
      const known = findings.get(`${where} ${verdict.message}`)
      findings.set(`${where} ${verdict.message}`, {
        ...verdict,
        impact: highest([verdict.impact, known?.impact ?? 'patch']) ?? 'patch',
        file,
        at,
        place: fact.of === 'errors' && known ? 'errors' : place,
        operations: [...new Set([...(known?.operations ?? []), ...change.operations])],
      })
    }
    for (const at of unrated)
      findings.set(`${file} ${at}`, { ...whole(file, 'major', unratedMessage), at, place: stepsOf(at).join(' › ') })
    const isRelevant = changes.some(({ was, is }) => !needsNoFinding.includes((is ?? was)?.steps.at(-1) ?? ''))
    if (!isReported && isRelevant) findings.set(file, whole(file, 'major', unratedMessage))
  }
  return [...findings.values()]
}

/** Last steps of facts that need no finding, because other facts have the same content. */
const needsNoFinding = ['(order)', component, 'const']

/** For changes that no rule knows. They count as breaking, so that somebody looks at them. */
const unratedMessage = 'The contract differs here in a way that this review cannot rate.'

const isOfType = /^#\/components\/schemas\//
const omitted = ['content', 'application/json', 'schema', 'properties', 'payload']

function placeOf(place: string[]): string {
  return place.filter((name) => !omitted.includes(name)).join(' › ') || 'the document'
}

/** Adds line numbers to findings whose place still exists in the same file. */
async function located(findings: Finding[], revision: URL): Promise<Finding[]> {
  const files = [...new Set(findings.map(({ file }) => file))]
  const bodies = await Promise.all(files.map((file) => readFile(new URL(file, revision), 'utf8')))
  const sources = new Map(
    files.map((file, index) => [
      file,
      { source: new Source(file, bodies[index] ?? ''), tree: parseYaml(bodies[index] ?? '') },
    ]),
  )
  return findings.map((finding) => {
    const { source, tree } = sources.get(finding.file) ?? {}
    const pointer = finding.at
    if (!source || !pointer || at(tree, pointer) === undefined) return finding
    return { ...finding, line: getLineColLocation({ source, pointer, reportOnKey: true }).start.line }
  })
}

function at(tree: unknown, pointer: string): unknown {
  return stepsOf(pointer).reduce<unknown>((node, step) => (node as Record<string, unknown> | undefined)?.[step], tree)
}

function whole(file: string, impact: Impact, message: string): Finding {
  return { file, impact, message, place: 'the document', operations: [] }
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

/** The lowest version for this impact; undefined if the old one is not semver. Below 1.0, a minor version may break. */
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
