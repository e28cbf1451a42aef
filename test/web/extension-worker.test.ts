import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import t from 'tap'
import { describeDeletes, describeUnsent } from '../../src/extension/app/describe.ts'

t.test('What starts the worker of the example is listened to as soon as it runs', async (t) => {
  const listened: string[] = []
  /** A browser that answers nothing. */
  const api = (path: string[]): unknown =>
    new Proxy(() => {}, {
      get: (_target, name) => api([...path, String(name)]),
      apply() {
        if (path.at(-1) === 'addListener') listened.push(path.slice(0, -1).join('.'))
        return new Promise(() => {})
      },
    })
  new Function('chrome', await bundled())(api([]))
  t.same(listened.toSorted(), [
    'alarms.onAlarm',
    ...['onChanged', 'onChildrenReordered', 'onCreated', 'onImportBegan', 'onImportEnded', 'onMoved', 'onRemoved'].map(
      (event) => `bookmarks.${event}`,
    ),
    ...['onInstalled', 'onMessage', 'onStartup'].map((event) => `runtime.${event}`),
  ])
})

t.test('The popup of the example counts one bookmark as one, and names the first three', async (t) => {
  t.equal(describeDeletes(['a'], 'browser'), '1 bookmark was deleted in this browser: a')
  const four = '4 bookmarks were deleted on another device: a, b, c, …'
  t.equal(describeDeletes(['a', 'b', 'c', 'd'], 'devices'), four)
  const refused = 'The server does not take'
  t.equal(describeUnsent(1, 'too-large'), `${refused} 1 bookmark: it is too large`)
  t.equal(describeUnsent(2, 'too-large'), `${refused} 2 bookmarks: they are too large`)
  t.equal(describeUnsent(1, 'quota'), `${refused} 1 bookmark: your space is used up`)
})

async function bundled(): Promise<string> {
  const entry = fileURLToPath(new URL('../../src/extension/app/worker.ts', import.meta.url))
  const { outputFiles } = await build({ entryPoints: [entry], bundle: true, format: 'iife', write: false })
  return outputFiles[0]?.text ?? ''
}
