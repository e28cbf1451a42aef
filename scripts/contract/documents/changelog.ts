import { mkdir, mkdtempDisposable, readFile, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { checkOut, type Git, gitIn } from '../git.ts'
import { redoclyDiff } from '../redocly.ts'

const contracts = ['openapi.yaml', 'asyncapi.yaml']
const impacts = ['major', 'minor', 'patch'] as const

/** A commit that changed the contract. */
export interface Change {
  commit: string
  /** ISO 8601. */
  date: string
  subject: string
  /** `info.version` of openapi.yaml after it. */
  version: string
  /** Changes by the version bump that they call for; null for the commit that added the contract. */
  counts: Counts | null
}

type Counts = Record<(typeof impacts)[number], number>

/** The changes of the contract, newest first; null without git or without the whole history. */
export async function readHistory(root: URL): Promise<Change[] | null> {
  const git = gitIn(root)
  const log = await git('log', '--format=%H%x09%cI%x09%s', '--', ...contracts).catch(() => undefined)
  if (!log || (await git('rev-parse', '--is-shallow-repository')) === 'true') return null
  const commits = log.split('\n').map((line) => line.split('\t') as [string, string, string])
  const changes: Change[] = []
  for (const [index, [commit, date, subject]] of commits.entries()) {
    const parent = commits[index + 1]?.[0]
    const contract = await git('show', `${commit}:openapi.yaml`)
    const [, version = '?'] = /^ {2}version: (\S+)$/m.exec(contract ?? '') ?? []
    changes.push({ commit, date, subject, version, counts: parent ? await compare(root, git, parent, commit) : null })
  }
  return changes
}

/** The difference between two commits never changes, so it is cached in node_modules. */
async function compare(root: URL, git: Git, before: string, after: string): Promise<Counts> {
  const cache = new URL(`node_modules/.cache/contract-history/${before}-${after}.json`, root)
  const known = await readFile(cache, 'utf8').catch(() => null)
  if (known !== null) return JSON.parse(known) as Counts
  const counts = await count(git, before, after)
  await mkdir(new URL('./', cache), { recursive: true })
  await writeFile(cache, JSON.stringify(counts))
  return counts
}

async function count(git: Git, before: string, after: string): Promise<Counts> {
  await using temporary = await mkdtempDisposable(join(tmpdir(), 'ebs-history-'))
  const folder = pathToFileURL(`${temporary.path}/`)
  for (const commit of [before, after]) {
    const side = new URL(`${commit}/`, folder)
    await mkdir(side)
    await checkOut(git, commit, side)
  }
  const counts: Counts = { major: 0, minor: 0, patch: 0 }
  for (const file of contracts) {
    const sides = [new URL(`${before}/${file}`, folder), new URL(`${after}/${file}`, folder)] as const
    const { summary } = await redoclyDiff<{ summary: Counts }>(folder, ...sides)
    for (const impact of impacts) counts[impact] += summary[impact]
  }
  return counts
}

/** The changes under their versions, as HTML. */
export function writeChangelog(history: Change[] | null): string {
  if (history === null) return '<p>These pages were built without the history of the contract.</p>'
  const versions = Map.groupBy(history, ({ version }) => version)
  return [...versions]
    .map(([version, changes]) => {
      return `<h2>${htmlText(version)}</h2>\n${upgradeNote(version)}<ul>\n${changes.map(line).join('')}</ul>`
    })
    .join('\n')
}

/** The guide to versioning has a section for each major version. */
function upgradeNote(version: string): string {
  const [, major = '1'] = /^(\d+)\.0\.0$/.exec(version) ?? []
  const anchor = `#section/Versioning-and-deprecation/From-${Number(major) - 1}-to-${major}`
  return Number(major) > 1 ? `<p><a href="./${anchor}">What users of a client must do</a></p>\n` : ''
}

function line({ commit, date, subject, counts }: Change): string {
  const day = `<time datetime="${htmlText(date)}">${htmlText(date.slice(0, 10))}</time>`
  const changed = counts ? inWords(counts) : 'the first contract'
  return `<li>${day} ${htmlText(subject)} <small><code>${commit.slice(0, 7)}</code> ${changed}</small></li>\n`
}

/** As `redocly diff` counts them: what may break a client, what is new, what is worded differently. */
function inWords(counts: Counts): string {
  const named = { major: 'breaking', minor: 'additive', patch: 'editorial' }
  const parts = impacts
    .filter((impact) => counts[impact] > 0)
    .map((impact) => `<span class="${impact}">${counts[impact]} ${named[impact]}</span>`)
  return parts.join(', ') || 'nothing that a client could notice'
}

function htmlText(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;')
}
