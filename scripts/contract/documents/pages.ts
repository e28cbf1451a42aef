import type { Guide } from './guides.ts'
import { htmlText } from './html.ts'

const tabs = {
  'index.html': 'Guides',
  'http.html': 'HTTP',
  'realtime.html': 'Realtime',
  'client.html': 'Client',
  'changelog.html': 'Changelog',
}
type Tab = (typeof tabs)[keyof typeof tabs]

const textPolicy =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'"
/** Redoc adds styles by script and searches in a worker. Everything else comes from the page's own folder. */
const referencePolicy =
  "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self' data:; " +
  "connect-src 'self'; worker-src blob:; base-uri 'none'; form-action 'none'"

/** The running service puts a link to its web app here. */
const appLink = '<!-- the link to the app -->'

/** A link in the list beside every page of text. */
export interface Entry {
  page: string
  title: string
  group: string
}

export interface TextPage extends Omit<Entry, 'group'> {
  tab: Tab
  html: string
}

/** A page of text: the list of all pages on one side, that of its sections on the other. */
export function textPage({ page, title, tab, html }: TextPage, entries: Entry[]): string {
  return frame(
    { page, title, tab, policy: textPolicy },
    `<div class="columns">
<main id="content">
<a class="to-entries" href="#pages">All pages</a>
<article data-page="${page}">
${html}</article>
${neighbours(entries, page)}</main>
<nav id="pages" class="entries" aria-label="All pages">
${entryList(entries, page)}</nav>
${sectionList(html)}</div>`,
  )
}

/** The contract, shown by Redoc. */
export function referencePage(): string {
  const scripts =
    '<script defer src="redoc.standalone.js"></script>\n<script type="module" src="reference.js"></script>\n'
  const content = '<main id="content" class="wide"><div id="reference"></div></main>'
  return frame({ page: 'http.html', title: 'HTTP', tab: 'HTTP', policy: referencePolicy, scripts }, content)
}

interface Frame {
  page: string
  title: string
  tab: Tab
  policy: string
  scripts?: string
}

/** All URLs are relative, so that the folder works under any path. The page contains its policy: a static host sends none. */
function frame({ page, title, tab, policy, scripts = '' }: Frame, content: string): string {
  const links = Object.entries(tabs).map(([file, name]) => {
    const current = file === page ? ' aria-current="page"' : name === tab ? ' aria-current="true"' : ''
    return `<a href="${file}"${current}>${name}</a>`
  })
  const name = page === 'index.html' ? 'Encrypted Bookmark Sync' : `${htmlText(title)} · Encrypted Bookmark Sync`
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${name}</title>
<link rel="icon" href="icon.svg">
<link rel="stylesheet" href="docs.css">
<script type="module" src="page.js"></script>
${scripts}</head>
<body>
<a class="skip" href="#content">Skip to the text</a>
<header class="bar">
<a class="brand" href="index.html"><img src="icon.svg" alt="" width="22" height="22"><span><span class="first">Encrypted </span>Bookmark Sync</span></a>
<nav class="tabs" aria-label="Documents">${links.join('')}</nav>
<button class="search-opener" type="button" hidden>Search <kbd>/</kbd></button>
${appLink}
</header>
${content}
</body>
</html>
`
}

function entryList(entries: Entry[], page: string): string {
  return [...Map.groupBy(entries, ({ group }) => group)]
    .map(([group, members]) => {
      const links = members.map((entry) => {
        const current = entry.page === page ? ' aria-current="page"' : ''
        return `<li><a href="${entry.page}"${current}>${htmlText(entry.title)}</a></li>\n`
      })
      return `<h2>${group}</h2>\n<ul>\n${links.join('')}</ul>\n`
    })
    .join('')
}

/** The sections of the second level. */
function sectionList(html: string): string {
  const sections = [...html.matchAll(/<h2 id="([^"]+)">(.*?) <a class="anchor"/gs)]
  if (sections.length < 2) return ''
  const links = sections.map(
    ([, id, content]) => `<li><a href="#${id}">${content?.replaceAll(/<[^>]*>/g, '')}</a></li>\n`,
  )
  return `<nav class="sections" aria-label="On this page">\n<h2>On this page</h2>\n<ul>\n${links.join('')}</ul>\n</nav>\n`
}

function neighbours(entries: Entry[], page: string): string {
  const index = entries.findIndex((entry) => entry.page === page)
  if (index < 0) return ''
  const link = (entry: Entry | undefined, rel: string, label: string) =>
    entry === undefined
      ? ''
      : `<a rel="${rel}" href="${entry.page}"><small>${label}</small>${htmlText(entry.title)}</a>`
  const links = link(entries[index - 1], 'prev', 'Previous') + link(entries[index + 1], 'next', 'Next')
  return `<nav class="neighbours" aria-label="Previous and next">${links}</nav>\n`
}

/** The cards of the first page. */
export function guideCards(guides: (Guide & { summary: string })[]): string {
  return [...Map.groupBy(guides, ({ group }) => group)]
    .map(([group, members]) => {
      const cards = members.map(
        ({ page, title, summary }) =>
          `<li><a href="${page}">${htmlText(title)}</a> <span>${htmlText(summary)}</span></li>\n`,
      )
      return `<section><h3>${group}</h3>\n<ul>\n${cards.join('')}</ul></section>\n`
    })
    .join('')
}
