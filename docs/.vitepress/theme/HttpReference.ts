import { useData, withBase } from 'vitepress'
import { defineComponent, h, onMounted, ref, watch } from 'vue'

declare const Redoc: { init(url: string, options: object, element: Element): void }

/** Shows the HTTP contract with Redoc. */
export default defineComponent(() => {
  const element = ref<HTMLElement>()
  const { isDark } = useData()
  onMounted(async () => {
    await loadRedoc()
    if (!element.value) return
    Redoc.init(withBase('/openapi.json'), optionsFor(isDark.value), element.value)
    makeAccessible(element.value)
  })
  // Redoc cannot change its colours after `init`.
  watch(isDark, () => location.reload())
  return () => h('main', { ref: element, id: 'reference' }, h('p', 'The reference is loading: it is a megabyte.'))
})

function loadRedoc(): Promise<unknown> {
  const script = document.createElement('script')
  script.src = withBase('/redoc.standalone.js')
  document.head.append(script)
  return new Promise((resolve, reject) => {
    script.onload = resolve
    script.onerror = reject
  })
}

const font = 'system-ui, -apple-system, "Segoe UI", Roboto, sans-serif'
const mono = 'ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace'

/** The colours are literals, because Redoc computes shades from them and cannot do that with CSS variables. */
function optionsFor(dark: boolean): object {
  const paper = dark
    ? { page: '#14161a', shade: '#1b1e24', text: '#dfe2e8', quiet: '#a6adb9', line: '#323843', link: '#93b4ff' }
    : { page: '#ffffff', shade: '#f5f6f9', text: '#1f242c', quiet: '#545c69', line: '#dce0e7', link: '#2746a6' }
  const signal = dark
    ? { success: '#8fd6a2', error: '#ff9a92', info: '#93b4ff', warning: '#f2b675' }
    : { success: '#1c6b32', error: '#a4262c', info: '#2746a6', warning: '#8a4b00' }

  const colors = {
    primary: { main: paper.link },
    success: { main: signal.success },
    warning: { main: signal.warning },
    error: { main: signal.error },
    gray: { 50: paper.shade, 100: paper.shade },
    text: { primary: paper.text, secondary: paper.quiet },
    border: { dark: paper.line, light: paper.line },
    responses: {
      success: { color: signal.success, tabTextColor: signal.success },
      error: { color: signal.error, tabTextColor: signal.error },
      redirect: { color: signal.warning, tabTextColor: signal.warning },
      info: { color: signal.info, tabTextColor: signal.info },
    },
  }

  return {
    downloadUrls: [{ title: 'openapi.yaml', url: withBase('/openapi.yaml') }],
    disableGoogleFont: true,
    hideHostname: true,
    expandResponses: '200,201,302',
    jsonSamplesExpandLevel: 4,
    scrollYOffset,
    sortRequiredPropsFirst: true,
    labels: { downloadSpecification: 'The contract' },
    theme: {
      colors,
      typography: {
        fontSize: '15px',
        lineHeight: '1.6em',
        fontFamily: font,
        links: { color: paper.link },
        headings: { fontFamily: font, fontWeight: '600' },
        code: { fontFamily: mono, fontSize: '13px', wrap: false, color: paper.text, backgroundColor: paper.shade },
      },
      schema: { nestedBackground: paper.shade, linesColor: paper.line, typeNameColor: paper.quiet },
      sidebar: {
        backgroundColor: paper.page,
        textColor: paper.text,
        activeTextColor: paper.link,
        groupItems: { activeBackgroundColor: paper.shade },
        level1Items: { activeBackgroundColor: paper.shade },
      },
      rightPanel: { backgroundColor: paper.page, textColor: paper.text },
      codeBlock: { backgroundColor: paper.shade },
      fab: { backgroundColor: paper.shade, color: paper.link },
    },
  }
}

/** Pixels above an operation that a link leads to: the navigation bar, and a gap if samples are next to the text. */
function scrollYOffset(): number {
  const { height } = (document.querySelector('.VPNavBar') as HTMLElement).getBoundingClientRect()
  return innerWidth < 1200 ? height : height + 24
}

/** Redoc skips heading levels, hides menu texts from screen readers, and has code that keys cannot scroll. */
function makeAccessible(element: HTMLElement): void {
  const correct = () => {
    for (const heading of element.querySelectorAll('h5:not([aria-level])')) {
      heading.role = 'heading'
      heading.ariaLevel = '3'
    }
    for (const item of element.querySelectorAll('[role=menuitem][aria-label]')) item.removeAttribute('aria-label')
    for (const code of element.querySelectorAll<HTMLElement>('pre:not([tabindex])')) code.tabIndex = 0
  }
  let isPlanned = false
  new MutationObserver(() => {
    if (isPlanned) return
    isPlanned = true
    requestAnimationFrame(() => {
      isPlanned = false
      correct()
    })
  }).observe(element, { childList: true, subtree: true })
}
