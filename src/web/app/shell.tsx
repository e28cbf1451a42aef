import type { FunctionComponent } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import type { Sync } from '../../client/index.ts'
import { SyncProvider } from '../../client/react.ts'
import { Sidebar } from '../sidebar/sidebar.tsx'
import { type App, AppContext } from './context.ts'
import { Header } from './header.tsx'
import { useRoute } from './route.ts'
import { useScroll } from './scroll.ts'
import { SecondDevice, useBeside } from './second-device.tsx'
import { useShortcuts } from './shortcuts.ts'
import { SyncTrouble } from './sync-trouble.tsx'
import { type View, views } from './views.ts'

/** It is typed for React. */
const Provider = SyncProvider as unknown as FunctionComponent<{ sync: Sync }>

/** The page of a signed-in person whose vault is open: header, sidebar, and the view that the address names. */
export function Shell({ app }: { app: App }) {
  const { view: path, rest } = useRoute()
  const beside = useBeside()
  useShortcuts(app.sync)
  const [isMenuOpen, setMenuOpen] = useState(false)
  const known = views.find((view) => view.path === path)
  const { Component, title } = known ?? (views[0] as View)
  const main = useRef<HTMLElement>(null)
  useEffect(() => setMenuOpen(false), [path, rest])
  useEffect(() => {
    if (!isMenuOpen) return
    const close = ({ key }: KeyboardEvent) => {
      if (key !== 'Escape') return
      setMenuOpen(false)
      document.querySelector<HTMLElement>('.menu-button')?.focus()
    }
    document.addEventListener('keydown', close)
    return () => document.removeEventListener('keydown', close)
  }, [isMenuOpen])
  const closeMenu = () => {
    if (!isMenuOpen) return
    setMenuOpen(false)
    // What was chosen is hidden with the menu, and what is hidden cannot keep the focus.
    main.current?.focus({ preventScroll: true })
  }
  // What is typed into the search is not another place.
  useScroll(main, [path, path === 'search' || rest])
  useEffect(() => {
    document.title = `${title} · Encrypted Bookmark Sync`
  }, [title])
  return (
    <AppContext.Provider value={app}>
      <Provider sync={app.sync}>
        <div class={beside.isOpen ? `devices shows-${beside.shown}` : 'devices'}>
          {beside.isOpen && <SecondDevice beside={beside} />}
          <div class={isMenuOpen ? 'shell menu-open' : 'shell'}>
            <Header beside={beside} isMenuOpen={isMenuOpen} toggleMenu={() => setMenuOpen(!isMenuOpen)} />
            <Sidebar close={closeMenu} />
            {/* biome-ignore lint/a11y/noNoninteractiveTabindex: The keyboard must be able to scroll it. */}
            <main ref={main} class="main" data-scrolls id="main" tabIndex={0}>
              <SyncTrouble />
              <Component rest={known ? rest : ''} key={path} />
            </main>
          </div>
        </div>
      </Provider>
    </AppContext.Provider>
  )
}
