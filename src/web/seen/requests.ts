import { sharedValue } from '../ui/shared-value.ts'

/** A request as sent by this tab, without the headers that a browser adds. */
export interface SeenRequest {
  number: number
  /** Unix ms. */
  at: number
  method: string
  /** Includes the query. */
  path: string
  /** Only the beginning, if it is long. */
  body: string
  bytes: number
  isCut: boolean
}

const mostRequests = 20
/** Bytes of a body that are kept, because it may contain thousands of bookmarks. */
const mostBytes = 20_000

const requests = sharedValue<readonly SeenRequest[]>([])
let last = 0

export const useSeenRequests = requests.use

/** Keeps the last 20 requests in this tab's memory. */
export function seen(send: (request: Request) => Promise<Response>): typeof send {
  return (request) => {
    const copy = request.clone()
    // Sends first: a page that is closing sends its last request only if that happens immediately.
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
