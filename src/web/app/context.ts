import { createContext } from 'preact'
import { useContext } from 'preact/hooks'
import type { Client, Keys, Sync } from '../../client/index.ts'
import type { Device } from './device.ts'

/** What every view of an open vault works with. */
export interface App {
  client: Client
  sync: Sync
  keys: Keys
  userId: string
  /** The person's name; empty if the provider told none. */
  person: string
  device: Device
}

export const AppContext = createContext<App | undefined>(undefined)

export function useApp(): App {
  const app = useContext(AppContext)
  if (!app) throw new Error('This component is shown only while the vault is open')
  return app
}
