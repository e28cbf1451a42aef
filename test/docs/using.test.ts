import { glob, readFile } from 'node:fs/promises'
import t from 'tap'

t.test('What the pages for people print in bold stands on the page, or in the extension, word by word', async (t) => {
  const shown = await textsOf('src/web/**/*.{ts,tsx}', 'examples/extension/_locales/en/messages.json')
  const words = (await textsOf('docs/using/*.md')).matchAll(/\*\*(.+?)\*\*/g)
  const names = [...new Set([...words].map(([, name = '']) => name))]
  t.ok(names.length > 30)
  t.same(
    names.filter((name) => !shown.includes(name)),
    [],
  )
})

/** All of them, with each run of white space as one space. */
async function textsOf(...patterns: string[]): Promise<string> {
  const files = (await Array.fromAsync(glob(patterns))).sort()
  const texts = await Promise.all(files.map((file) => readFile(file, 'utf8')))
  return texts.join('\n').replaceAll(/\s+/g, ' ')
}
