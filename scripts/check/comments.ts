/** A step of `npm run check`: comments do not begin with some words, and avoid a few others. */
import { glob, readFile } from 'node:fs/promises'
import ts from 'typescript'

const avoided =
  /^(Of|What|Whether|Whoever|Those|So (?:many|much|long|far)|As (?:many|much|long|far)|By|With|Without|Where)\b/

const folders = ['src', 'scripts', 'bench']
const files = await Array.fromAsync(glob(folders.map((folder) => `${folder}/**/*.{ts,tsx,mjs}`)))
for (const file of files.sort()) {
  const text = await readFile(file, 'utf8')
  for (const { start, comment } of commentsOf(file, text)) {
    const [words] = avoided.exec(comment) ?? []
    const { length: line } = text.slice(0, start).split('\n')
    if (words) report(file, line, `a comment begins with “${words}”`)
    if (/\banew\b/i.test(comment)) report(file, line, '“anew”: write “again”')
  }
  if (file.startsWith('src/') && /whoever/i.test(text)) report(file, 1, '“whoever”: name the person')
}

function report(file: string, line: number, fault: string): void {
  console.error(`${file}:${line}: ${fault}`)
  process.exitCode = 1
}

/** All comments. Consecutive lines with `//` count as one, of which only the first line is returned. */
function commentsOf(file: string, text: string): { start: number; comment: string }[] {
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true)
  const found = new Map<number, { start: number; end: number; comment: string }>()
  const visit = (node: ts.Node): void => {
    for (const { pos, end } of [
      ...(ts.getLeadingCommentRanges(text, node.getFullStart()) ?? []),
      ...(ts.getTrailingCommentRanges(text, node.getEnd()) ?? []),
    ]) {
      const comment = text.slice(pos, end).replace(/^\/[/*]*\s*\*?\s*/, '')
      found.set(pos, { start: pos, end, comment })
    }
    for (const child of node.getChildren(source)) visit(child)
  }
  visit(source)
  const all = [...found.values()].sort((one, other) => one.start - other.start)
  return all.filter(({ start, comment: _ }, index) => {
    const before = all[index - 1]
    const isLine = (at: number) => text.startsWith('//', at)
    const isNext = before && isLine(start) && isLine(before.start) && /^\n[ \t]*$/.test(text.slice(before.end, start))
    return !isNext
  })
}
