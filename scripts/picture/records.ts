import type { Page } from 'playwright-core'
import {
  createClient,
  createSync,
  historyId,
  memoryStore,
  openVault,
  type PlaintextBookmark,
  unwrap,
} from '../../src/client/index.ts'
import { passphrase } from './person.ts'

const groups = {
  'Summer holidays': { color: 'cyan', pages: ['Trains to the coast', 'Cabins by the lake', 'Ferry times'] },
  'Kitchen shelf': { color: 'orange', pages: ['How to join oak', 'Wood oil compared'] },
  'Tax return': { color: 'purple', pages: ['Forms for this year', 'What can be deducted'] },
}

const visits: [hoursAgo: number, title: string, host: string, count: number][] = [
  [0.2, 'Weather for the weekend', 'weather.example', 14],
  [1, 'Ferry times', 'ferries.example', 2],
  [2.5, 'Cabins by the lake', 'cabins.example', 3],
  [25, 'How to join oak', 'woodwork.example', 1],
  [27, 'Bread without kneading', 'bread.example', 5],
  [49, 'Forms for this year', 'taxes.example', 1],
]

const stars: [name: string, description: string, language: string, count: number][] = [
  ['ferry-times', 'Timetables of ferries as a small API', 'Go', 1204],
  ['recipe-box', 'Recipes in plain text files', 'TypeScript', 8431],
  ['tiny-plotter', 'Draws charts in a terminal', 'Rust', 312],
]

const hourMs = 3_600_000

/** Stores tab groups, a history and stars for the person who is signed in, as a browser with the extension would. */
export async function addRecords(page: Page, origin: string): Promise<void> {
  const cookies = await page.context().cookies(origin)
  const cookie = cookies.map(({ name, value }) => `${name}=${value}`).join('; ')
  const withCookie = (request: Request) => {
    request.headers.set('cookie', cookie)
    return fetch(request)
  }
  const deviceId = 'browser'
  const client = createClient({ baseUrl: origin, deviceId, fetch: withCookie })
  const { user_id: userId } = unwrap(await client.GET('/api/v1/auth/session')).user
  const { keys } = await openVault(client, { userId, passphrase })
  const types = ['bookmark', 'group', 'history'] as const
  const sync = createSync({ client, keys, userId, deviceId, types, store: memoryStore() })
  const saved = Object.entries(groups).flatMap(([title, { color, pages }], at): PlaintextBookmark[] => {
    const tabs = pages.map((title, index) => {
      return {
        id: `tab-${at}-${index}`,
        title,
        url: addressOf(title),
        source: 'groups',
        parentId: `group-${at}`,
      } as const
    })
    return [{ id: `group-${at}`, title, color, source: 'groups' }, ...tabs]
  })
  await sync.groups.put(saved)
  await sync.history.put(
    visits.map(([hoursAgo, title, host, visitCount]) => {
      const url = `https://${host}/`
      const dateVisited = new Date(Date.now() - hoursAgo * hourMs).toISOString()
      return { id: historyId(keys, url), title, url, source: 'history', dateVisited, visits: [dateVisited], visitCount }
    }),
  )
  await sync.put(
    stars.map(([name, description, language, stargazers_count]) => {
      const full_name = `example/${name}`
      const [url, extra] = [`https://github.com/${full_name}`, { github_language: language }]
      return { id: name, title: full_name, url, source: 'stars', name, full_name, description, stargazers_count, extra }
    }),
  )
  await sync.syncNow()
  await sync.stop()
}

function addressOf(title: string): string {
  return `https://${title.toLowerCase().replaceAll(' ', '-')}.example/`
}
