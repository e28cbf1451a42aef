/** Starred repositories as bookmarks. */
import { isEqual } from '../../client/bookmark/equal.ts'
import { deriveId } from '../../client/crypto/derived-id.ts'
import type { Keys, PlaintextBookmark, Sync, SyncReader } from '../../client/index.ts'
import { type Bookmark, hostOf } from '../library/kind.ts'
import type { Star } from './github.ts'

/** The fields that this page stores with a star, in `extra`. */
interface StarFields {
  /** The API that the star was read from. The same user name on another server is another user. */
  github_api?: string
  /** The users who have starred it, in lower case. */
  github_users?: string[]
  github_language?: string | null
  /** The description on GitHub. The person may have edited the bookmark's description. */
  github_description?: string | null
  /** The day on which the number of stars was read (ISO 8601). */
  github_read?: string
}

/** If only the number of stars has changed, it is stored at most once in this number of days. */
const countDays = 30
const dayMs = 86_400_000

/** The id of a star, the same on every device: derived from the repository's number, which stays if it is renamed. */
export function idOf(keys: Keys, apiUrl: string, { repository }: Star): string {
  return deriveId(keys, { place: apiUrl, kind: 'star', name: `${repository.id}`, ordinal: 0 })
}

/** The server, and the user whose stars were read. */
export interface StarOrigin {
  apiUrl: string
  /** Undefined for a file, which does not name the user. */
  user: string | undefined
}

function newStar(id: string, star: Star, { apiUrl, user }: StarOrigin, now: number): PlaintextBookmark {
  const { full_name, html_url, name, description, stargazers_count, owner } = star.repository
  const domain = hostOf({ id, title: '', source: 'stars', url: html_url })
  return {
    id,
    title: full_name,
    url: html_url,
    source: 'stars',
    ...{ name, full_name, description, stargazers_count },
    ...(owner && { owner }),
    ...(star.starredAt && { dateAdded: star.starredAt }),
    ...(domain && { domain }),
    extra: {
      ...fieldsOf(star, now),
      github_api: apiUrl,
      github_users: user === undefined ? [] : [user.toLowerCase()],
    },
  }
}

/** Changes of a star since it was stored; null if there are none to store. Fields that the person has edited stay. */
export function changesOf(
  bookmark: Bookmark,
  star: Star,
  { apiUrl, user }: StarOrigin,
  now: number,
): Partial<PlaintextBookmark> | null {
  const { full_name, html_url, name, description, stargazers_count, owner } = star.repository
  const known: StarFields & Record<string, unknown> = { ...bookmark.extra }
  const users = new Set(usersOf(bookmark))
  if (user !== undefined) users.add(user.toLowerCase())
  const isOwnAddress = !bookmark.url?.endsWith(`/${bookmark.full_name}`)
  const isOwnNote = (bookmark.description ?? null) !== (known.github_description ?? null)
  const wanted = {
    ...{ name, full_name },
    ...(owner && { owner }),
    ...(bookmark.title === bookmark.full_name && { title: full_name }),
    ...(!isOwnAddress && { url: html_url }),
    ...(!isOwnNote && { description }),
    extra: {
      ...known,
      github_api: apiUrl,
      github_users: [...users].sort(),
      github_language: star.repository.language,
      github_description: description,
    },
  }
  const isOldCount = !known.github_read || now - Date.parse(known.github_read) >= countDays * dayMs
  const changed = Object.entries(wanted).filter(([field, value]) => !isEqual(bookmark[field as keyof Bookmark], value))
  if (changed.length === 0 && !(isOldCount && bookmark.stargazers_count !== stargazers_count)) return null
  return { ...Object.fromEntries(changed), stargazers_count, extra: { ...wanted.extra, github_read: dayOf(now) } }
}

/** The change that removes this user from a star. */
export function withoutUser(bookmark: Bookmark, user: string): Partial<PlaintextBookmark> {
  const others = usersOf(bookmark).filter((name) => name !== user.toLowerCase())
  return { extra: { ...bookmark.extra, github_users: others } }
}

/** Stored stars of this user and server that are not among the ids. */
export function missingStars(
  sync: Pick<SyncReader, 'bookmarks'>,
  { apiUrl, user }: { apiUrl: string; user: string },
  ids: ReadonlySet<string>,
): Bookmark[] {
  const stars = [...sync.bookmarks().values()].filter(({ source }) => source === 'stars')
  const isOfServer = ({ extra }: Bookmark) => (extra as StarFields | undefined)?.github_api === apiUrl
  return stars.filter((star) => !ids.has(star.id) && isOfServer(star) && usersOf(star).includes(user.toLowerCase()))
}

export function usersOf({ extra }: Bookmark): string[] {
  const { github_users: users } = (extra ?? {}) as StarFields
  return Array.isArray(users) ? users.filter((name) => typeof name === 'string') : []
}

export function languageOf({ extra }: Bookmark): string | undefined {
  const { github_language: language } = (extra ?? {}) as StarFields
  return typeof language === 'string' ? language : undefined
}

/** Adds and updates stars. Returns the number of each. */
export async function storeStars(
  sync: Sync,
  stars: readonly (readonly [id: string, star: Star])[],
  origin: StarOrigin,
  now: number,
): Promise<{ added: number; changed: number }> {
  const byId = new Map(stars)
  const fresh = [...byId].filter(([id]) => !sync.get(id))
  const added = fresh.map(([id, star]) => newStar(id, star, origin, now))
  const change = (bookmark: Bookmark) => {
    const star = byId.get(bookmark.id)
    return star ? changesOf(bookmark, star, origin, now) : null
  }
  const changed = [...byId.keys()].filter((id) => {
    const bookmark = sync.get(id)
    return bookmark && change(bookmark) !== null
  })
  // Added by an import, which does not overwrite what another device has stored under the same ids.
  const { imported } = added.length > 0 ? await sync.importBookmarks(added, { duplicates: 'keep' }) : { imported: 0 }
  if (changed.length > 0) await sync.update(changed, change)
  return { added: imported, changed: changed.length }
}

function fieldsOf({ repository }: Star, now: number): StarFields {
  return {
    github_language: repository.language,
    github_description: repository.description,
    github_read: dayOf(now),
  }
}

function dayOf(time: number): string {
  return new Date(time).toISOString().slice(0, 10)
}
