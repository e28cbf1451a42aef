import { type OperationId, operations } from '../../generated/operations.ts'
import { type Explained, functionsOf, openExplainer } from './run.ts'
import type { FunctionEntry } from './trace.ts'

export async function explain(operationIds: OperationId[], onPostgres: boolean): Promise<void> {
  await using explainer = await openExplainer(onPostgres)
  for (const operationId of operationIds) printExplained(await explainer.explain(operationId), nameOf(onPostgres))
}

/** Prints a table with a line per operation. */
export async function explainAll(onPostgres: boolean): Promise<void> {
  await using explainer = await openExplainer(onPostgres)
  console.log(`${nameOf(onPostgres).padEnd(20)} files functions statements    kB     ms`)
  for (const operationId of Object.keys(operations) as OperationId[]) {
    const { files, functions, statements, bytesWritten, ms } = summaryOf(await explainer.explain(operationId))
    const columns = [
      pad(files, 6),
      pad(functions, 10),
      pad(statements, 11),
      pad(kilobytes(bytesWritten), 6),
      pad(ms.toFixed(1), 7),
    ]
    console.log(operationId.padEnd(20) + columns.join(''))
  }
}

/** The figures of one request. */
function summaryOf(explained: Explained) {
  const { statements, bytesWritten, sent, answered } = explained
  const functions = functionsOf(explained)
  const files = new Set([...functions].map(({ file }) => file))
  return {
    files: files.size,
    functions: functions.size,
    statements: statements.length,
    bytesWritten,
    ms: answered - sent,
  }
}

function printExplained(explained: Explained, database: string): void {
  const { operationId, entries, statements, sent } = explained
  const { files, functions, bytesWritten, ms } = summaryOf(explained)
  const counts = `${files} files, ${functions} functions, ${statements.length} statements`
  console.log(`${operationId} on ${database}: ${counts}, ${kilobytes(bytesWritten)} kB written, ${ms.toFixed(1)} ms`)

  console.log('\nStages, in the order of their first function, with the time until one of another stage is entered:')
  console.log('                files functions')
  for (const [stage, { ms, files, functions }] of stagesOf(explained))
    console.log(`${milliseconds(ms)} ${pad(files.size, 9)} ${pad(functions.size, 9)}  ${stage}`)

  console.log(
    '\nFiles and functions, in the order in which they are entered (`:12` has no name and stands in line 12):',
  )
  for (const { file, at, names } of linesOf(entries))
    console.log(`${milliseconds(at - sent)}  ${file}: ${[...names].join(', ')}`)

  console.log('\nStatements, in the order in which they were answered, with the time that each took:')
  for (const { sql, ms } of statements) console.log(`${milliseconds(ms)}  ${shortened(sql)}`)
}

interface Line {
  file: string
  /** When the first function of the line was entered. */
  at: number
  names: Set<string>
}

/** Groups a request's functions into a line per file. Where a function of http/ begins a line, all other lines end. */
function linesOf(entries: FunctionEntry[]): Line[] {
  const lines: Line[] = []
  let open = new Map<string, Line>()
  for (const { entered, at } of entries) {
    const { file, name } = entered
    let line = open.get(file)
    if (!line) {
      // All files get new lines after this one.
      if (file.startsWith('src/service/http/')) open = new Map()
      line = { file, at, names: new Set() }
      open.set(file, line)
      lines.push(line)
    }
    line.names.add(name)
  }
  return lines
}

function milliseconds(ms: number): string {
  return `${pad(ms.toFixed(2), 8)} ms`
}

interface Stage {
  files: Set<string>
  functions: Set<unknown>
  ms: number
}

/** The time per folder of src/. The time before the first function is that of Node and Fastify. */
function stagesOf({ entries, sent, answered }: Explained): Map<string, Stage> {
  const stages = new Map<string, Stage>()
  const stageAt = (name: string): Stage => {
    const stage = stages.get(name) ?? { files: new Set(), functions: new Set(), ms: 0 }
    stages.set(name, stage)
    return stage
  }
  const until = entries.filter(({ at }) => at <= answered)
  stageAt('Node and Fastify').ms = (until[0]?.at ?? answered) - sent
  for (const [index, { entered, at }] of until.entries()) {
    const stage = stageAt(folderOf(entered.file))
    stage.files.add(entered.file)
    stage.functions.add(entered)
    stage.ms += (until[index + 1]?.at ?? answered) - at
  }
  return stages
}

function folderOf(file: string): string {
  return /^src\/service\/(db\/)?[^/]+\//.exec(file)?.[0] ?? /^src\/(service\/)?[^/]+/.exec(file)?.[0] ?? file
}

function shortened(sql: string): string {
  return sql.length > 150 ? `${sql.slice(0, 150)}…` : sql
}

function kilobytes(bytes: number): string {
  return (bytes / 1000).toFixed(0)
}

function pad(value: number | string, width: number): string {
  return String(value).padStart(width)
}

function nameOf(onPostgres: boolean): string {
  return onPostgres ? 'Postgres' : 'SQLite'
}
