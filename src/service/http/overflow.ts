import type { Socket } from 'node:net'

/**
 * Bytes of URL and headers, twice Node's default: another host of the same domain may have set large cookies. Browsers
 * store up to 720 KiB of them per domain.
 */
export const maxHeadBytes = 32 * 1024
/** Bytes of headers that only cookies can cause: another site can add a long URL, but at most 5 KiB of headers. */
const cookieBytes = 16 * 1024
/** Reads a head up to this size (bytes), the longest that browsers send. */
const mostBytes = 1024 * 1024
/** How long (ms) to wait for the rest of the head, and for the client to read the response. */
const decideMs = 1000
const lingerMs = 5000

const overflowing = new WeakMap<Socket, (packet: Buffer) => void>()

/**
 * Answers a head that is too large. Called for each of its packets, because Node reports an error for each. Reads and
 * drops the rest: closing the connection while bytes arrive would reset it, and the client would lose the response.
 * `respond` gets true if cookies are the cause: then the browser must clear them, because every request would fail. A
 * long URL is not a reason to clear them, because any website can cause one.
 */
export function readOverflow(socket: Socket, packet: Buffer, respond: (isByCookies: boolean) => void): void {
  const read = overflowing.get(socket)
  if (read) {
    read(packet)
    return
  }
  const count = countHeaders()
  let received = 0
  let isAnswered = false

  function answer(isByCookies: boolean): void {
    if (isAnswered || socket.destroyed) return
    isAnswered = true
    clearTimeout(deciding)
    respond(isByCookies)
  }

  function readNext(chunk: Buffer): void {
    received += chunk.length
    if (received > mostBytes) {
      answer(false)
      socket.destroy()
      return
    }
    if (isAnswered) return
    const { bytes, isOver } = count(chunk)
    if (bytes >= cookieBytes) answer(true)
    else if (isOver) answer(false)
  }

  const deciding = setTimeout(() => answer(false), decideMs).unref()
  const lingering = setTimeout(() => socket.destroy(), lingerMs).unref()
  socket.on('end', () => socket.destroy())
  socket.on('close', () => {
    clearTimeout(deciding)
    clearTimeout(lingering)
  })
  overflowing.set(socket, readNext)
  readNext(packet)
}

/** Counts the bytes between the URL and the end of the head. The first packet may start anywhere in the head. */
function countHeaders() {
  let tail = ''
  let bytes = 0
  let isPastUrl = false
  let isOver = false
  return (chunk: Buffer) => {
    let text = chunk.toString('latin1')
    if (!isPastUrl) {
      const [method = ''] = tail === '' ? (/^[A-Z]+ /.exec(text) ?? []) : []
      // The space ends the URL, because browsers encode spaces in it.
      const space = text.indexOf(' ', method.length)
      isPastUrl = space >= 0
      tail ||= ' '
      text = isPastUrl ? text.slice(space) : ''
    }
    const end = (tail + text).indexOf('\r\n\r\n')
    if (!isOver) bytes += end < 0 ? text.length : Math.max(0, end - tail.length)
    isOver ||= end >= 0
    tail = (tail + text).slice(-3)
    return { bytes, isOver }
  }
}
