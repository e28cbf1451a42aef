import { existsSync } from 'node:fs'
import { relative } from 'node:path'
import { inspect, styleText } from 'node:util'
import { Command, InvalidArgumentError } from 'commander'
import { isBundle } from '../bundle.ts'

/** How a command ends that was called in a wrong way. Other faults end with 1. */
const misuse = 2

/** A command was called in a wrong way. The message says how. */
export class UsageError extends Error {
  override name = 'UsageError'
}

/**
 * The command line of the script `name` of package.json. `--help` explains it; a call in a wrong way ends with one line on
 * stderr. Colours are for terminals, unless NO_COLOR is set.
 */
export function command(name: string, does: string, more = ''): Command {
  const call = callOf(name)
  const program = new Command(call)
    .description(`${does}\n\n${more}`.trim())
    .helpOption('-h, --help', 'explains this command')
    .helpCommand(false)
    .configureHelp({ styleTitle: bold })
    .exitOverride((error) => process.exit(error.exitCode === 0 ? 0 : misuse))
  return program.configureOutput({
    outputError: (message, write) => write(`${red(onOneLine(message))} (${call} --help explains it)\n`),
  })
}

/** Does what the command line says. Faults that are no fault of this program are one message, without a stack. */
export async function run(program: Command): Promise<void> {
  // Whoever reads it, such as `head`, has seen enough.
  process.stdout.on('error', () => process.exit(1))
  try {
    await program.parseAsync()
  } catch (error) {
    if (error instanceof UsageError) program.error(`error: ${error.message}`)
    console.error(red(textOf(error)))
    process.exitCode = 1
  }
}

/** How another script of package.json is called from here: by npm in a checkout, as a file in the bundle. */
export function callBeside(name: string, argument?: string): string {
  const words = isBundle ? ['node', `${name}.mjs`, argument] : ['npm run', name, argument && `-- ${argument}`]
  return words.filter(Boolean).join(' ')
}

/** For an argument that names a file, which must be there before anything starts. */
export function existingFile(path: string): string {
  if (existsSync(path)) return path
  throw new UsageError(`there is no file ${path}`)
}

/** For an option that is a number of things. */
export function positiveInteger(value: string): number {
  if (/^[1-9]\d{0,8}$/.test(value)) return Number(value)
  throw new InvalidArgumentError('It must be a number of 1 or more.')
}

/** With the stack if only that explains it. */
function textOf(error: unknown): string {
  const isBug = [TypeError, RangeError, ReferenceError, SyntaxError].some((kind) => error instanceof kind)
  return error instanceof Error && error.message !== '' && !isBug ? error.message : inspect(error)
}

function onOneLine(text: string): string {
  const lines = text.split('\n').map((line) => line.trim())
  return lines.filter(Boolean).join(' ')
}

/** As it was called: by npm, or as a file, such as those of the bundle. */
function callOf(name: string): string {
  if (process.env.npm_lifecycle_event !== name) return `node ${relative('', process.argv[1] ?? name)}`
  return name === 'start' || name === 'test' ? `npm ${name} --` : `npm run ${name} --`
}

/** The library removes it where there are no colours. */
function bold(text: string): string {
  return styleText('bold', text, { validateStream: false })
}

function red(text: string): string {
  return styleText('red', text, { stream: process.stderr })
}
