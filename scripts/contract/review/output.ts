import { writeFile } from 'node:fs/promises'
import { pathToFileURL } from 'node:url'
import { ReviewError } from './base.ts'
import type { Version } from './compare.ts'
import { type Finding, type Impact, impacts } from './impact.ts'
import { isRefused, type Review, review } from './review.ts'
import { wordDiff } from './words.ts'

const signs: Record<Impact, string> = { major: '🔴 major', minor: '🟢 minor', patch: '⚪ patch' }

/** The review as Markdown, for a terminal or a comment on a pull request. */
export function markdown(review: Review): string {
  const parts = [
    '# Contract review',
    `Compared with ${review.base}.`,
    headline(review),
    rulesSentence(review),
    ...review.versions.filter(({ isEnough }) => !isEnough).map(versionSentence),
    review.stale.length > 0 &&
      `**generated/ is stale: run \`npm run generate\`.** Affected: ${review.stale.join(', ')}.`,
    ...changes(review.findings),
  ]
  return `${parts.filter(Boolean).join('\n\n')}\n`
}

function headline({ verdict, findings, versions }: Review): string {
  if (!verdict) return '**Nothing changed in the contract.**'
  const counts = impacts
    .toReversed()
    .map((impact) => [findings.filter((finding) => finding.impact === impact).length, impact] as const)
    .filter(([count]) => count > 0)
    .map(([count, impact]) => `${count} ${impact}`)
  const raised = versions.length > 0 && versions.every(({ isEnough }) => isEnough)
  const version = raised ? ` \`info.version\` is high enough: ${versions[0]?.before} → ${versions[0]?.after}.` : ''
  return `**Verdict: ${verdict}** (${counts.join(', ')}).${version}`
}

function versionSentence({ file, before, after, wanted }: Version): string {
  const went = before === after ? `stayed ${before}` : `went from ${before} to ${after}`
  return wanted
    ? `**\`info.version\` of ${file} ${went}; these changes require ${wanted}.**`
    : `**\`info.version\` of ${file} ${went}, and ${before} is not a semantic version.**`
}

/** The table of changes, and the reworded sentences. Patches that hardly matter are folded (`<details>`). */
function changes(findings: Finding[]): string[] {
  const reworded = findings.flatMap(({ words, ...finding }) => (words ? [{ ...finding, ...wordDiff(...words) }] : []))
  const weighty = reworded.filter(({ isWeighty }) => isWeighty)
  const light = reworded.filter(({ isWeighty }) => !isWeighty)
  const loud = findings.filter(({ impact }) => impact !== 'patch')
  const quiet = findings.filter(({ impact, words }) => impact === 'patch' && !words)
  const folded = [quiet.length > 0 && table(quiet), ...light.map(wording)].filter(Boolean)
  const count = quiet.length + light.length
  return [
    loud.length > 0 ? `## Changes\n\n${table(loud)}` : '',
    weighty.length > 0 ? `## Words\n\nDoes what they say change?\n\n${weighty.map(wording).join('\n')}` : '',
    count > 0
      ? `<details><summary>${count} ${count === 1 ? 'patch' : 'patches'}</summary>\n\n${folded.join('\n\n')}\n\n</details>`
      : '',
  ]
}

function wording({ text, ...finding }: Omit<Finding, 'words'> & { text: string }): string {
  const { place, file, line } = finding
  return `- ${place} (${line ? `${file}:${line}` : file})${reach(finding)}<br>${text}`
}

/** The operations that a change reaches, if its place does not name them: many, or one that uses a component. */
function reach({ at, operations }: Pick<Finding, 'at' | 'operations'>): string {
  if (operations.length < 2) return at?.startsWith('#/components/') && operations[0] ? ` in ${operations[0]}` : ''
  return ` <details><summary>reaches ${operations.length} operations</summary>${operations.join(', ')}</details>`
}

