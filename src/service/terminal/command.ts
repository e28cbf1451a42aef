import { accessSync, constants } from 'node:fs'
import { basename, extname } from 'node:path'
import { inspect, styleText } from 'node:util'
import { Command, InvalidArgumentError } from 'commander'
import { isBundle } from '../bundle.ts'

/** The exit status of a wrong call. Other errors exit with 1. */
const misuse = 2

/** A wrong call. The message explains it. */
export class UsageError extends Error {
  override name = 'UsageError'
}

/**
 * The command line of a script in package.json, or of `ebs` and its commands, whose names begin with `ebs`. A wrong
 * call prints one line on stderr. Colours only appear on terminals, and not with NO_COLOR.
 */
export function command(name: string, does: string, more = ''): Command {
  const call = /^ebs\b/.test(name) ? name : `npm run ${name} --`
  return new Command(call)
    .summary(does)
    .description(`${does}\n\n${more}`.trim())
    .helpOption('-h, --help', 'explains this command')
    .helpCommand(false)
    .configureHelp({ styleTitle: bold })
    .exitOverride((error) => process.exit(error.exitCode === 0 ? 0 : misuse))
    .configureOutput({
      outputError: (message, write) => write(`${red(onOneLine(message))} (${call} --help explains it)\n`),
    })
}

/** A command of `ebs`. */
export function operatorCommand(name: string, does: string, more = ''): Command {
  const asWhom = 'Run as root, it becomes the user who owns the SQLite file, or DATA_DIR.'
  return command(`ebs ${name}`, does, `${more} The command reads the service's environment variables. ${asWhom}`.trim())
}

/**
 * Runs the command line. Expected errors are printed as a message without a stack.
 *
 * @param print prints that message
 */
export async function run(program: Command, words = process.argv.slice(2), print = printRed): Promise<void> {
  // The reader, such as `head`, may end early. The command still does its work and exits with its status.
  process.stdout.on('error', () => {})
  try {
    await program.parseAsync(words, { from: 'user' })
  } catch (error) {
    if (error instanceof UsageError) program.error(`error: ${error.message}`)
    print(textOf(error))
    process.exitCode = 1
  }
}

/** The command line for a command of `ebs`, in the form of this call: by npm, as a program or as a file. */
export function commandLine(name: string, argument?: string): string {
  const [, path = ''] = process.argv
  const file = basename(path)
  // deploy/systemd/ebs sets the title. An installed program's link has no extension.
  const bin = process.title === 'ebs' ? 'ebs' : extname(file) === '' ? file : ''
  if (!isBundle && !bin) {
    const isShort = process.env.npm_lifecycle_event !== 'ebs'
    const words = isShort ? [name, argument && `-- ${argument}`] : ['ebs', '--', name, argument]
    return ['npm run', ...words].filter(Boolean).join(' ')
  }
  const program = bin || (file === 'ebs.mjs' ? 'node ebs.mjs' : '')
  return [program || 'node', program ? name : `${name}.mjs`, argument].filter(Boolean).join(' ')
}

/** Checks that an argument's file can be read, before anything starts. */
export function existingFile(path: string): string {
  try {
    accessSync(path, constants.R_OK)
    return path
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    if (code === 'EACCES') throw new Error(`${path} cannot be read by the service's user (${message})`)
    throw new UsageError(`there is no file ${path}`)
  }
}

/** Parses a count. */
export function positiveInteger(value: string): number {
  if (/^[1-9]\d{0,8}$/.test(value)) return Number(value)
  throw new InvalidArgumentError('It must be a number of 1 or more.')
}

/** The message, or the stack if only that explains the error. */
function textOf(error: unknown): string {
  const isBug = [TypeError, RangeError, ReferenceError, SyntaxError].some((kind) => error instanceof kind)
  return error instanceof Error && error.message !== '' && !isBug ? error.message : inspect(error)
}

function onOneLine(text: string): string {
  const lines = text.split('\n').map((line) => line.trim())
  return lines.filter(Boolean).join(' ')
}

/** The library removes the style where colours are not supported. */
function bold(text: string): string {
  return styleText('bold', text, { validateStream: false })
}

function printRed(text: string): void {
  console.error(red(text))
}

function red(text: string): string {
  return styleText('red', text, { stream: process.stderr })
}
