/** The site that `npm run build -- docs` makes with VitePress. First, `writePages` writes its pages. */
import { createHash } from 'node:crypto'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type ShikiTransformer, transformerStyleToClass } from '@shikijs/transformers'
import { type DefaultTheme, defineConfig, type MarkdownRenderer, type UserConfig } from 'vitepress'
import { slugOf } from '../../scripts/docs/guides.ts'
import { writePages } from '../../scripts/docs/pages.ts'
import { thirdPartyFile, thirdPartyText } from '../../scripts/package/licences.ts'

const { source, sidebar, german, names, operations, prebuilt } = await writePages()
/** Replaces the inline styles of code by classes: the content security policy forbids inline styles and scripts. */
const styles = transformerStyleToClass()
const policy =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'"
/** Redoc adds styles by script and searches in a worker. */
const referencePolicy = `${policy.replace("style-src 'self'", "style-src 'self' 'unsafe-inline'")}; font-src 'self' data:; worker-src blob:`

/** Only the pages for users are translated. The others are for developers. */
const inGerman: DefaultTheme.Config = {
  nav: [
    { text: 'Anleitung', link: '/de/using.html' },
    { text: 'Für Entwickler (englisch)', link: '/' },
  ],
  sidebar: german,
  outline: { label: 'Auf dieser Seite' },
  docFooter: { prev: 'Davor', next: 'Danach' },
  darkModeSwitchLabel: 'Aussehen',
  lightModeSwitchTitle: 'Hell',
  darkModeSwitchTitle: 'Dunkel',
  sidebarMenuLabel: 'Seiten',
  returnToTopLabel: 'Nach oben',
  langMenuLabel: 'Sprache wechseln',
  skipToContentLabel: 'Zum Inhalt',
}
const searchInGerman: DefaultTheme.LocalSearchOptions = {
  translations: {
    button: { buttonText: 'Suchen /', buttonAriaLabel: 'Suchen /' },
    modal: {
      displayDetails: 'Einzelheiten zeigen',
      resetButtonTitle: 'Leeren',
      backButtonTitle: 'Schließen',
      noResultsText: 'Nichts gefunden für',
      footer: { selectText: 'öffnen', navigateText: 'wählen', closeText: 'schließen' },
    },
  },
}

/** Highlights code without a time limit. With one, builds differ: on a busy machine, some lines lose colours. */
const untimed: ShikiTransformer = {
  preprocess(_code, options) {
    options.tokenizeTimeLimit = 0
  },
}

type VitePlugin = Extract<NonNullable<UserConfig['vite']>['plugins'], unknown[]>[number]
type ShikiElement = Parameters<NonNullable<ShikiTransformer['span']>>[0]

export default defineConfig({
  srcDir: source,
  vite: { plugins: [licences()] },
  title: 'Encrypted Bookmark Sync',
  titleTemplate: ':title · Encrypted Bookmark Sync',
  description:
    "Keeps a person's bookmarks in sync across all their devices, while its operator cannot read any of them.",
  locales: {
    root: { label: 'English', lang: 'en' },
    de: {
      label: 'Deutsch',
      lang: 'de',
      link: '/de/using.html',
      description: 'Ihre Lesezeichen auf allen Ihren Geräten, und lesbar nur für Sie.',
      themeConfig: inGerman,
    },
  },
  metaChunk: true,
  // Pages enter the search index in the order in which they are ready. One at a time, each build has the same order.
  buildConcurrency: 1,
  // Otherwise a change of the appearance puts an inline style into the page, which the policy forbids.
  appearance: { disableTransition: false },
  markdown: {
    anchor: { slugify: slugOf },
    headers: { slugify: slugOf },
    config: adjustMarkdown,
    theme: { light: 'github-light-high-contrast', dark: 'github-dark-high-contrast' },
    codeTransformers: [untimed, styles, { span: linkNames }],
  },
  themeConfig: {
    logo: { src: '/icon.svg', width: 22, height: 22 },
    // The language menu leads to the start of the other language, because most pages are in English only.
    i18nRouting: false,
    siteTitle: '<span class="first">Encrypted </span>Bookmark Sync',
    nav: [
      { text: 'Guides', link: '/' },
      { text: 'HTTP', link: '/http.html' },
      { text: 'Realtime', link: '/realtime.html' },
      { text: 'Client', link: '/client.html' },
      { text: 'Changelog', link: '/changelog.html' },
    ],
    sidebar,
    search: {
      provider: 'local',
      options: {
        _render: renderForSearch,
        translations: { button: { buttonText: 'Search /', buttonAriaLabel: 'Search /' } },
        locales: { de: searchInGerman },
      },
    },
  },
  async transformHtml(html, page, { siteConfig }) {
    const { base } = siteConfig.site
    const withFiles = await withScriptsInFiles(html, siteConfig.outDir, base)
    const isReference = page.endsWith('/http.html')
    const own = isReference ? referencePolicy : policy
    // Redoc has a megabyte. Without this, it loads after the page's own scripts have run, along with other pages.
    const early = `<link rel="preload" as="script" href="${base}redoc.standalone.js">\n`
    const meta = `<meta http-equiv="Content-Security-Policy" content="${own}">\n`
    const links = `<link rel="icon" href="${base}icon.svg">\n<link rel="stylesheet" href="${base}code.css">\n`
    return withFiles
      .replaceAll(/(<[^<>]*) style="[^"]*"/g, '$1')
      .replace(/(<meta charset="utf-8">\n)/, `$1${meta}${isReference ? early : ''}`)
      .replace('</head>', `${links}</head>`)
  },
  async buildEnd({ outDir }) {
    // Pages are rendered in parallel, so each build finds the rules in a different order.
    const rules = styles.getCSS().split(/(?<=\})/)
    await writeFile(join(outDir, 'code.css'), rules.sort().join(''))
  },
})

