import { registerHooks } from 'node:module'
import { relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'

export interface TracedFunction {
  /** The file's path in the repository. */
  file: string
  /** Anonymous functions have the line instead of a name: `:12`. */
  name: string
}

export interface FunctionEntry {
  entered: TracedFunction
  /** When it was entered, by `performance.now()`. */
  at: number
}

const root = fileURLToPath(new URL('../../', import.meta.url))
const functions: TracedFunction[] = []
let entries: FunctionEntry[] | undefined

/**
 * Makes each function of src/ report when it is entered, in all modules that are loaded from now on. V8's coverage
 * reports the same functions, but not their order.
 */
export function traceModules(): void {
  Object.assign(globalThis, {
    noteEntry: (index: number) => entries?.push({ entered: functions[index] as TracedFunction, at: performance.now() }),
  })
  registerHooks({
    load(url, context, next) {
      const loaded = next(url, context)
      const file = url.startsWith('file:') ? relative(root, fileURLToPath(url)) : ''
      if (!/^src\/.*\.tsx?$/.test(file) || !loaded.source) return loaded
      return { ...loaded, source: instrument(file, loaded.source.toString()) }
    },
  })
}

/** Runs `work` and returns the functions that were entered, in order. */
export async function recordEntries(work: () => Promise<void>): Promise<FunctionEntry[]> {
  const recorded: FunctionEntry[] = []
  entries = recorded
  try {
    await work()
  } finally {
    entries = undefined
  }
  return recorded
}

/** Adds a call of `noteEntry` to each function, and keeps line numbers. */
function instrument(file: string, source: string): string {
  const parsed = ts.createSourceFile(file, source, ts.ScriptTarget.Latest, true)
  const added: { at: number; text: string }[] = []
  const visit = (node: ts.Node): void => {
    if (ts.isFunctionLike(node) && 'body' in node && node.body) {
      const body = node.body as ts.ConciseBody
      const report = `noteEntry(${functions.push({ file, name: nameOf(node, parsed) }) - 1})`
      if (ts.isBlock(body)) added.push({ at: body.getStart() + 1, text: `${report};` })
      else added.push({ at: body.getStart(), text: `(${report},` }, { at: body.end, text: ')' })
    }
    ts.forEachChild(node, visit)
  }
  visit(parsed)
  const pieces: string[] = []
  let done = 0
  for (const { at, text } of added.sort((one, other) => one.at - other.at)) {
    pieces.push(source.slice(done, at), text)
    done = at
  }
  return pieces.join('') + source.slice(done)
}

function nameOf(node: ts.SignatureDeclaration, file: ts.SourceFile): string {
  const { name = 'name' in node.parent ? (node.parent.name as ts.Node | undefined) : undefined } = node
  if (ts.isConstructorDeclaration(node)) return `new ${node.parent.name?.text ?? ''}`
  return name?.getText(file) ?? `:${file.getLineAndCharacterOfPosition(node.getStart()).line + 1}`
}
