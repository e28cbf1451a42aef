import { Marked, type Tokens } from 'marked'
import { highlight } from './highlight.ts'
import { htmlText, plainText } from './html.ts'

/** Where a sample names the service: in `/docs` of a running service, this is replaced by its own address. */
export const sampleOrigin = 'http://127.0.0.1:3000'
/** What samples call a service in production. */
const exampleOrigin = 'https://sync.example.org'

export interface Heading {
  id: string
  level: number
  text: string
}

/** The headings below the title, with the anchors that GitHub gives them. */
export function headingsOf(markdown: string): Heading[] {
  const seen = new Map<string, number>()
  return new Marked()
    .lexer(markdown)
    .filter((token): token is Tokens.Heading => token.type === 'heading')
    .map(({ depth, text }) => {
      const slug = slugOf(text)
      const count = seen.get(slug) ?? 0
      seen.set(slug, count + 1)
      return { id: count === 0 ? slug : `${slug}-${count}`, level: depth, text: text.replaceAll('`', '') }
    })
    .filter(({ level }) => level > 1)
}

function slugOf(heading: string): string {
  return heading
    .toLowerCase()
    .replaceAll(/[^\w\s-]/g, '')
    .replaceAll(' ', '-')
}

/** Markdown as HTML. `resolve` says where a link leads, if anywhere. Headings have anchors, code is highlighted. */
export function htmlOf(markdown: string, resolve: (to: string) => string | undefined): string {
  const headings = headingsOf(markdown).values()
  const marked = new Marked({
    renderer: {
      heading({ depth, tokens }) {
        const content = this.parser.parseInline(tokens)
        return depth === 1 ? `<h1>${content}</h1>\n` : anchored(headings.next().value as Heading, content)
      },
      code: ({ text, lang = '' }) => codeBlock(text, lang),
      table({ header, rows }) {
        const text = (cell: Tokens.TableCell) => this.parser.parseInline(cell.tokens)
        return tableOf(
          header.map(text),
          rows.map((cells) => cells.map(text)),
        )
      },
      link({ href, tokens }) {
        const target = resolve(href)
        const content = this.parser.parseInline(tokens)
        return target === undefined ? content : `<a href="${htmlText(target)}">${content}</a>`
      },
      image: ({ href, text }) => `<img src="${htmlText(resolve(href) ?? href)}" alt="${htmlText(text)}">`,
    },
  })
  return marked.parse(markdown, { async: false })
}

/** A table of HTML. On a narrow screen, where rows are stacked, each cell but the first shows the name of its column. */
export function tableOf(header: string[], rows: string[][], className = 'table'): string {
  const column = (index: number) => (index === 0 ? '' : ` data-column="${htmlText(plainText(header[index] ?? ''))}"`)
  const head = header.map((name) => (name === '' ? '<td></td>' : `<th>${name}</th>`)).join('')
  const lines = rows.map((cells) => cells.map((cell, index) => `<td${column(index)}>${cell}</td>`).join(''))
  return `<div class="${className}"><table>\n<thead><tr>${head}</tr></thead>\n<tbody>\n${lines.map((line) => `<tr>${line}</tr>\n`).join('')}</tbody>\n</table></div>\n`
}

/** A heading with a link to itself. */
export function anchored({ id, level, text }: Heading, content = htmlText(text)): string {
  const link = `<a class="anchor" href="#${id}" aria-label="Link to “${htmlText(text)}”"></a>`
  return `<h${level} id="${id}">${content} ${link}</h${level}>\n`
}

export function codeBlock(code: string, language: string): string {
  const shown = code.replaceAll(exampleOrigin, sampleOrigin)
  return `<div class="code"><pre><code>${highlight(shown, language)}</code></pre></div>\n`
}

/** The first sentence of the first paragraph. */
export function summaryOf(markdown: string): string {
  const paragraph = new Marked().lexer(markdown).find(({ type }) => type === 'paragraph')
  if (paragraph === undefined) return ''
  const text = plainText(htmlOf(paragraph.raw, (to) => to))
  return /^.*?[.:](?= |$)/.exec(text)?.[0].replace(/:$/, '.') ?? text
}
