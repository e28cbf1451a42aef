import type { ReadBookmarks } from '../../client/bookmark-file.ts'
import type { ImportReport, PlaintextBookmark, Sync } from '../../client/index.ts'
import { undoable } from '../../client/undo.ts'
import { stepsOf } from '../library/reversible.ts'
import type { App } from '../session/context.ts'
import { unsentOf } from '../session/network.ts'
import { noteImport } from '../session/running-import.ts'
import { messageOf } from '../ui/failure.ts'
import { sharedValue } from '../ui/shared-value.ts'
import { tell } from '../ui/tell.ts'
import { later } from '../words/later.ts'
import { readFile } from './read-file.ts'

/** An import, from reading the file to sending the bookmarks. It continues while the person uses other views. */
export interface ImportJob {
  what: 'Reading' | 'Encrypting' | 'Sending' | 'Done' | 'Failed'
  /** The progress from 0 to 1. */
  share: number
  /** How many bookmarks are encrypted or sent, and how many there are. */
  done?: number
  total?: number
  report?: ImportReport
  /** Bookmarks that could not be imported. */
  failed?: readonly { bookmark: PlaintextBookmark | undefined; why: string }[]
  /** The number of links that could not be read: they are damaged or have no address. */
  unread?: number
  /** The beginnings of damaged CSV rows. */
  damaged?: readonly string[] | undefined
  failure?: string
  /** True if bookmarks are still unsent, because this device is offline or signed out. */
  isOffline?: boolean
}

/** The total progress at the end of each step. */
const ends = { reading: 0.1, encrypting: 0.6 }

const job = sharedValue<ImportJob | undefined>(undefined)

export const useImportJob = job.use

/** True while an import runs. A second import must wait, because it would replace the report of the first. */
export function isRunning(job: ImportJob | undefined): boolean {
  return job !== undefined && job.what !== 'Done' && job.what !== 'Failed'
}

type Importer = Pick<App, 'sync' | 'userId'>

/** @param ask asks whether to import a web page that has `count` links, and calls `go` if so */
export async function importFile(
  app: Importer,
  file: File,
  ask: (count: number, go: () => void) => void,
): Promise<void> {
  try {
    job.set({ what: 'Reading', share: 0 })
    const read = await readFile(file)
    if (!read.isOrdinaryPage) return importAll(app, file.name, read)
    job.set(undefined)
    ask(read.bookmarks.length, () => importAll(app, file.name, read))
  } catch (error) {
    fail(messageOf(error))
  }
}

async function importAll(
  { sync, userId }: Importer,
  name: string,
  { bookmarks, unread, damaged }: ReadBookmarks,
): Promise<void> {
  try {
    const edits = undoable(sync)
    const steps = stepsOf(sync, edits)
    let isTakenBack = false
    const undo = async () => {
      isTakenBack = true
      const outcome = await steps.undo()
      job.set(undefined)
      return outcome
    }
    const onProgress = (done: number, total: number) =>
      job.set({ what: 'Encrypting', done, total, share: between(ends.reading, ends.encrypting, done / total) })
    const report = await noteImport(userId, bookmarks.length, () => edits.importBookmarks(bookmarks, { onProgress }))
    if (report.edited.length > 0) tell(later.settings.importedFile(name), { ...steps, undo })
    const byId = new Map(bookmarks.map((bookmark) => [bookmark.id, bookmark]))
    const failed = report.failed.map(({ id, error }) => ({ bookmark: byId.get(id), why: messageOf(error) }))
    const isOffline = await untilSent(sync, report.imported)
    job.set(isTakenBack ? undefined : { what: 'Done', share: 1, report, failed, unread, damaged, isOffline })
  } catch (error) {
    fail(messageOf(error))
  }
}

function fail(failure: string): void {
  job.set({ what: 'Failed', share: 1, failure })
}

/** Waits until everything is sent. Resolves with true if the sync goes offline or is signed out before that. */
function untilSent(sync: Sync, total: number): Promise<boolean> {
  return new Promise((resolve) => {
    const look = () => {
      const status = sync.status()
      const unsent = unsentOf(status)
      const done = Math.max(0, total - unsent)
      job.set({ what: 'Sending', done, total, share: between(ends.encrypting, 1, total === 0 ? 1 : done / total) })
      const isOffline = status.state === 'offline' || status.state === 'signed-out'
      if (unsent > 0 && !isOffline) return
      off()
      resolve(isOffline && unsent > 0)
    }
    const off = sync.on('status', look)
    look()
  })
}

function between(from: number, to: number, share: number): number {
  return from + (to - from) * share
}
