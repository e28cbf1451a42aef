import { glob, readFile } from 'node:fs/promises'
import t from 'tap'
import { textsIn } from './texts.ts'

const root = new URL('../../', import.meta.url)

async function read(pattern: string): Promise<Map<string, string>> {
  const files = (await Array.fromAsync(glob(pattern, { cwd: root }))).sort()
  return new Map(
    await Promise.all(files.map(async (file) => [file, await readFile(new URL(file, root), 'utf8')] as const)),
  )
}

const languages = (await Array.fromAsync(glob('*', { cwd: new URL('examples/extension/_locales/', root) }))).sort()
const pages = await read('examples/extension/pages/*.html')
const programs = await read('src/extension/app/*.ts')
const manifest = (await read('examples/extension/manifest.json')).values().next().value ?? ''

t.test('Each language of the extension has the same texts, with the same values in them', async (t) => {
  t.ok(languages.length > 1 && languages.includes('en'), languages.join())
  const valuesOf = (language: string) =>
    Object.entries(textsIn(language)).map(([name, { message }]) => [name, (message.match(/\$\d/g) ?? []).sort()])
  for (const language of languages) {
    t.same(valuesOf(language), valuesOf('en'), language)
    t.equal(textsIn(language).language?.message, language)
    t.notOk(Object.values(textsIn(language)).some(({ message }) => message === ''))
  }
})

t.test('The extension uses only texts that exist, and uses all of them', async (t) => {
  const inPages = [...[...pages.values(), manifest].join().matchAll(/__MSG_(\w+)__/g)].map(([, name = '']) => name)
  const known = Object.keys(textsIn('en'))
  t.same(
    inPages.filter((name) => !known.includes(name)),
    [],
  )
  // The compiler checks that the names in the code exist.
  const code = [...programs.values()].join()
  t.same(
    known.filter((name) => !inPages.includes(name) && !code.includes(`'${name}'`)),
    [],
  )
})

t.test('The pages and the code of the extension contain no texts of their own', async (t) => {
  for (const [file, page] of pages) {
    const words = page.replaceAll(/<[^>]*?(?:(?:aria-label|title|alt)="([^"]*)"[^>]*)?>/g, ' $1 ').match(/\w+/g) ?? []
    t.same(
      words.filter((word) => !/^__MSG_\w+__$/.test(word)),
      [],
      file,
    )
  }
  for (const [file, program] of programs) {
    const code = program.replaceAll(/\/\*.*?\*\/|^ *\/\/[^\n]*$/gms, '')
    const sentences = code.match(/(?<=['`(])[A-Z“][^'`\n]* [^'`\n]*(?=['`])/g) ?? []
    t.same(
      sentences.filter((text) => !text.startsWith('The page has no ')),
      [],
      file,
    )
  }
})
