import { sharedValue } from '../ui/shared-value.ts'

/** A request that this tab sent, without its headers. */
export interface SeenRequest {
  number: number
  /** When the request was sent (Unix ms). */
  at: number
  method: string
  /** Includes the query. */
  path: string
  /** Only the beginning of a long body. */
  body: string
  bytes: number
  isCut: boolean
}

const mostRequests = 20
/** The most bytes kept of a body, because it may contain thousands of bookmarks. */
const mostBytes = 20_000

const requests = sharedValue<readonly SeenRequest[]>([])
let last = 0

export const useSeenRequests = requests.use

/** Wraps `send`, so that this tab remembers its last 20 requests. */
export function seen(send: (request: Request) => Promise<Response>): typeof send {
  return (request) => {
    const copy = request.clone()
    // Sends before anything else: while a page closes, the browser sends only requests that are made immediately.
    const answer = send(request)
    void note(copy)
    return answer
  }
}

async function note(request: Request): Promise<void> {
  const { method, url } = request
  const { pathname, search } = new URL(url)
  const number = ++last
  const at = Date.now()
  const content = await request.blob()
  const body = await content.slice(0, mostBytes).text()
  const one = {
    number,
    at,
    method,
    path: pathname + search,
    body,
    bytes: content.size,
    isCut: content.size > mostBytes,
  }
  requests.set([one, ...requests.get()].sort((one, other) => other.number - one.number).slice(0, mostRequests))
}
