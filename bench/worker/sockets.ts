import { setTimeout as sleep } from 'node:timers/promises'
import type { Account, Listener } from './apis.ts'
import { apis } from './apis.ts'
import { connect, percentile, together } from './http.ts'
import { newRecords } from './records.ts'

const patienceMs = 20_000
const openAtOnce = 50

/** Percentiles of the ms from sending a change until a device has received it, over all changes and devices. */
export async function fanOut(
  account: Account,
  { devices, changes }: { devices: number; changes: number },
): Promise<{ p50: number; p99: number }> {
  const api = apis[account.api]
  const times: number[] = []
  const arrivals = new Map<string, () => void>()
  const onMessage = (text: string) => {
    for (const [hash, arrived] of arrivals) if (text.includes(hash)) arrived()
  }
  const names = Array.from({ length: devices }, (_, index) => `device-${index}`)
  const listeners = await together(openAtOnce, names, (name) => api.listen(account, name, onMessage))
  const server = connect(account.origin, 1)
  for (const record of newRecords(changes)) {
    const start = performance.now()
    const everywhere = Promise.withResolvers<void>()
    let missing = devices
    arrivals.set(record.data_hash, () => {
      times.push(performance.now() - start)
      if (--missing === 0) everywhere.resolve()
    })
    await server.end(api.push(account, [record]))
    await inTime(everywhere.promise)
    arrivals.delete(record.data_hash)
  }
  for (const listener of listeners) listener.close()
  await server.close()
  return { p50: percentile(times, 50), p99: percentile(times, 99) }
}

/** Idle sockets, which stay open until `closeSockets`. */
const idle: Listener[] = []

/** Opens idle sockets for each of the users. */
export async function openSockets(accounts: Account[], each: number): Promise<void> {
  const sockets = accounts.flatMap((account) => Array.from({ length: each }, (_, index) => ({ account, index })))
  const opened = await together(openAtOnce, sockets, ({ account, index }) => {
    return apis[account.api].listen(account, `device-${index}`, () => {})
  })
  idle.push(...opened)
}

export async function closeSockets(): Promise<void> {
  for (const socket of idle.splice(0)) socket.close()
}

async function inTime(arrived: Promise<void>): Promise<void> {
  const late = sleep(patienceMs, undefined, { ref: false }).then(() => {
    throw new Error(`A change did not arrive within ${patienceMs} ms`)
  })
  await Promise.race([arrived, late])
}
