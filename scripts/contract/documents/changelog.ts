import type { Change, Counts } from './history.ts'

/** The changes under their versions, as HTML. */
export function writeChangelog(history: Change[] | null): string {
  if (history === null) return '<p>These pages were built without the history of the contract.</p>'
  const versions = Map.groupBy(history, ({ version }) => version)
  return [...versions]
    .map(([version, changes]) => `<h2>${htmlText(version)}</h2>\n<ul>\n${changes.map(line).join('')}</ul>`)
    .join('\n')
}

function line({ commit, date, subject, counts }: Change): string {
  const day = `<time datetime="${htmlText(date)}">${htmlText(date.slice(0, 10))}</time>`
  return `<li>${day} ${htmlText(subject)} <small><code>${commit.slice(0, 7)}</code> ${counts ? count(counts) : 'the first contract'}</small></li>\n`
}

/** As `redocly diff` counts them: what may break a client, what is new, what is said in other words. */
function count(counts: Counts): string {
  const named = { major: 'breaking', minor: 'additive', patch: 'editorial' } as const
  const parts = (['major', 'minor', 'patch'] as const)
    .filter((impact) => counts[impact] > 0)
    .map((impact) => `<span class="${impact}">${counts[impact]} ${named[impact]}</span>`)
  return parts.join(', ') || 'nothing that a client could notice'
}

function htmlText(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;')
}
