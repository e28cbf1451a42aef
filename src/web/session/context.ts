import { createContext } from 'preact'
import { useContext } from 'preact/hooks'
import type { Client, Keys, Sync } from '../../client/index.ts'
import { say } from '../words/words.ts'
import { browserText, type Device } from './device.ts'

/** Every view of an open vault works with these. */
export interface App {
  client: Client
  sync: Sync
  keys: Keys
  userId: string
  /** The person's name; empty if the provider told none. */
  person: string
  device: Device
  /** The sync has the browsing history, too. */
  areVisitsShown: boolean
}

export const AppContext = createContext<App | undefined>(undefined)

export function useApp(): App {
  const app = useContext(AppContext)
  if (!app) throw new Error('This component is shown only while the vault is open')
  return app
}

/** A device's kind by its id and, so that two of a kind differ, the end of the id. */
export function kindOfDevice(id: string): string {
  const [, kind, code] = /^(.*?)-?[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{8}([0-9a-f]{4})$/.exec(id) ?? []
  if (kind === undefined) return id
  return `${kinds[kind] ?? browserText(kind)} (${code})`
}

const kinds: Record<string, string> = { '': say.app.device, web: say.app.browser, demo: say.app.secondDevice }