/** Writes the licence texts of what browsers load. VitePress also builds for rendering on this machine (`ssr`). */
function licences(): VitePlugin {
  return {
    name: 'licences',
    apply: ({ build }) => !build?.ssr,
    generateBundle(_options, bundle) {
      const chunks = Object.values(bundle).filter((file) => file.type === 'chunk')
      const modules = chunks.flatMap((chunk) => Object.entries(chunk.modules))
      const rendered = modules.filter(([, { renderedLength }]) => renderedLength > 0).map(([id]) => id)
      // Vite has moved the styles to one file, so no chunk has them.
      const styles = [...this.getModuleIds()].filter((id) => /\.css$|[?&]type=style\b/.test(id))
      this.emitFile({
        type: 'asset',
        fileName: thirdPartyFile,
        source: thirdPartyText([...rendered, ...styles], prebuilt),
      })
    },
  }
}

/** In code blocks of the client package's reference (`api`), links the names that the package exports. */
function linkNames(this: { options: { meta?: { __raw?: string } } }, node: ShikiElement): void {
  if (!this.options.meta?.__raw?.includes('api')) return
  node.children = node.children.flatMap((child) => {
    if (child.type !== 'text') return [child]
    return child.value.split(/\b/).map((value): typeof child | ShikiElement => {
      const href = names.get(value)
      const text = { type: 'text' as const, value }
      return href ? { type: 'element', tagName: 'a', properties: { href }, children: [text] } : text
    })
  })
}

function adjustMarkdown(md: MarkdownRenderer): void {
  // Without v-pre, Vue takes `{{…}}` in inline code for an expression.
  const render = md.renderer.rules.code_inline
  md.renderer.rules.code_inline = (...call) => render?.(...call).replace('<code', '<code v-pre') ?? ''
  // Aligns columns by a class, because the policy forbids inline styles.
  md.core.ruler.push('columns', ({ tokens }) => {
    for (const [index, token] of tokens.entries()) {
      const [, side] = /^text-align:(\w+)$/.exec(token.attrGet('style') ?? '') ?? []
      if (side) token.attrs = [['class', side]]
      // Markdown requires a header cell in each column. Screen readers should not announce empty ones as headers.
      const [content, end] = tokens.slice(index + 1)
      if (token.type === 'th_open' && content?.content === '' && end) token.tag = end.tag = 'td'
    }
  })
}

async function renderForSearch(text: string, env: { relativePath: string }, md: MarkdownRenderer): Promise<string> {
  const { highlight = null } = md.options
  // Highlighting takes most of the time, and the index needs no colours.
  md.options.highlight = null
  try {
    return md.render(env.relativePath === 'http.md' ? operations : text, env)
  } finally {
    md.options.highlight = highlight
  }
}

async function withScriptsInFiles(html: string, folder: string, base: string): Promise<string> {
  const scripts = [...html.matchAll(/<script id="[^"]*">(.*?)<\/script>/gs)]
  await mkdir(join(folder, 'assets'), { recursive: true })
  let result = html
  for (const [element, code = ''] of scripts) {
    const name = `assets/early-${createHash('sha256').update(code).digest('hex').slice(0, 8)}.js`
    await writeFile(join(folder, name), code)
    result = result.replace(element, `<script src="${base}${name}"></script>`)
  }
  return result
}
