/** Reads a person's starred repositories from GitHub's REST API, in their own browser. */

import { type Clock, systemClock } from '../../client/timing/clock.ts'

/** A repository as GitHub's API returns it, with the fields that are used here. */
export interface Repository {
  id: number
  name: string
  full_name: string
  html_url: string
  description: string | null
  stargazers_count: number
  language: string | null
  owner: { login: string; avatar_url: string } | null
}

export interface Star {
  repository: Repository
  /** When the user starred it (ISO 8601). Files that `gh` has written may not have it. */
  starredAt?: string
}

/** A page of a person's stars, the newest first. */
export interface StarPage {
  stars: Star[]
  /** The number of pages, if GitHub reports it. */
  pages: number | undefined
}

export interface StarSource {
  /** The address of GitHub's API, such as `https://api.github.com`. */
  apiUrl: string
  user: string
  /** Makes GitHub list private repositories, too, and allow more requests. It must be the user's own token. */
  token?: string | undefined
  signal: AbortSignal
  /** Called before waiting because of GitHub's rate limit, with the time when reading continues (Unix ms). */
  onWait: (until: number) => void
  /** Default: the browser's. */
  clock?: Clock
}

/**
 * Why the stars could not be read:
 *
 * - `no-user`: GitHub does not know the user
 * - `bad-token`: GitHub does not accept the token
 * - `other-token`: the token belongs to another user
 * - `refused`: GitHub refuses the list
 * - `away`: GitHub did not answer or had an internal error, or something else answered
 */
export class GitHubError extends Error {
  readonly fault: 'no-user' | 'bad-token' | 'other-token' | 'refused' | 'away'

  constructor(fault: GitHubError['fault']) {
    super(`GitHub: ${fault}`)
    this.fault = fault
  }
}

/** The most that GitHub lists per page. */
const perPage = 100
const mostPages = 1000

/**
 * Yields the pages. Returns false if stars may be missing.
 *
 * @throws GitHubError, or the signal's reason
 */
export async function* readStars(source: StarSource): AsyncGenerator<StarPage, boolean> {
  const { apiUrl, user, token } = source
  if (token) await requireOwner(source)
  const path = token ? '/user/starred' : `/users/${encodeURIComponent(user.toLowerCase())}/starred`
  let next: string | undefined = `${apiUrl}${path}?per_page=${perPage}`
  let isComplete = true
  for (let page = 1; next !== undefined; page++) {
    const { status, headers, content } = await ask(next, source)
    // GitHub refuses pages beyond a certain number with 422.
    if (status === 422 || page > mostPages) return false
    if (!Array.isArray(content)) throw new GitHubError('away')
    const stars = content.flatMap((item) => starOf(item) ?? [])
    const links = linksIn(headers.get('link'))
    // A proxy may have removed the `Link` header, so a full first page may not be everything.
    isComplete &&= stars.length === content.length && (page > 1 || links.has('next') || content.length < perPage)
    const last = Number(URL.parse(links.get('last') ?? '')?.searchParams.get('page') ?? page)
    yield { stars, pages: Number.isSafeInteger(last) && last >= page ? last : undefined }
    next = links.get('next')
    if (next !== undefined && !next.startsWith(`${apiUrl}/`)) throw new GitHubError('away')
  }
  return isComplete
}

/** Throws if the token belongs to somebody else: GitHub would list that person's stars. */
async function requireOwner(source: StarSource): Promise<void> {
  const { content } = await ask(`${source.apiUrl}/user`, source)
  const { login } = Object(content) as { login?: unknown }
  if (typeof login !== 'string') throw new GitHubError('away')
  if (login.toLowerCase() !== source.user.toLowerCase()) throw new GitHubError('other-token')
}

interface Answer {
  status: number
  headers: Headers
  content: unknown
}

/** Milliseconds before the second and third attempt after a network or server error. */
const pausesMs = [2000, 8000]

/** Resolves with a response of status 200 or 422. Waits while GitHub's rate limit is exceeded. */
async function ask(url: string, source: StarSource): Promise<Answer> {
  const { token, signal, onWait, clock = systemClock } = source
  const pauses = [...pausesMs]
  for (let limits = 0; ; ) {
    const response = await send(url, token, signal)
    const content: unknown = await response?.json().catch(() => undefined)
    signal.throwIfAborted()
    if (response && content !== undefined) {
      const waitMs = limitMs(response, limits, clock.now())
      if (waitMs !== undefined) {
        limits++
        onWait(clock.now() + waitMs)
        await clock.sleep(waitMs, signal)
        continue
      }
      const { status, headers } = response
      if (status === 200 || status === 422) return { status, headers, content }
      if (status === 404) throw new GitHubError('no-user')
      if (status === 401) throw new GitHubError('bad-token')
      if (status >= 400 && status < 500) throw new GitHubError('refused')
    }
    const pauseMs = pauses.shift()
    if (pauseMs === undefined) throw new GitHubError('away')
    await clock.sleep(pauseMs, signal)
  }
}

