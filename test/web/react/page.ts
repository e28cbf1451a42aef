/** The page of react.test.ts: components that show a sync under StrictMode, and functions for the test. */
import { createElement, Fragment, memo, type ReactElement, StrictMode } from 'react'
import { createRoot, type Root } from 'react-dom/client'
import type { PlaintextBookmark } from '../../../src/client/bookmark.ts'
import { deriveKeys } from '../../../src/client/crypto/keys.ts'
import {
  SyncProvider,
  useBookmark,
  useBookmarks,
  useFolder,
  useSelection,
  useSyncStatus,
} from '../../../src/client/react.ts'
import type { Transport } from '../../../src/client/sync/exchange/transport.ts'
import { memoryStore } from '../../../src/client/sync/store/memory.ts'
import { createSyncOver, type Sync, type SyncReader } from '../../../src/client/sync/sync.ts'

/** A sync that sends nothing, because the test is about local edits. */
const engine = createSyncOver(
  () => ({}) as Transport,
  () => import('../../../src/client/sync/deferred.ts'),
  {
    ...{ keys: deriveKeys(new Uint8Array(32).fill(1)), userId: 'u', deviceId: 'd', store: memoryStore() },
    types: ['bookmark', 'group', 'history'],
  },
)
let subscribed = 0
const sync: Sync = { ...engine, select: (selector) => counted(engine.select(selector)) }

function counted<T>({ read, subscribe }: ReturnType<typeof engine.select<T>>) {
  const counting = (listener: () => void) => {
    subscribed++
    const remove = subscribe(listener)
    return () => {
      subscribed--
      remove()
    }
  }
  return { read, subscribe: counting }
}

/** The names of the components that were rendered. */
const rendered = new Set<string>()
const shown = document.body.appendChild(document.createElement('main'))
let root: Root | undefined

const Folder = memo(({ id }: { id?: string }): ReactElement => {
  rendered.add(`folder ${id ?? 'top'}`)
  const ids = useFolder(id)
  return createElement('ul', {}, ...ids.map((id) => createElement(Item, { key: id, id })))
})

const Item = memo(({ id }: { id: string }): ReactElement => {
  rendered.add(id)
  const bookmark = useBookmark(id)
  const inside = bookmark?.url === undefined && createElement(Folder, { id })
  return createElement('li', {}, bookmark?.title, inside)
})

const readCount = ({ bookmarks }: SyncReader) => bookmarks().size

const Totals = memo(() => {
  rendered.add('totals')
  const { waiting } = useSyncStatus()
  const folders = useBookmarks().filter(({ bookmark }) => bookmark.url === undefined).length
  return createElement('p', {}, `${useSelection(readCount)} bookmarks, ${folders} folders, ${waiting} to send`)
})

const readTabs = ({ groups }: SyncReader) =>
  groups.tree().flatMap(({ children }) => children.map(({ bookmark }) => bookmark.title))
const readVisits = ({ history }: SyncReader) => [...history.records().values()].map(({ visitCount }) => visitCount)

const Others = memo(() => {
  rendered.add('others')
  return createElement('p', {}, `tabs ${useSelection(readTabs)}, visits ${useSelection(readVisits)}`)
})

function show(content: ReactElement): void {
  root ??= createRoot(shown)
  root.render(createElement(StrictMode, {}, createElement(SyncProvider, { sync }, content)))
}

/** Waits until React has run all scheduled work and effects. */
async function settled(): Promise<void> {
  for (let frame = 0; frame < 3; frame++) await new Promise((resolve) => requestAnimationFrame(resolve))
}

export const app = {
  put: (bookmarks: PlaintextBookmark[]) => sync.put(bookmarks),
  /** Makes an edit. Returns the components that it rendered, and the text that is shown then. */
  async afterEdit(edit: 'remove' | 'move' | 'put', bookmark: PlaintextBookmark) {
    await settled()
    rendered.clear()
    if (edit === 'put') await sync.put(bookmark)
    else if (edit === 'move') await sync.move(bookmark.id, { parentId: bookmark.parentId })
    else await sync.remove(bookmark.id)
    await settled()
    return { rendered: [...rendered].sort(), text: shown.innerText.replace(/\s+/g, ' ') }
  },
  /** Like `afterEdit`, for tab groups and history, which a separate component shows. */
  async afterEditOf(type: 'groups' | 'history', records: PlaintextBookmark[]) {
    show(createElement(Fragment, {}, createElement(Totals), createElement(Others)))
    await settled()
    rendered.clear()
    await sync[type].put(records)
    await settled()
    return { rendered: [...rendered].sort(), text: shown.innerText.replace(/\s+/g, ' ') }
  },
  async mount() {
    show(createElement(Fragment, {}, createElement(Totals), createElement(Folder)))
    await settled()
    return shown.innerText.replace(/\s+/g, ' ')
  },
  async unmount() {
    root?.unmount()
    root = undefined
    await settled()
    return subscribed
  },
  subscribed: () => subscribed,
  signOut: () => sync.signOut({ discardUnsent: true }).catch(() => {}),
}
