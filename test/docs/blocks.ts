import { globSync, readFileSync } from 'node:fs'

const root = new URL('../../', import.meta.url)

export interface Block {
  file: string
  language: string
  code: string
  /** Why no test runs it: a comment of the source, right above it. */
  reason: string | undefined
}

/** The blocks of all guides, in the order of each page. */
export const blocks: Block[] = [
  'README.md',
  'src/client/README.md',
  'src/service/README.md',
  ...globSync('docs/**/*.md', { cwd: root }),
].flatMap((file) =>
  [
    ...readFileSync(new URL(file, root), 'utf8').matchAll(
      /(?:^ *<!-- Not run by a test: (.*?) -->\n)?^( *)```(\w+)\n(.*?)^ *```/gms,
    ),
  ].map(([, reason, indent = '', language = '', code = '']) => ({
    file,
    language,
    reason,
    code: code.replaceAll(`\n${indent}`, '\n').trim(),
  })),
)

/**
 * The one block of commands that begins so, and has the `part`, with each text put in the place of what a reader would have to
 * replace.
 */
export function linesOf(file: string, start: string, replaced: Record<string, string> = {}, part = ''): string {
  const found = blocks.filter(
    (block) =>
      block.file === file && block.language === 'sh' && block.code.startsWith(start) && block.code.includes(part),
  )
  if (found.length !== 1) throw new Error(`${file} has ${found.length} blocks that begin with ${start}`)
  return Object.entries(replaced).reduce((lines, [from, to]) => {
    if (!lines.includes(from)) throw new Error(`${file}: the block that begins with ${start} has no ${from}`)
    return lines.replaceAll(from, to)
  }, found[0]?.code ?? '')
}
