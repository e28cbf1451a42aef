import { randomBytes } from 'node:crypto'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { launchChromium, NoChromiumError } from '../scripts/servers/chromium.ts'
import { createClient } from '../src/client/api/client.ts'
import { unwrap } from '../src/client/api/unwrap.ts'
import { deriveKeys } from '../src/client/crypto/keys.ts'
import { memoryStore } from '../src/client/sync/store/memory.ts'
import { createSync } from '../src/client/sync/sync.ts'
import { type FirstSync, firstSync, makeBookmarks } from './device.ts'
import { loadSteps, openDevice } from './page.ts'
import { startBenchService } from './service.ts'

const count = 20_000

/** A person's first device imports bookmarks; a second one pulls and decrypts them, in Node and in a browser. */
export async function measureFirstSync(): Promise<void> {
  await using service = await startBenchService()
  const { origin } = service
  const session = await service.newSession()
  const cookie = `service_session=${session}`
  const client = createClient({
    baseUrl: origin,
    deviceId: 'first',
    fetch(request) {
      request.headers.set('cookie', cookie)
      return fetch(request)
    },
  })
  const { user_id: userId } = unwrap(await client.GET('/api/v1/auth/session')).user
  const masterKey = randomBytes(32)
  const owner = { keys: deriveKeys(masterKey), userId }

  const first = createSync({ client, ...owner, deviceId: 'first', store: memoryStore() })
  await first.importBookmarks(makeBookmarks(count))
  await first.syncNow()
  await first.stop()

  collectGarbage()
  print('Node, kept in memory', await firstSync(client, { ...owner, store: memoryStore() }))
  try {
    print('Chromium, kept in IndexedDB', await inChromium(origin, session, { masterKey, userId }))
  } catch (error) {
    if (!(error instanceof NoChromiumError)) throw error
    console.log(error.message)
  }
}

/** So that the second device's time does not include collecting the first one's garbage. */
function collectGarbage(): void {
  setFlagsFromString('--expose-gc')
  runInNewContext('gc')()
}

function print(where: string, { bookmarks, total, network, cipher }: FirstSync): void {
  if (bookmarks !== count) throw new Error(`${bookmarks} of ${count} bookmarks arrived`)
  printFigure(`first sync of ${bookmarks} bookmarks`, total, `ms   ${where}`)
  printFigure('  the network alone', network, 'ms')
  printFigure('  the cipher alone', cipher, 'ms')
  printFigure('  first sync against both', (100 * total) / (network + cipher), '%')
}

function printFigure(name: string, figure: number, unit: string): void {
  console.log(`${name.padEnd(56)}${Math.round(figure).toString().padStart(9)} ${unit}`)
}

async function inChromium(
  origin: string,
  session: string,
  owner: { masterKey: Uint8Array; userId: string },
): Promise<FirstSync> {
  const browser = await launchChromium()
  try {
    const tab = await openDevice(browser, origin, session)
    await loadSteps(tab, origin)
    const call = `firstSync(${JSON.stringify({ ...owner, masterKey: [...owner.masterKey] })})`
    return await tab.evaluate<FirstSync>(call)
  } finally {
    await browser.close()
  }
}