async function send(url: string, token: string | undefined, signal: AbortSignal): Promise<Response | undefined> {
  const headers = {
    Accept: 'application/vnd.github.star+json',
    'X-GitHub-Api-Version': '2022-11-28',
    ...(token && { Authorization: `Bearer ${token}` }),
  }
  try {
    // A response says whose stars these are, and may name private repositories: it must not stay on the disk.
    return await fetch(url, { headers, cache: 'no-store', credentials: 'omit', referrerPolicy: 'no-referrer', signal })
  } catch {
    signal.throwIfAborted()
    return undefined
  }
}

const minuteMs = 60_000
/** The longest wait. GitHub counts requests per hour. */
const longestMs = 61 * minuteMs

/** How long to wait (ms) if GitHub's rate limit is exceeded; undefined if it is not. */
function limitMs({ status, headers }: Response, limits: number, now: number): number | undefined {
  if (status !== 403 && status !== 429) return undefined
  const retryAfter = Number(headers.get('retry-after') ?? Number.NaN) * 1000
  const isUsedUp = headers.get('x-ratelimit-remaining') === '0'
  const untilReset = Number(headers.get('x-ratelimit-reset') ?? Number.NaN) * 1000 + 1000 - now
  const asked = retryAfter > 0 ? retryAfter : isUsedUp ? untilReset : Number.NaN
  if (Number.isNaN(asked) && status === 403 && !isUsedUp) return undefined
  // Bounded, because this device's clock may be wrong.
  return Math.min(asked > 0 ? Math.max(asked, 1000) : minuteMs * 2 ** Math.min(limits, 6), longestMs)
}

/** The addresses in a `Link` header (RFC 8288), by their `rel`. */
function linksIn(header: string | null): Map<string, string> {
  const links = (header ?? '').split(',').map((link) => link.split(';').map((part) => part.trim()))
  const relOf = (parts: string[]) => parts.find((part) => part.startsWith('rel='))?.replace(/^rel=|"/g, '') ?? ''
  return new Map(links.map(([address = '', ...parts]) => [relOf(parts), address.slice(1, -1)]))
}

/** A star in one of GitHub's two forms: if it has a date, the repository is in `repo`. Undefined for anything else. */
function starOf(item: unknown): Star | undefined {
  const { repo = item, starred_at: starredAt } = Object(item) as { repo?: unknown; starred_at?: unknown }
  const { id, name, full_name, html_url, ...rest } = Object(repo) as Record<string, unknown>
  if (!Number.isSafeInteger(id) || typeof name !== 'string' || typeof full_name !== 'string') return undefined
  if (typeof html_url !== 'string' || !/^https?:\/\/[^\s/]/.test(html_url) || !URL.canParse(html_url)) return undefined
  const { login, avatar_url } = Object(rest.owner) as Record<string, unknown>
  const owner = typeof login === 'string' ? { login, avatar_url: textOf(avatar_url) ?? '' } : null
  const stargazers_count = Number.isFinite(rest.stargazers_count) ? (rest.stargazers_count as number) : 0
  const [description, language] = [textOf(rest.description), textOf(rest.language)]
  return {
    repository: { id: id as number, name, full_name, html_url, description, stargazers_count, language, owner },
    ...(typeof starredAt === 'string' && /^\d{4}-\d\d-\d\dT[\d:.]{5,12}Z$/.test(starredAt) && { starredAt }),
  }
}

function textOf(value: unknown): string | null {
  return typeof value === 'string' ? value : null
}

/**
 * Reads the output of `gh api --paginate user/starred`: one array per page, in sequence, or with `--slurp` one array of
 * them.
 *
 * @throws SyntaxError if the text is something else
 */
export function readStarFile(text: string): Star[] {
  const items = arraysIn(text).flatMap((value) => JSON.parse(value) as unknown[])
  const stars = items.flat().flatMap((item) => starOf(item) ?? [])
  if (stars.length === 0 && items.flat().length > 0) throw new SyntaxError()
  return stars
}

/** The texts of the JSON arrays that follow each other in a text. */
function arraysIn(text: string): string[] {
  const arrays: string[] = []
  let [depth, start, isString] = [0, 0, false]
  for (let index = 0; index < text.length; index++) {
    const letter = text[index]
    if (letter === '"') isString = !isString
    else if (isString) index += letter === '\\' ? 1 : 0
    else if (letter === '[' && depth++ === 0) start = index
    else if (letter === ']' && --depth === 0) arrays.push(text.slice(start, index + 1))
  }
  if (depth !== 0 || arrays.length === 0) throw new SyntaxError()
  return arrays
}
