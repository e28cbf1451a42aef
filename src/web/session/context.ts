import { createContext } from 'preact'
import { useContext } from 'preact/hooks'
import type { Client, Keys, Sync } from '../../client/index.ts'
import { say } from '../words/words.ts'
import { browserText, type Device } from './device.ts'

/** The parts that every view of an open vault uses. */
export interface App {
  client: Client
  sync: Sync
  keys: Keys
  userId: string
  /** The person's name; empty if the provider did not send one. */
  person: string
  device: Device
  /** True if the sync includes the browsing history. */
  areVisitsShown: boolean
}

export const AppContext = createContext<App | undefined>(undefined)

export function useApp(): App {
  const app = useContext(AppContext)
  if (!app) throw new Error('This component is shown only while the vault is open')
  return app
}

/** The kind of a device, from its id, with the last 4 digits of the id to tell devices of the same kind apart. */
export function kindOfDevice(id: string): string {
  const [, kind, code] = /^(.*?)-?[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{8}([0-9a-f]{4})$/.exec(id) ?? []
  if (kind === undefined) return id
  return `${kinds[kind] ?? browserText(kind)} (${code})`
}

const kinds: Record<string, string> = { '': say.app.device, web: say.app.browser, demo: say.app.secondDevice }
