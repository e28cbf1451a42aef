import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const packageName = 'encrypted-bookmark-sync-client'

const root = fileURLToPath(new URL('../../', import.meta.url))
const source = (file: string) => join(root, 'src/client', file)

/** esbuild options for an app of the samples: the package from its sources, and React 19. */
export const withPackage = {
  nodePaths: [join(root, 'node_modules')],
  alias: {
    [packageName]: source('index.ts'),
    [`${packageName}/react`]: source('react.ts'),
    [`${packageName}/bookmark-file`]: source('bookmark-file.ts'),
    react: join(root, 'node_modules/react-19'),
    'react-dom': join(root, 'node_modules/react-dom-19'),
  },
}

const front = new URL('../../README.md', import.meta.url)
const start = new URL('../../src/client/README.md', import.meta.url)
const guide = new URL('../../docs/client.md', import.meta.url)
const lostDevice = new URL('../../docs/lost-device.md', import.meta.url)
const extension = new URL('../../docs/extension.md', import.meta.url)

/** The sections of the client's guide whose samples are compiled, by the file that a sample becomes. */
const sections = {
  'vault.ts': 'The vault',
  'edits.ts': 'Edits',
  'undo.ts': 'Undo and redo',
  'extra.ts': 'Own fields of an app',
  'types.ts': 'Tab groups and history',
  'deletes.ts': 'Deletes by other devices',
  'history.ts': 'History',
  'account.ts': 'The account',
  'files.ts': 'Imports and backups',
  'react.tsx': 'React',
  'page.tsx': 'Rendering on a server',
  'select.ts': 'Other frameworks',
  'search.ts': 'Search',
  'extension.ts': 'A browser extension',
  'node.ts': 'Node',
  'testing.ts': 'Testing an app',
}

/**
 * The code samples by file name: those of the repository's README (`laptop.ts`), of the package's README (together one
 * program, `start.ts`), and of the guides for extensions (`browser-sync.ts`), lost devices (`lost-device.ts`) and apps.
 */
export async function readSamples(): Promise<[file: string, source: string][]> {
  const codes = codesOf(await readFile(guide, 'utf8'))
  const known = Object.values(sections)
  const unlisted = [...codes.keys()].filter((title) => !known.includes(title))
  const missing = known.filter((title) => !codes.has(title))
  if (unlisted.length + missing.length > 0) throw new Error(`docs/client.md: ${[...unlisted, ...missing]}`)
  const program = [...codesOf(await readFile(start, 'utf8')).values()].flat().join('\n')
  const laptop = [...codesOf(await readFile(front, 'utf8')).values()].flat().join('\n')
  const browserSync = [...codesOf(await readFile(extension, 'utf8')).values()].flat().join('\n')
  const lost = [...codesOf(await readFile(lostDevice, 'utf8')).values()].flat().join('\n')
  return [
    ['laptop.ts', laptop],
    ['lost-device.ts', lost],
    ['browser-sync.ts', browserSync],
    ['start.ts', program],
    // The second sample of a section has `1-` before its file name, the third `2-`.
    ...Object.entries(sections).flatMap(([file, title]) =>
      (codes.get(title) ?? []).map((code, index): [string, string] => [index === 0 ? file : `${index}-${file}`, code]),
    ),
  ]
}

/** The guide's page of SvelteKit. */
export async function readSveltePage(): Promise<string> {
  return /```svelte\n([\s\S]*?)```/.exec(await readFile(guide, 'utf8'))?.[1] ?? ''
}

/** The TypeScript samples by the title of their section. */
function codesOf(text: string): Map<string, string[]> {
  const found = text.split('\n## ').map((section): [string, string[]] => {
    const [title = ''] = section.split('\n', 1)
    return [title, [...section.matchAll(/```tsx?\n([\s\S]*?)```/g)].map(([, code = '']) => code)]
  })
  return new Map(found.filter(([, codes]) => codes.length > 0))
}
