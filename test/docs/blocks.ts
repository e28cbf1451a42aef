import { globSync, readFileSync } from 'node:fs'

const root = new URL('../../', import.meta.url)

export interface Block {
  file: string
  language: string
  code: string
  /** Why no test runs the block: the comment directly above it in the source. */
  reason: string | undefined
}

const programs =
  /^(ebs [a-z]|(docker|kubectl|npm|npx|node|systemctl|systemd-|install|createdb|pg_restore|vacuumdb|chown|curl|apt-get|nginx|SITE_ADDRESS|\(umask|umask|openssl|ldd|litestream|sha256sum|delete from|journalctl|userdel)\b.* .)/

/** The code blocks of the guides, in the order of each page. */
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

/** The commands in sentences and tables of docs/operating, except in its reports of what has been checked. */
export const lines: { file: string; code: string }[] = globSync('docs/operating/*.md', { cwd: root })
  .sort()
  .flatMap((file) => {
    const text = readFileSync(new URL(file, root), 'utf8')
      .replace(/^ *```.*?^ *```/gms, '')
      .replace(/^## What has been checked.*/ms, '')
    const codes = [...text.matchAll(/`([^`]+)`/g)].map(([, code = '']) =>
      code.replace(/\s+/g, ' ').replace(/^sudo /, ''),
    )
    return codes.filter((code) => programs.test(code)).map((code) => ({ file, code }))
  })

/** A command of `lines` with values in place of the texts that a reader must replace. */
export function lineOf(file: string, code: string, replaced: Record<string, string> = {}): string {
  if (!lines.some((line) => line.file === file && line.code === code)) throw new Error(`${file} has no ${code}`)
  return replaceIn(file, code, replaced)
}

/** The one block of commands with this start and `part`, with its placeholders replaced. */
export function linesOf(file: string, start: string, replaced: Record<string, string> = {}, part = ''): string {
  const found = blocks.filter(
    (block) =>
      block.file === file && block.language === 'sh' && block.code.startsWith(start) && block.code.includes(part),
  )
  if (found.length !== 1) throw new Error(`${file} has ${found.length} blocks that begin with ${start}`)
  return replaceIn(file, found[0]?.code ?? '', replaced)
}

function replaceIn(file: string, code: string, replaced: Record<string, string>): string {
  return Object.entries(replaced).reduce((lines, [from, to]) => {
    if (!lines.includes(from)) throw new Error(`${file}: what begins with ${code.split('\n')[0]} has no ${from}`)
    return lines.replaceAll(from, to)
  }, code)
}
