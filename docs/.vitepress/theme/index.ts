import { type Theme, withBase } from 'vitepress'
import DefaultTheme from 'vitepress/theme-without-fonts'
import { h, type VNode } from 'vue'
import HttpReference from './HttpReference.ts'
import './style.css'

/** A running service puts the link to its web app in the place of the comment; it leads out of this site. */
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
    // The reference of the contract was once the first page.
    if (/^#(operation|tag)\//.test(location.hash) && location.pathname === withBase('/'))
      location.replace(withBase(`/http.html${location.hash}`))
    new MutationObserver(mendSearch).observe(document.body, { childList: true })
    // Redoc needs the policy that only its own page has, so that page is loaded again, from wherever one comes.
    router.onBeforeRouteChange = (to) => {
      if (!isOperations(new URL(to, location.href).pathname) || isOperations(location.pathname)) return true
      location.assign(to)
      return false
    }
  },
} satisfies Theme

/** VitePress names pages with .html, also those that were asked for without. */
function isOperations(path: string): boolean {
  return path === withBase('/http.html') || path === withBase('/http')
}

/** To screen readers, VitePress makes the dialog of the search a button and its links options, and hides words of both. */
function mendSearch(): void {
  const box = document.querySelector('.VPLocalSearchBox')
  if (!box || box.role === 'dialog') return
  const mend = () => {
    box.role = 'dialog'
    for (const list of box.querySelectorAll('[role=listbox], [role=option]')) {
      list.removeAttribute('role')
      list.removeAttribute('aria-selected')
    }
    for (const named of box.querySelectorAll('.result[aria-label], kbd[aria-label]'))
      named.removeAttribute('aria-label')
  }
  mend()
  new MutationObserver(mend).observe(box, { childList: true, subtree: true })
}

function missingPage(): VNode {
  return h('main', { class: 'missing' }, [
    h('h1', 'There is no such page'),
    h('p', 'It may have another name now. Search for it, or take one of the list.'),
    h('a', { href: withBase('/') }, 'The first page'),
  ])
}
