/** Fills in the titles of bookmarks that were saved without one, if their user wants it. */

import { siteOf } from '../../client/bookmark/address.ts'
import type { PlaintextBookmark } from '../../client/bookmark.ts'
import { type Clock, pause, systemClock } from '../../client/timing/clock.ts'
import type { ExtensionSync } from '../index.ts'
import { platform } from './platform.ts'
import { allSites } from './settings.ts'
import { text } from './text.ts'

/** Bookmarks saved longer ago than this (ms) keep their titles. */
const maxAgeMs = 86_400_000
/** The shortest wait (ms), half of the longest: the user may be typing a title, or another browser may fill it in. */
const delayMs = 10_000
/** Key in `storage.session`: ids of the bookmarks whose site was asked since the browser started. */
const askedKey = 'titles'

/** Fills in the titles of bookmarks that other devices save, until the signal aborts. */
export function fillTitles(
  sync: Pick<ExtensionSync, 'get' | 'update' | 'on'>,
  signal: AbortSignal,
  clock: Clock = systemClock,
): void {
  const found = new Set<string>()
  let isFilling = false

  const fill = async () => {
    await pause(clock, delayMs * (1 + Math.random()), [], signal)
    const { session } = platform.storage
    const asked = new Set((await session.get(askedKey))[askedKey] as string[] | undefined)
    if (!(await platform.permissions.contains({ origins: allSites }))) found.clear()
    for (const id of found) {
      found.delete(id)
      const { url } = sync.get(id) ?? {}
      if (signal.aborted || asked.has(id) || url === undefined || !lacksTitle(sync.get(id))) continue
      await session.set({ [askedKey]: [...asked.add(id)] })
      const title = await titleOf(url).catch(() => '')
      const isStill = (bookmark: Readonly<PlaintextBookmark>) => bookmark.url === url && lacksTitle(bookmark)
      if (title) await sync.update(id, (bookmark) => (isStill(bookmark) ? { title } : null)).catch(() => {})
    }
  }
  const run = async () => {
    isFilling = true
    await fill().catch(() => {})
    await platform.offscreen?.closeDocument().catch(() => {})
    isFilling = false
  }
  sync.on('change', ({ ids, origin }) => {
    // Bookmarks added in this browser have the title that the user saw.
    if (origin === 'remote') for (const id of ids) if (lacksTitle(sync.get(id))) found.add(id)
    if (found.size > 0 && !isFilling) void run()
  })
}

/** True for a recently saved link with the site's name as its title, which the service's page gives to links without one. */
function lacksTitle(bookmark: Readonly<PlaintextBookmark> | undefined): boolean {
  const { url = '', title, dateAdded = '', source } = bookmark ?? {}
  const isRecent = Math.abs(Date.now() - Date.parse(dateAdded)) < maxAgeMs
  if (!isRecent || source !== 'bookmarks' || !URL.canParse(url)) return false
  return /^https?:$/.test(new URL(url).protocol) && title === siteOf(url)
}

/** Chrome's workers have no HTML parser and cannot load code later. Firefox's background page can do both. */
async function titleOf(url: string): Promise<string> {
  const { offscreen, runtime } = platform
  // The build puts it into a separate file.
  if (!offscreen) return (await import('./titles.js' as string)).titleOf(url)
  const reasons = ['DOM_PARSER'] as const
  // The document may exist already.
  await offscreen.createDocument({ url: 'titles.html', reasons, justification: text('fillTitles') }).catch(() => {})
  return (await runtime.sendMessage({ ask: 'title', url })).title ?? ''
}
