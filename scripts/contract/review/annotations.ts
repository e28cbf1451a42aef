import type { Finding } from './finding.ts'
import { versionSentence } from './markdown.ts'
import { isRefused, type Review } from './review.ts'

/** Workflow commands: GitHub shows them at the line that changed. */
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
