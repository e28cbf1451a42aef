import type { App } from '../session/context.ts'
import { messageOf } from '../ui/failure.ts'
import { whenLeaving } from '../ui/leaving.ts'
import { sharedValue } from '../ui/shared-value.ts'
import { later } from '../words/later.ts'
import { GitHubError, readStarFile, readStars, type Star, type StarSource } from './github.ts'
import { idOf, missingStars, storeStars } from './stars.ts'

/** The progress of reading a person's stars. Reading continues while the person uses other views. */
export interface StarJob {
  state: 'reading' | 'waiting' | 'done' | 'failed' | 'ended'
  read: number
  added: number
  changed: number
  /** The number of the page that was read last, and the number of pages. */
  page?: number
  pages?: number | undefined
  /** When GitHub's rate limit ends (Unix ms). */
  until?: number
  failure?: string
  /** False if GitHub may not have listed all stars. */
  isComplete?: boolean
  /** Stored stars that GitHub no longer lists; known only if it has listed all. */
  missing?: { user: string; ids: readonly string[] } | undefined
}

const nothing = { read: 0, added: 0, changed: 0 }
const job = sharedValue<StarJob | undefined>(undefined)
let ending = new AbortController()

export const useStarJob = job.use

export function isReading(job: StarJob | undefined): boolean {
  return job?.state === 'reading' || job?.state === 'waiting'
}

/** Removes the question about missing stars. */
export function settleMissing(): void {
  const ended = job.get()
  job.set(ended && { ...ended, missing: undefined })
}

/** Stops reading. Stars that are already stored stay. */
export function endReading(): void {
  ending.abort()
}

type Owner = Pick<App, 'sync' | 'keys'>

/** Reads all pages, and stores each as soon as it is read. */
export async function fetchStars(
  { sync, keys }: Owner,
  source: Pick<StarSource, 'apiUrl' | 'user' | 'token'>,
): Promise<void> {
  const { apiUrl, user } = source
  let done = { ...nothing }
  const store = async (page: number, stars: readonly Star[], pages: number | undefined) => {
    const found = stars.map((star) => [idOf(keys, apiUrl, star), star] as const)
    for (const [id] of found) ids.add(id)
    const { added, changed } = await storeStars(sync, found, { apiUrl, user }, Date.now())
    done = { read: ids.size, added: done.added + added, changed: done.changed + changed }
    job.set({ state: 'reading', ...done, page, pages })
  }
  const ids = new Set<string>()
  await run(
    () => done,
    async (signal) => {
      const onWait = (until: number) => job.set({ state: 'waiting', ...done, until })
      const pages = readStars({ ...source, signal, onWait })
      for (let page = 1; ; page++) {
        const { done: isEnd, value } = await pages.next()
        if (isEnd) {
          const gone = value ? missingStars(sync, { apiUrl, user }, ids).map(({ id }) => id) : []
          const missing = gone.length > 0 && { missing: { user, ids: gone } }
          job.set({ state: 'done', ...done, isComplete: value, ...missing })
          return
        }
        await store(page, value.stars, value.pages)
        signal.throwIfAborted()
      }
    },
  )
}

/** Reads the output of `gh api --paginate user/starred`. It names no user, so missing stars cannot be found. */
export async function importStars({ sync, keys }: Owner, apiUrl: string, file: File): Promise<void> {
  await run(
    () => nothing,
    async () => {
      const stars = readStarFile(await file.text())
      const found = stars.map((star) => [idOf(keys, apiUrl, star), star] as const)
      const stored = await storeStars(sync, found, { apiUrl, user: undefined }, Date.now())
      job.set({ state: 'done', read: found.length, ...stored, isComplete: true })
    },
  )
}

async function run(done: () => typeof nothing, work: (signal: AbortSignal) => Promise<void>): Promise<void> {
  ending = new AbortController()
  const { signal } = ending
  const off = whenLeaving(endReading)
  job.set({ state: 'reading', ...nothing })
  try {
    await work(signal)
  } catch (error) {
    if (signal.aborted) job.set({ state: 'ended', ...done() })
    else job.set({ state: 'failed', ...done(), failure: textOf(error) })
  } finally {
    off()
  }
}

function textOf(error: unknown): string {
  if (error instanceof GitHubError) return later.stars.faults[error.fault]
  if (error instanceof SyntaxError) return later.stars.noFile
  return messageOf(error)
}
