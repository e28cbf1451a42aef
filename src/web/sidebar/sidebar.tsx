import { hrefOf, useRoute } from '../app/route.ts'
import { type View, views } from '../app/views.ts'
import { Icon } from '../ui/icon.tsx'
import { DocsIcon } from '../ui/icons.ts'
import { FolderTree } from './folder-tree.tsx'
import { TagList } from './tag-list.tsx'

/** Where one can go: the views, the folders, the tags. On narrow screens it opens above the page. */
export function Sidebar({ close }: { close: () => void }) {
  return (
    <>
      {/* biome-ignore lint/a11y/noStaticElementInteractions: The menu button closes it, too. */}
      {/* biome-ignore lint/a11y/useKeyWithClickEvents: The menu button closes it, too. */}
      <div class="scrim" onClick={close} />
      {/* biome-ignore lint/a11y/useKeyWithClickEvents: Enter on a link is a click. */}
      <nav
        class="sidebar"
        id="sidebar"
        aria-label="Views, folders and tags"
        data-scrolls
        onClick={({ target }) => target instanceof Element && target.closest('a') && close()}
      >
        <Group group="library" />
        <FolderTree />
        <TagList />
        <Group group="care" />
        <Group group="app" />
        <a class="link" href="/docs">
          <Icon of={DocsIcon} />
          <span>Documentation</span>
        </a>
      </nav>
    </>
  )
}

function Group({ group }: { group: View['group'] }) {
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
              <span>{one.title}</span>
              {one.Badge && <one.Badge />}
            </a>
          </li>
        ))}
    </ul>
  )
}
