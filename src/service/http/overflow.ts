import type { Socket } from 'node:net'

/**
 * Bytes of a URL and headers, twice what Node takes by default: a host of the same domain may have set some large cookies. A
 * browser can hold 720 KiB of them for a domain.
 */
export const maxHeadBytes = 32 * 1024
/** Bytes of headers that only cookies can have: another site can give a request a long URL, but no more than 5 KiB of headers. */
const cookieBytes = 16 * 1024
/** The longest head that a browser sends is read to its end. */
const mostBytes = 1024 * 1024
/** Time for the rest of a head, and for the client to take the response (ms). */
const decideMs = 1000
const lingerMs = 5000

const overflowing = new WeakMap<Socket, (packet: Buffer) => void>()

/**
 * Answers a head that is too large, for each packet of which Node reports an error. Reads and drops the rest of the head: a
 * connection that is closed while bytes arrive is reset, and the client loses the response.
 *
 * `respond` gets true if cookies made it too large: the browser then has to clear them, or every request of its fails. It must
 * not for a long URL, which any website can make a browser send.
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

/** Counts the bytes after the URL, up to the end of the head. The first packet may begin anywhere in the head. */
function countHeaders() {
  let tail = ''
  let bytes = 0
  let isPastUrl = false
  let isOver = false
  return (chunk: Buffer) => {
    let text = chunk.toString('latin1')
    if (!isPastUrl) {
      const [method = ''] = tail === '' ? (/^[A-Z]+ /.exec(text) ?? []) : []
      // Browsers encode a space in a URL.
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
