import { once } from 'node:events'
import { type AddressInfo, connect, createServer } from 'node:net'
import type { Test } from 'tap'

/** A TCP proxy in front of the database. `pass` returns the data to pass on, or undefined to close the connection. */
export async function startLink(t: Test, database: URL, pass: (data: Buffer) => Buffer | undefined): Promise<string> {
  const server = createServer((near) => {
    const far = connect(Number(database.port), database.hostname)
    near.on('data', (data) => {
      const passed = pass(data)
      if (passed) far.write(passed)
      else near.destroy()
    })
    far.pipe(near)
    near.on('close', () => far.destroy())
    far.on('close', () => near.destroy())
    for (const socket of [near, far]) socket.on('error', () => {})
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  const url = new URL(database)
  url.port = String((server.address() as AddressInfo).port)
  return url.href
}
