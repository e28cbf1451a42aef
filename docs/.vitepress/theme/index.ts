import { type Theme, withBase } from 'vitepress'
import DefaultTheme from 'vitepress/theme-without-fonts'
import { h, type VNode } from 'vue'
import HttpReference from './HttpReference.ts'
import './style.css'

/** A running service replaces this HTML comment by the link to its web app, which is not a part of this site. */
const appLink = '<!-- the link to the app -->'

export default {
  extends: DefaultTheme,
  Layout: () =>
    h(DefaultTheme.Layout, null, {
      'nav-bar-content-after': () => h('div', { class: 'vp-raw', innerHTML: appLink }),
      'not-found': missingPage,
    }),
  enhanceApp({ app, router }) {
    app.component('HttpReference', HttpReference)
    if (typeof window === 'undefined') return
    // Keeps old links working: the HTTP reference used to be the first page.
    if (/^#(operation|tag)\//.test(location.hash) && location.pathname === withBase('/'))
      location.replace(withBase(`/http.html${location.hash}`))
    new MutationObserver(correctSearch).observe(document.body, { childList: true })
    // Redoc needs the policy that only its page has, so a link to that page loads a new document.
    router.onBeforeRouteChange = (to) => {
      if (!isReference(new URL(to, location.href).pathname) || isReference(location.pathname)) return true
      location.assign(to)
      return false
    }
  },
} satisfies Theme

/** VitePress adds .html to the path, also if the page was requested without it. */
function isReference(path: string): boolean {
  return path === withBase('/http.html') || path === withBase('/http')
}

/** VitePress tells screen readers that the search dialog is a button and its links are options, and hides some words. */
function correctSearch(): void {
  const box = document.querySelector('.VPLocalSearchBox')
  if (!box || box.role === 'dialog') return
  const correct = () => {
    box.role = 'dialog'
    for (const list of box.querySelectorAll('[role=listbox], [role=option]')) {
      list.removeAttribute('role')
      list.removeAttribute('aria-selected')
    }
    for (const named of box.querySelectorAll('.result[aria-label], kbd[aria-label]'))
      named.removeAttribute('aria-label')
  }
  correct()
  new MutationObserver(correct).observe(box, { childList: true, subtree: true })
}

function missingPage(): VNode {
  return h('main', { class: 'missing' }, [
    h('h1', 'There is no such page'),
    h('p', 'It may have been renamed. Search for it, or choose a page from the list.'),
    h('a', { href: withBase('/') }, 'The first page'),
  ])
}
