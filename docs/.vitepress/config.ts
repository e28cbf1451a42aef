/** The site that `npm run build -- docs` makes with VitePress. Its pages are written first, from guides and contracts. */
import { createHash } from 'node:crypto'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type ShikiTransformer, transformerStyleToClass } from '@shikijs/transformers'
import { type DefaultTheme, defineConfig, type MarkdownRenderer, type UserConfig } from 'vitepress'
import { slugOf } from '../../scripts/docs/guides.ts'
import { writePages } from '../../scripts/docs/pages.ts'
import { thirdPartyFile, thirdPartyText } from '../../scripts/package/licences.ts'

const { source, sidebar, german, names, operations, prebuilt } = await writePages()
/** The policy of the pages allows no styles and scripts within them. */
const styles = transformerStyleToClass()
const policy =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'"
/** Redoc adds styles by script and searches in a worker. */
const referencePolicy = `${policy.replace("style-src 'self'", "style-src 'self' 'unsafe-inline'")}; font-src 'self' data:; worker-src blob:`

/** The pages for people. The others are for developers, and in English. */
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

/** Colours without a time limit: on a busy machine, a line of code would lose some of them, and the build would differ. */
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
  // The search index has the pages in the order in which they are read: side by side, another one each time.
  buildConcurrency: 1,
  // It would put a style into the page.
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
    // Most pages have no other language.
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
    // Otherwise the megabyte waits until the page's own scripts have run, and comes together with what other pages need.
    const early = `<link rel="preload" as="script" href="${base}redoc.standalone.js">\n`
    const meta = `<meta http-equiv="Content-Security-Policy" content="${own}">\n`
    const links = `<link rel="icon" href="${base}icon.svg">\n<link rel="stylesheet" href="${base}code.css">\n`
    return withFiles
      .replaceAll(/(<[^<>]*) style="[^"]*"/g, '$1')
      .replace(/(<meta charset="utf-8">\n)/, `$1${meta}${isReference ? early : ''}`)
      .replace('</head>', `${links}</head>`)
  },
  async buildEnd({ outDir }) {
    // Pages are made at the same time: without this, the order would be another one each time.
    const rules = styles.getCSS().split(/(?<=\})/)
    await writeFile(join(outDir, 'code.css'), rules.sort().join(''))
  },
})

/** Writes the licence texts of what browsers load, which the build for rendering on this machine has nothing of. */
function licences(): VitePlugin {
  return {
    name: 'licences',
    apply: ({ build }) => !build?.ssr,
    generateBundle(_options, bundle) {
      const chunks = Object.values(bundle).filter((file) => file.type === 'chunk')
      const modules = chunks.flatMap((chunk) => Object.entries(chunk.modules))
      const rendered = modules.filter(([, { renderedLength }]) => renderedLength > 0).map(([id]) => id)
      // Vite has moved them to one file.
      const styles = [...this.getModuleIds()].filter((id) => /\.css$|[?&]type=style\b/.test(id))
      this.emitFile({
        type: 'asset',
        fileName: thirdPartyFile,
        source: thirdPartyText([...rendered, ...styles], prebuilt),
      })
    },
  }
}

/** In blocks of code of the reference of the client package, a name that it exports is a link to its description. */
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
  // Vue would take `{{…}}` in a text's code for an expression.
  const render = md.renderer.rules.code_inline
  md.renderer.rules.code_inline = (...call) => render?.(...call).replace('<code', '<code v-pre') ?? ''
  // Columns are aligned by a class, because the policy of the pages allows no styles within them.
  md.core.ruler.push('columns', ({ tokens }) => {
    for (const [index, token] of tokens.entries()) {
      const [, side] = /^text-align:(\w+)$/.exec(token.attrGet('style') ?? '') ?? []
      if (side) token.attrs = [['class', side]]
      // Markdown has no table without headers, and a header without words is none to a screen reader.
      const [content, end] = tokens.slice(index + 1)
      if (token.type === 'th_open' && content?.content === '' && end) token.tag = end.tag = 'td'
    }
  })
}

async function renderForSearch(text: string, env: { relativePath: string }, md: MarkdownRenderer): Promise<string> {
  const { highlight = null } = md.options
  // The index has no colours, which take most of the time.
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
