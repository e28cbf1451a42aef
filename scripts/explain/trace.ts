import { registerHooks } from 'node:module'
import { relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'

export interface TracedFunction {
  /** From the top of the repository. */
  file: string
  /** An anonymous function has its line for a name. */
  name: string
}

export interface FunctionEntry {
  entered: TracedFunction
  /** The time by `performance.now()`. */
  at: number
}

const root = fileURLToPath(new URL('../../', import.meta.url))
const functions: TracedFunction[] = []
let entries: FunctionEntry[] | undefined

/**
 * From now on, each function of a module of src/ that is loaded tells when it is entered. V8's coverage counts the same
 * functions, but knows nothing of their order.
 */
export function traceModules(): void {
  Object.assign(globalThis, {
    tellEntry: (index: number) => entries?.push({ entered: functions[index] as TracedFunction, at: performance.now() }),
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

/** The functions that are entered until `work` has ended, in order. */
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

/** Lines stay as they are. */
function instrument(file: string, source: string): string {
  const parsed = ts.createSourceFile(file, source, ts.ScriptTarget.Latest, true)
  const added: { at: number; text: string }[] = []
  const visit = (node: ts.Node): void => {
    if (ts.isFunctionLike(node) && 'body' in node && node.body) {
      const body = node.body as ts.ConciseBody
      const told = `tellEntry(${functions.push({ file, name: nameOf(node, parsed) }) - 1})`
      if (ts.isBlock(body)) added.push({ at: body.getStart() + 1, text: `${told};` })
      else added.push({ at: body.getStart(), text: `(${told},` }, { at: body.end, text: ')' })
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
