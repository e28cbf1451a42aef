import type { ApiEntry } from './api.ts'
import type { ApiMember, ApiSymbol } from './api-symbol.ts'
import { highlight } from './highlight.ts'
import { htmlText } from './html.ts'
import { anchored, htmlOf } from './markdown.ts'

const groups = { function: 'Functions', interface: 'Types', type: 'Types', class: 'Errors', value: 'Values' } as const

/** The page of an entry of the client package. */
export function apiPage(entry: ApiEntry, entries: ApiEntry[]): string {
  const link = linksIn(entries, entry.page)
  const grouped = Map.groupBy(entry.symbols, ({ kind }) => groups[kind])
  const titles = [...new Set(Object.values(groups))].filter((title) => grouped.has(title))
  const contents = titles.map((title) => {
    const names = (grouped.get(title) ?? []).map(({ name }) => `<a href="#${name}"><code>${name}</code></a>`)
    return `<p>${title}: ${names.join(', ')}</p>\n`
  })
  return [
    `<h1><code>${entry.specifier}</code></h1>\n`,
    htmlOf(entry.text, (to) => to),
    ...contents,
    elsewhere(entry),
    ...titles.flatMap((title) => (grouped.get(title) ?? []).map((symbol) => symbolSection(symbol, link))),
  ].join('')
}

/** What the entry exports, too. */
function elsewhere({ elsewhere }: ApiEntry): string {
  const links = elsewhere.map(({ name, page }) => `<a href="${page}#${name}"><code>${name}</code></a>`)
  return links.length === 0 ? '' : `<p>It also exports ${links.join(', ')}.</p>\n`
}

/** `own` is the name that the code declares. */
type Link = (code: string, own: string) => string

function symbolSection(symbol: ApiSymbol, link: Link): string {
  const { name, code } = symbol
  const isPlain = code === `interface ${name}`
  return [
    anchored({ id: name, level: 2, text: name }, `<code>${name}</code>`),
    isPlain ? '' : `<div class="code"><pre><code>${link(code, name)}</code></pre></div>\n`,
    documentation(symbol),
    ...symbol.members.map((member) => memberSection(symbol.name, member, link)),
  ].join('')
}

function memberSection(owner: string, member: ApiMember, link: Link): string {
  const code = member.code
    .replaceAll(/\n\s*/g, ' ')
    .replaceAll(/\(\s+/g, '(')
    .replaceAll(/,\s+\)/g, ')')
  const id = `${owner}.${member.name}`
  return `<div class="member">\n${anchored({ id, level: 3, text: id }, `<code>${link(code, owner)}</code>`)}${documentation(member)}</div>\n`
}

function documentation({ text, tags }: Pick<ApiMember, 'text' | 'tags'>): string {
  const items = tags.map(({ kind, name, text }) => {
    const [, error, rest = text] = kind === 'throws' ? (/^(\w+) (.*)$/s.exec(text) ?? []) : []
    const subject = name || error ? `\`${name || error}\`: ` : ''
    const verb = { throws: 'Throws ', returns: 'Returns ' }[kind] ?? ''
    return `- ${verb}${subject}${subject ? rest : text}\n`
  })
  // A list right after a sentence is a list in Markdown only after an empty line.
  return htmlOf(`${text}\n\n${items.join('')}`, (to) => to)
}

/** Highlights code and makes the names of what is exported links. */
function linksIn(entries: ApiEntry[], page: string): Link {
  const targets = new Map(
    entries.flatMap((entry) =>
      entry.symbols.map(({ name }) => [name, `${entry.page === page ? '' : entry.page}#${name}`] as const),
    ),
  )
  const linked = (text: string, own: string) =>
    text.replaceAll(/\w+/g, (word) => {
      const target = word === own ? undefined : targets.get(word)
      return target === undefined ? word : `<a href="${htmlText(target)}">${word}</a>`
    })
  return (code, own) =>
    highlight(code, 'ts')
      .split(/(<[^>]*>|&[#\w]+;)/)
      .map((part, index) => (index % 2 === 0 ? linked(part, own) : part))
      .join('')
}