/** One line per component and impact, so that nothing is repeated. */
function table(findings: Finding[]): string {
  const sorted = findings.toSorted((one, other) => impacts.indexOf(other.impact) - impacts.indexOf(one.impact))
  const lines = Map.groupBy(sorted, ({ impact, at, file, place, message }) => {
    const [, component] = /^#\/components\/([^/]+\/[^/]+)/.exec(at ?? '') ?? []
    return [impact, file, component ?? `${place} ${message}`].join('\n')
  })
  const rows = [...lines.values()].map((all) => {
    const { impact, place, file, line, at } = all[0] as Finding
    const where = all.length > 1 ? (place.split(' › ')[0] ?? place) : place
    const said = all.map(({ place, message }) =>
      (all.length > 1 ? `${place.split(' › ').slice(1).join(' › ')}: ${message}` : message).replace(/^: /, ''),
    )
    const operations = [...new Set(all.flatMap((finding) => finding.operations))]
    const cells = [
      signs[impact],
      `${where}${reach({ ...(at && { at }), operations })}`,
      said.join('<br>'),
      line ? `${file}:${line}` : file,
    ]
    return `| ${cells.map((cell) => cell.replaceAll('|', '\\|').replaceAll('\n', ' ')).join(' | ')} |`
  })
  return ['| | Where | What | |', '|---|---|---|---|', ...rows].join('\n')
}

function rulesSentence({ rules }: Review): string {
  if (!rules) return ''
  const by = rules.failed
    ? `Those of the base cannot judge (${rules.failed}), so these are the verdicts of the new ones.`
    : `The verdicts are those of the base's rules; by the new ones, it is ${rules.verdict ?? 'no change'}.`
  return `**The rules of this review changed: ${rules.files.join(', ')}.** ${by}`
}

/** Workflow commands, which GitHub shows as annotations on the changed lines. */
export function annotations(review: Review): string {
  const breaking = isRefused(review) ? 'error' : 'notice'
  const loud = review.findings.filter(({ impact }) => impact !== 'patch')
  const lines = [
    ...loud.map((finding) => command(finding.impact === 'major' ? breaking : 'notice', finding)),
    ...review.versions
      .filter(({ isEnough }) => !isEnough)
      .map((version) => {
        const message = versionSentence(version).replaceAll('**', '')
        return command(review.verdict === 'major' ? 'error' : 'warning', { file: version.file, message })
      }),
    ...review.stale.map((file) => command('error', { file, message: 'Stale: run `npm run generate`.' })),
  ]
  return lines.map((line) => `${line}\n`).join('')
}

function command(
  level: string,
  { file, line, impact, place, message }: Partial<Finding> & { message: string },
): string {
  const properties = [
    file && `file=${property(file)}`,
    line && `line=${line}`,
    impact && `title=${property(`${impact}: ${place}`)}`,
  ]
  return `::${level} ${properties.filter(Boolean).join(',')}::${escaped(message)}`
}

function escaped(text: string): string {
  return text.replaceAll('%', '%25').replaceAll('\r', '%0D').replaceAll('\n', '%0A')
}

function property(text: string): string {
  return escaped(text).replaceAll(':', '%3A').replaceAll(',', '%2C')
}

interface Options {
  /** The commit to compare with. */
  base?: string
  /** The file for the Markdown, instead of stdout. */
  output?: string
  annotations?: boolean
}

export async function printReview({ base, output, annotations: annotate }: Options): Promise<void> {
  try {
    const result = await review(pathToFileURL(`${process.cwd()}/`), base)
    if (output) await writeFile(output, markdown(result))
    else process.stdout.write(markdown(result))
    if (annotate || process.env.GITHUB_ACTIONS === 'true') process.stdout.write(annotations(result))
    if (isRefused(result)) process.exitCode = 1
  } catch (error) {
    if (output && error instanceof ReviewError) await writeFile(output, `# Contract review\n\n${error.message}\n`)
    throw error
  }
}
