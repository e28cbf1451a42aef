import type { ComponentType } from 'preact'
import { useLayoutEffect, useState } from 'preact/hooks'
import type { SyncReader } from '../../client/index.ts'
import { useSync } from '../../client/react.ts'
import { TagMenu } from '../library/tag-menu.tsx'
import { countTags } from '../library/tags.tsx'
import { hrefOf, useRoute } from '../session/route.ts'
import { Button } from '../ui/button.tsx'
import { DocsIcon, Icon, type IconShapes } from '../ui/icons.tsx'
import { LanguageMenu } from '../ui/menu.tsx'
import { locale } from '../words/language.ts'
import { say } from '../words/words.ts'
import { Folders } from './folders.tsx'
import { Section } from './section.tsx'

/** A view's link in the sidebar. */
export interface ViewLink {
  /** The view's part of the address: `#/folder/…`. */
  path: keyof typeof say.app.views
  icon: IconShapes
  /** The group of the link; views without a group are not in the sidebar. */
  group?: 'library' | 'care' | 'app'
  /** Shown after the link, such as a number. */
  Badge?: ComponentType
}

/** Links to the views, folders and tags. On narrow screens, they open over the page. */
export function Sidebar({ views, close }: { views: readonly ViewLink[]; close: () => void }) {
  return (
    <>
      {/* biome-ignore lint/a11y/noStaticElementInteractions: The menu button closes it, too. */}
      {/* biome-ignore lint/a11y/useKeyWithClickEvents: The menu button closes it, too. */}
      <div class="scrim" onClick={close} />
      {/* biome-ignore lint/a11y/useKeyWithClickEvents: Enter on a link is a click. */}
      <nav
        class="sidebar"
        id="sidebar"
        aria-label={say.sidebar.label}
        data-scrolls
        onClick={({ target }) => target instanceof Element && target.closest('a') && close()}
      >
        <Group views={views} group="library" />
        <Group views={views} group="care" />
        <Section name="app" title={say.sidebar.settings}>
          <Group views={views} group="app" />
          <a class="link" href={say.ui.helpAddress}>
            <Icon of={DocsIcon} />
            <span>{say.sidebar.help}</span>
          </a>
          <LanguageMenu class="link" />
        </Section>
        <Folders />
        <TagList />
      </nav>
    </>
  )
}

function Group({ views, group }: { views: readonly ViewLink[]; group: ViewLink['group'] }) {
  const { view, rest } = useRoute()
  const current = rest === '' ? (views.find(({ path }) => path === view) ?? views[0]) : undefined
  return (
    <ul class="links">
      {views
        .filter((one) => one.group === group)
        .map((one) => (
          <li key={one.path}>
            <a
              class="link"
              href={hrefOf(one.path)}
              aria-current={one === current ? 'page' : undefined}
              data-drop-folder={one.path === 'folder' ? '' : undefined}
            >
              <Icon of={one.icon} />
              <span>{say.app.views[one.path]}</span>
              {one.Badge && <one.Badge />}
            </a>
          </li>
        ))}
    </ul>
  )
}

/** The number of entries shown before "Show all". */
const maxShown = 20
const countAfterMs = 200

type Tag = readonly [name: string, count: number]

/** The tags, the most used first. */
function TagList() {
  const tags = useTags()
  const { view, rest } = useRoute()
  const [showsAll, setShowsAll] = useState(false)
  if (tags.length === 0) return null
  return (
    <Section name="tags" title={say.library.tags}>
      <ul>
        {(showsAll ? tags : tags.slice(0, maxShown)).map(([tag, count]) => (
          <li key={tag}>
            <a class="tag" href={hrefOf('tag', tag)} aria-current={view === 'tag' && rest === tag ? 'page' : undefined}>
              <span>{tag}</span> <span class="count">{count}</span>
            </a>
            <TagMenu tag={tag} label={say.sidebar.options(`#${tag}`)} isShortcut />
          </li>
        ))}
      </ul>
      {tags.length > maxShown && (
        <Button look="quiet" onClick={() => setShowsAll(!showsAll)}>
          {showsAll ? say.sidebar.fewer : say.sidebar.all(tags.length)}
        </Button>
      )}
    </Section>
  )
}

/** The tags, counted shortly after the last change: with many bookmarks, counting takes longer than an edit should. */
function useTags(): readonly Tag[] {
  const sync = useSync()
  const [tags, setTags] = useState(() => readTags(sync))
  useLayoutEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined
    const off = sync.on('change', () => {
      clearTimeout(timer)
      timer = setTimeout(() => setTags(readTags(sync)), countAfterMs)
    })
    return () => {
      clearTimeout(timer)
      off()
    }
  }, [sync])
  return tags
}

/** Numeric, so that 2 comes before 10. */
const { compare } = new Intl.Collator(locale, { numeric: true })

function readTags(sync: SyncReader): Tag[] {
  return [...countTags(sync)].sort(([one, ones], [other, others]) => others - ones || compare(one, other))
}
