import { glob, readFile } from 'node:fs/promises'
import t from 'tap'
import { de, deLater } from '../../src/web/words/de.ts'
import { en, enLater } from '../../src/web/words/en.ts'

/** Entries that the build puts into the page before any script runs. */
const builtIn = ['ui.loadsLong', 'ui.needsScript']

/** Entries whose text is the same in both languages. */
const same = [
  ...['ui.brand', 'app.states.offline', 'app.refusedWith'],
  ...['library.inPath', 'history.inPath', 'commandBar.inFolder', 'commandBar.hostIn'],
  ...['settings.keyNames.Enter', 'groups.name', 'groups.colors.orange', 'vault.passphraseVersion'],
]

t.test('The page uses each entry of the catalogue', async (t) => {
  const files = await Array.fromAsync(glob('src/web/**/*.{ts,tsx}'))
  const code = (await Promise.all(files.map((file) => readFile(file, 'utf8')))).join('\n')
  const said = new Set(Array.from(code.matchAll(/\b(?:say|later)\.(\w+\.\w+)/g), ([, name = '']) => name))
  const names = Object.entries({ ...en, ...enLater }).flatMap(([group, entries]) =>
    Object.keys(entries).map((name) => `${group}.${name}`),
  )
  t.same(names.filter((name) => !said.has(name)).sort(), builtIn)
})

t.test('Each entry is translated, and has the same placeholders in both languages', async (t) => {
  const [english, german] = [textsIn({ ...en, ...enLater }), textsIn({ ...de, ...deLater })]
  // In English, the service's own text is used if the catalogue has none.
  for (const name of german.keys()) if (/^failure\.refused\./.test(name) && !english.has(name)) german.delete(name)
  t.same([...german.keys()], [...english.keys()])
  const isEqual = (name: string) => english.get(name) === german.get(name)
  t.same(
    [...english.keys()].filter((name) => isEqual(name) !== same.includes(name)),
    [],
  )
  const parts = (text = '') => [...text.matchAll(/<\w+\/?>/g)].map(String).sort().join(' ')
  t.same(
    [...english.keys()].filter((name) => parts(english.get(name)) !== parts(german.get(name))),
    [],
  )
})

/** The texts of the catalogue by their paths. A function is called with sample values. */
function textsIn(entry: unknown, name = ''): Map<string, string> {
  if (typeof entry === 'string') return new Map([[name, entry]])
  if (typeof entry === 'function') return new Map([[name, String(entry(2, 3, 4))]])
  const below = Object.entries(entry as object)
  return new Map(below.flatMap(([key, one]) => [...textsIn(one, name === '' ? key : `${name}.${key}`)]))
}
