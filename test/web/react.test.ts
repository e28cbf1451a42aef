import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import type { Browser, Page } from 'playwright-core'
import t, { type Test } from 'tap'
import type { PlaintextBookmark } from '../../src/client/bookmark.ts'
import { isDeep } from '../support/depth.ts'
import { openChromium, openContext } from './fixture.ts'
import type { app as pageApp } from './react/page.ts'

interface Edit {
  edit: 'put' | 'move' | 'remove'
  bookmark: PlaintextBookmark
}
type Of = ['groups' | 'history', PlaintextBookmark[]]
declare const page: { app: typeof pageApp }

const versions = { ...(isDeep && { 18: {} }), 19: { react: 'react-19', 'react-dom': 'react-dom-19' } }

const folder = { id: 'f', title: 'Folder', source: 'bookmarks', position: 'a0' } satisfies PlaintextBookmark
const [x, y] = ['x', 'y'].map((id, index) => link(id, { parentId: 'f', position: `a${index}` })) as [Link, Link]
const z = link('z', { position: 'a5' })
type Link = ReturnType<typeof link>

function link(id: string, fields: Partial<PlaintextBookmark> = {}): PlaintextBookmark {
  return { id, title: id, url: `https://example.org/${id}`, source: 'bookmarks', ...fields }
}

const browser = await openChromium()
if (typeof browser === 'string') t.plan(0, browser)
else {
  for (const [version, alias] of Object.entries(versions)) {
    t.test(`React ${version}, in StrictMode`, async (t) => {
      const opened = await open(t, browser, alias)

      t.test('an edit renders only components that show the bookmark', async (t) => {
        await opened.evaluate((bookmarks) => page.app.put(bookmarks), [folder, x, y])
        t.equal(await opened.evaluate(() => page.app.mount()), '3 bookmarks, 1 folders, 3 to send Folder x y')
        const afterEdit = async (edit: 'put' | 'move' | 'remove', bookmark: PlaintextBookmark) => {
          const work = ({ edit, bookmark }: Edit) => page.app.afterEdit(edit, bookmark)
          const { rendered, text } = await opened.evaluate(work, { edit, bookmark })
          return [rendered.join(), text]
        }
        const toTop = { ...y, parentId: undefined } as unknown as PlaintextBookmark
        // The component `totals` depends on the whole tree.
        for (const [edit, bookmark, rendered, text] of [
          ['put', { ...x, title: 'x2' }, 'totals,x', '3 bookmarks, 1 folders, 3 to send Folder x2 y'],
          ['put', { ...x, title: 'x2' }, '', '3 bookmarks, 1 folders, 3 to send Folder x2 y'],
          ['put', z, 'folder top,totals,z', '4 bookmarks, 1 folders, 4 to send Folder x2 y z'],
          ['move', toTop, 'folder f,folder top,totals,y', '4 bookmarks, 1 folders, 4 to send Folder x2 z y'],
          ['put', { ...folder, title: 'Named' }, 'f,totals', '4 bookmarks, 1 folders, 4 to send Named x2 z y'],
          ['remove', x, 'folder f,totals', '3 bookmarks, 1 folders, 4 to send Named z y'],
        ] as const) {
          t.same(await afterEdit(edit, bookmark), [rendered, text])
        }
      })

      t.test('unmounting leaves no subscription, and mounting again shows changes made meanwhile', async (t) => {
        const before = await opened.evaluate(() => page.app.subscribed())
        t.equal(await opened.evaluate(() => page.app.unmount()), 0)
        await opened.evaluate((bookmarks) => page.app.put(bookmarks), [link('y', { title: 'meanwhile' })])
        t.match(await opened.evaluate(() => page.app.mount()), /Named meanwhile z|Named z meanwhile/)
        t.equal(await opened.evaluate(() => page.app.subscribed()), before)
      })

      t.test('edits of tab groups and history render only components that show them', async (t) => {
        const afterEdit = async (type: 'groups' | 'history', records: PlaintextBookmark[]) => {
          const work = ([type, records]: Of) => page.app.afterEditOf(type, records)
          const { rendered, text } = await opened.evaluate(work, [type, records] as Of)
          return [rendered.join(), text.replace(/^.* to send /, '')]
        }
        const group: PlaintextBookmark = { id: 'x', title: 'Work', source: 'groups' }
        const tab: PlaintextBookmark = {
          id: 't',
          title: 'Tab',
          url: 'https://example.org/',
          source: 'groups',
          parentId: 'x',
        }
        const entry: PlaintextBookmark = {
          id: 'x',
          title: '',
          source: 'history',
          url: 'https://example.org/',
          visitCount: 2,
        }
        // The component `totals` shows the number of unsent edits.
        t.same(await afterEdit('groups', [group, tab]), ['others,totals', 'tabs Tab, visits'])
        t.same(await afterEdit('history', [entry]), ['others,totals', 'tabs Tab, visits 2'])
        t.same(await afterEdit('groups', [group]), ['', 'tabs Tab, visits 2'])
        t.same(await afterEdit('groups', [{ ...group, color: 'blue' }]), ['', 'tabs Tab, visits 2'])
      })

      t.test('after signing out, nothing is shown', async (t) => {
        await opened.evaluate(() => page.app.unmount())
        await opened.evaluate(() => page.app.mount())
        await opened.evaluate(() => page.app.signOut())
        t.match(await opened.evaluate(() => page.app.mount()), /^0 bookmarks, 0 folders, 0 to send\s*$/)
      })
    })
  }
}

/** A page with the test's components, bundled with one version of React. */
async function open(t: Test, browser: Browser, alias: Record<string, string>): Promise<Page> {
  const context = await openContext(t, browser)
  const opened = await context.newPage()
  const url = 'http://127.0.0.1/'
  await opened.route(url, (route) => route.fulfill({ contentType: 'text/html', body: '<!doctype html><body>' }))
  await opened.goto(url)
  const { outputFiles } = await build({
    entryPoints: [fileURLToPath(new URL('react/page.ts', import.meta.url))],
    ...{ bundle: true, format: 'iife', globalName: 'page', write: false, alias },
    define: { 'process.env.NODE_ENV': '"development"' },
  })
  await opened.addScriptTag({ content: outputFiles[0]?.text ?? '' })
  return opened
}
