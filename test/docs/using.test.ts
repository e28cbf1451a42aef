import { glob, readFile } from 'node:fs/promises'
import t from 'tap'

for (const [language, folder] of [
  ['en', 'docs/using'],
  ['de', 'docs/using/de'],
]) {
  t.test(`What ${folder} prints in bold stands on the page, or in the extension, word by word`, async (t) => {
    const shown = await textsOf(`src/web/words/${language}.ts`, `examples/extension/_locales/${language}/messages.json`)
    const words = (await textsOf(`${folder}/*.md`)).matchAll(/\*\*(.+?)\*\*/g)
    const names = [...new Set([...words].map(([, name = '']) => name))]
    t.ok(names.length > 30)
    t.same(
      names.filter((name) => !shown.includes(name)),
      [],
    )
  })
}

t.test('The pages for people are there in each language, with the same parts', async (t) => {
  for (const file of await Array.fromAsync(glob('*.md', { cwd: 'docs/using' }))) {
    const shapes = ['docs/using', 'docs/using/de'].map(async (folder) => {
      const text = await readFile(`${folder}/${file}`, 'utf8')
      return text.split('\n').flatMap((line) => /^(#+ |\d\. |- |\|)/.exec(line.trim())?.[0] ?? [])
    })
    t.same(...((await Promise.all(shapes)) as [string[], string[]]), file)
  }
})

/** All of them, with each run of white space as one space. */
async function textsOf(...patterns: string[]): Promise<string> {
  const files = (await Array.fromAsync(glob(patterns))).sort()
  const texts = await Promise.all(files.map((file) => readFile(file, 'utf8')))
  return texts.join('\n').replaceAll(/\s+/g, ' ')
}
