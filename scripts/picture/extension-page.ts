import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import type { BrowserContext, Page } from 'playwright-core'
import type { Answer } from '../../src/extension/app/platform.ts'
import type { Settings } from '../../src/extension/app/settings.ts'

/** The folder that `npm run build -- extension` writes. */
const built = new URL('../../dist/extension/chrome/', import.meta.url)
/** An address at which nothing listens: all requests to it are answered from files. */
const origin = 'http://127.0.0.1:9'

/** Opens a page of the extension as an ordinary page, in this language. `answer` is the answer to all its messages. */
export async function openExtensionPage(
  context: BrowserContext,
  name: string,
  answer: Answer,
  language: string,
  hash = '',
): Promise<Page> {
  const page = await context.newPage()
  await page.route(`${origin}/**`, (route) =>
    route.fulfill({ path: fileURLToPath(new URL(new URL(route.request().url()).pathname.slice(1), built)) }),
  )
  const isNew = answer.state?.setup === 'new'
  const settings: Settings = isNew
    ? {}
    : { baseUrl: 'https://bookmarks.example.org', deviceId: 'Chrome on Linux', userId: 'ada' }
  const texts = JSON.parse(await readFile(new URL(`_locales/${language}/messages.json`, built), 'utf8'))
  await page.addInitScript(standIn, { answer, settings, texts })
  await page.goto(`${origin}/${name}.html${hash}`)
  return page
}

interface StandIn {
  answer: Answer
  settings: Settings
  texts: Record<string, { message: string }>
}

/** Runs in the page, and replaces the browser's extension API. */
function standIn({ answer, settings, texts }: StandIn): void {
  const folder = { id: 'folder', title: 'Cooking', children: [] }
  const managed = { id: 'managed', title: 'Intranet', children: [], unmodifiable: 'managed' }
  const children = [{ id: '1', title: 'Bookmarks bar', children: [folder] }, managed]
  const getMessage = (name: string, values: string[]) =>
    texts[name]?.message.replaceAll(/\$(\d)/g, (_, number) => values[number - 1] ?? '')
  const platform = {
    i18n: { getMessage },
    runtime: { sendMessage: async () => answer, onMessage: { addListener() {} } },
    storage: { local: { get: async () => settings } },
    bookmarks: { getChildren: async () => children, getTree: async () => [{ id: '0', title: '', children }] },
    permissions: { contains: async () => false },
    cookies: { onChanged: { addListener() {} } },
  }
  Object.assign(globalThis, { chrome: platform })
}
