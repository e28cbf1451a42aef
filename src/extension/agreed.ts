import type { Content, Kind } from './entry.ts'

/**
 * What the browser and the service agreed on about a bookmark when they were last compared. Both are compared with it: what
 * differs was changed since.
 */
export interface AgreedRow {
  /** The service's id. */
  id: string
  /** The browser's id; null if it has none, because it is being made or was refused. */
  browserId: string | null
  /** When the browser made it (Unix ms): no two have the same id and time. Only what releases before 2.1 have stored lacks it. */
  dateAdded?: number | undefined
  kind: Kind
  /** The key of the folder around it. */
  parent: string
  /** As the service has it. */
  content: Content
  /** As the browser has it, if it has another form of it. */
  shown?: Content | undefined
  /**
   * A step that a worker has announced. If it does not live to see the end of it, the next one finds out whether the step
   * was taken. `adding`: to the service; `creating`: in the browser, since this time (Unix ms, the browser's clock) and
   * behind this id, or at the start of its folder
   */
  step?: { kind: 'adding' } | { kind: 'creating'; since: number; behind: string | undefined } | undefined
  /** Why one side did not take what the other has. It is not tried again until that changes. */
  refused?: { by: 'browser' | 'service'; message: string } | undefined
  /** A folder that this device leaves out. */
  leftOut?: true | undefined
  /** In the store only, of the row before: there was none. */
  isNone?: true | undefined
}

/** The last agreed tree. */
export interface Agreed {
  rows: Map<string, AgreedRow>
  /** By the folder's key, the ids of what both have in it, in order. */
  orders: Map<string, readonly string[]>
}

/** What changes in the agreed tree; null removes a row or an order. */
export interface AgreedChange {
  rows: ReadonlyMap<string, AgreedRow | null>
  orders: ReadonlyMap<string, readonly string[] | null>
}

/** Where the agreed tree is kept on this device. */
export interface AgreedStore {
  load(): Promise<Agreed>
  /** Writes all or nothing; resolves once it would survive a crash. */
  write(change: AgreedChange): Promise<void>
  /** Deletes everything. */
  wipe(): Promise<void>
}
