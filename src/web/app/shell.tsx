import type { FunctionComponent, RefObject } from 'preact'
import { type Inputs, useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import type { Sync } from '../../client/index.ts'
import { SyncProvider } from '../../client/react.ts'
import { openCommandBar } from '../command-bar/command-bar.tsx'
import { addHere, reopenDraft } from '../library/editor.tsx'
import { type App, AppContext } from '../session/context.ts'
import { entryId, scrollPositions } from '../session/entries.ts'
import { go, hrefOf, useRoute } from '../session/route.ts'
import { Sidebar } from '../sidebar/sidebar.tsx'
import { IconButton } from '../ui/button.tsx'
import { BookmarkPlusIcon, SearchIcon } from '../ui/icons.tsx'
import { Empty } from '../ui/waiting.tsx'
import { fill, say } from '../words/words.ts'
import { Header, ownMenu } from './header.tsx'
import { SyncTrouble } from './notices.tsx'
import { SecondDevice, useSecondDevice } from './second-device.tsx'
import { useCapture, useShortcuts } from './shortcuts.ts'
import { type View, views } from './views.ts'

/** SyncProvider's type names React's types, but this page uses Preact. */
const Provider = SyncProvider as unknown as FunctionComponent<{ sync: Sync }>

/** The commands that open a view: one for each view that the sidebar links to. */
const goTo = views
  .filter(({ group }) => group !== undefined)
  .map(({ icon, path }) => ({ label: say.app.views[path], icon, action: () => go(path) }))

/** The page of a signed-in person whose vault is open: header, sidebar, and the view that the address names. */
export function Shell({ app }: { app: App }) {
  const { view: path, rest } = useRoute()
  const beside = useSecondDevice()
  useShortcuts(app.sync, () => openCommandBar(app.sync, [...goTo, ...ownMenu(app)]))
  useCapture(app.sync)
  useEffect(() => {
    if (app.device.keepsKey) reopenDraft(app)
  }, [])
  const [isMenuOpen, setMenuOpen] = useState(false)
  const known = views.find((view) => view.path === path)
  const view = known ?? (path === '' ? (views[0] as View) : undefined)
  const Component = view?.Component ?? Nowhere
  const title = view ? say.app.views[view.path] : say.app.notFound
  const main = useRef<HTMLElement>(null)
  useEffect(() => setMenuOpen(false), [path, rest])
  // A layout effect, because a normal one would miss a key pressed before the next frame.
  useLayoutEffect(() => {
    if (!isMenuOpen) return
    const close = ({ key }: KeyboardEvent) => {
      if (key !== 'Escape') return
      setMenuOpen(false)
      document.querySelector<HTMLElement>('[aria-controls=sidebar]')?.focus()
    }
    document.addEventListener('keydown', close)
    return () => document.removeEventListener('keydown', close)
  }, [isMenuOpen])
  const closeMenu = () => {
    if (!isMenuOpen) return
    setMenuOpen(false)
    // Moves the focus from the chosen link, which is hidden together with the menu.
    main.current?.focus({ preventScroll: true })
  }
  // Typing in the search does not count as going to another place.
  useScroll(main, [path, path === 'search' || rest])
  useEffect(() => {
    document.title = `${title} · ${say.ui.brand}`
  }, [title])
  return (
    <AppContext.Provider value={app}>
      <Provider sync={app.sync}>
        <div class={beside.isOpen ? `devices shows-${beside.shown}` : 'devices'}>
          {beside.isOpen && <SecondDevice beside={beside} />}
          <div class={isMenuOpen ? 'shell menu-open' : 'shell'}>
            <Header beside={beside} isMenuOpen={isMenuOpen} toggleMenu={() => setMenuOpen(!isMenuOpen)} />
            <Sidebar views={views} close={closeMenu} />
            {/* biome-ignore lint/a11y/noNoninteractiveTabindex: The keyboard must be able to scroll it. */}
            <main ref={main} class="main" data-scrolls id="main" tabIndex={0}>
              <SyncTrouble />
              <Component rest={known ? rest : ''} key={path} />
            </main>
            {/* Placed for the thumb of the hand that holds a telephone. */}
            <IconButton
              label={say.library.addBookmark}
              icon={BookmarkPlusIcon}
              look="primary"
              class="add-floating"
              onClick={() => addHere(app.sync)}
            />
          </div>
        </div>
      </Provider>
    </AppContext.Provider>
  )
}

/** Shown if the address names no view: it is mistyped, or from another version of the page. */
function Nowhere() {
  return (
    <section class="page">
      <h1 class="unseen">{say.app.notFound}</h1>
      <Empty icon={SearchIcon} title={say.app.nothingHere}>
        <p>{fill(say.app.hereAreAll, { a: (text) => <a href={hrefOf('all')}>{text}</a> })}</p>
      </Empty>
    </section>
  )
}

/** The scroll position of each entry of the browser's history. The tab keeps them after the page is left. */
const scrolled = new Map<string, number>()
let shown = ''

/** Shows a new place from its top. "Back" and "forward" restore the scroll position. `inputs` identifies the place. */
function useScroll(scroller: RefObject<HTMLElement | null>, inputs: Inputs): void {
  useLayoutEffect(() => {
    const kept: [string, number][] = JSON.parse(sessionStorage.getItem(scrollPositions) ?? '[]')
    for (const [id, top] of kept) scrolled.set(id, top)
  }, [])
  useLayoutEffect(() => {
    shown = entryId()
    scroller.current?.scrollTo(0, scrolled.get(shown) ?? 0)
  }, inputs)
  useEffect(() => {
    const element = scroller.current
    const remember = () => scrolled.set(shown, element?.scrollTop ?? 0)
    const keep = () => sessionStorage.setItem(scrollPositions, JSON.stringify([...scrolled]))
    element?.addEventListener('scroll', remember, { passive: true })
    addEventListener('pagehide', keep)
    return () => {
      element?.removeEventListener('scroll', remember)
      removeEventListener('pagehide', keep)
    }
  }, [])
}
