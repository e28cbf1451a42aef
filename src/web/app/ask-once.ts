import { getSession } from '../../../generated/paths.ts'

type Send = (request: Request) => Promise<Response>

/** From the start of the page to its first exchange, on a slow device too. Later, somebody else may be signed in. */
const freshMs = 15_000

/**
 * Asks only once who is signed in when the page is loaded: the page needs the answer to know whose bookmarks to open, and
 * the sync before its first exchange.
 */
export function askOnce(send: Send): Send {
  let asked: { answer: Response; at: number } | undefined
  return async (request) => {
    if (new URL(request.url).pathname !== getSession) return send(request)
    if (!asked) {
      const answer = await send(request)
      if (answer.ok) asked = { answer: answer.clone(), at: performance.now() }
      return answer
    }
    const { answer, at } = asked
    return answer.bodyUsed || performance.now() - at > freshMs ? send(request) : answer
  }
}
