import { v7 as uuidv7 } from 'uuid'
import { createTabs, indexedDbStore, memoryStore, type Store, type Tabs } from '../../client/index.ts'
import { browserOf } from './browser.ts'

/** This device: its permanent id, and where it keeps its copy. */
export interface Device {
  id: string
  /** Shown at the top of the page. */
  name: string
  open(userId: string): { store: Store; tabs?: Tabs }
  /** Whether the browser may keep the master key for it. */
  keepsKey: boolean
}

/** This browser or, with `?device=NAME`, a second device alongside it, which forgets everything when it is closed. */
export function thisDevice(): Device {
  const name = new URLSearchParams(location.search).get('device')
  if (name !== null) {
    return { id: `demo-${uuidv7()}`, name, keepsKey: false, open: () => ({ store: memoryStore() }) }
  }
  const id = localStorage.getItem('device-id') ?? newId()
  localStorage.setItem('device-id', id)
  return {
    id,
    name: 'This browser',
    keepsKey: true,
    open: (userId) => ({ store: indexedDbStore(userId), tabs: createTabs(userId) }),
  }
}

/** It says what kind of device this is: the list of devices has nothing else to tell them apart by. */
function newId(): string {
  const kind = browserOf(navigator.userAgent) || 'web'
  return `${kind.replaceAll(' ', '-')}-${uuidv7()}`
}
