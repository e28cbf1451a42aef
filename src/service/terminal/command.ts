import { accessSync, constants, existsSync } from 'node:fs'
import { basename, dirname, extname, relative, resolve } from 'node:path'
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
 * The command line of a script of package.json, or of a command of `ebs`. `--help` explains it; a call in a wrong way ends
 * with one line on stderr. Colours are for terminals, unless NO_COLOR is set.
 */
export function command(name: string, does: string, more = ''): Command {
  const call = callOf(name)
  const program = new Command(call)
    .summary(does)
    .description(`${does}\n\n${more}`.trim())
    .helpOption('-h, --help', 'explains this command')
    .helpCommand(false)
    .configureHelp({ styleTitle: bold })
    .exitOverride((error) => process.exit(error.exitCode === 0 ? 0 : misuse))
  return program.configureOutput({
    outputError: (message, write) => write(`${red(onOneLine(message))} (${call} --help explains it)\n`),
  })
}

/** A command of `ebs`. */
export function operatorCommand(name: string, does: string, more = ''): Command {
  const asWhom = 'As root, it becomes the user that the SQLite file, or DATA_DIR, belongs to.'
  return command(name, does, `${more} It reads the service's environment variables. ${asWhom}`.trim())
}

/**
 * Does what the command line says. Faults that are no fault of this program are one message, without a stack.
 *
 * @param print how that is printed
 */
export async function run(program: Command, words = process.argv.slice(2), print = printRed): Promise<void> {
  // Whoever reads it, such as `head`, has seen enough.
  process.stdout.on('error', () => process.exit(1))
  try {
    await program.parseAsync(words, { from: 'user' })
  } catch (error) {
    if (error instanceof UsageError) program.error(`error: ${error.message}`)
    print(textOf(error))
    process.exitCode = 1
  }
}

/** How another command of `ebs` is called by whoever has called this one. */
export function callBeside(name: string, argument?: string): string {
  const { script, file, bin } = caller()
  if (!isBundle && bin === undefined) {
    const words = script === 'ebs' ? ['ebs', '--', name, argument] : [name, argument && `-- ${argument}`]
    return ['npm run', ...words].filter(Boolean).join(' ')
  }
  const program = bin ?? (file === 'ebs.mjs' ? 'node ebs.mjs' : undefined)
  return [program ?? 'node', program ? name : `${name}.mjs`, argument].filter(Boolean).join(' ')
}

/** For an argument that names a file, which must be there before anything starts. */
export function existingFile(path: string): string {
  try {
    accessSync(path, constants.R_OK)
    return path
  } catch (error) {
    const refused = remedyOf(error, dirname(path), ({ uid, gid }, folder) => `chown -R ${uid}:${gid} ${folder}`)
    if (refused) throw new Error(`${path} cannot be read${refused} (${(error as Error).message})`)
    throw new UsageError(`there is no file ${path}`)
  }
}

/** Who is refused in the folder, and what root does about it; empty where that is not the fault. */
export function remedyOf(
  error: unknown,
  folder: string,
  remedy: (owner: { uid: number; gid: number }, folder: string) => string,
): string {
  const [uid, gid] = [process.getuid?.(), process.getgid?.()]
  if ((error as NodeJS.ErrnoException).code !== 'EACCES' || uid === undefined || gid === undefined) return ''
  const path = resolve(folder)
  const closed = closedAbove(path) ?? (isSystems(path) ? path : undefined)
  return ` as user ${uid}: ${closed ? `${closed} keeps that user out, so use another folder` : remedy({ uid, gid }, path)}`
}

/** Such as /root and /mnt, which stay whose they are. */
function isSystems(path: string): boolean {
  return dirname(dirname(path)) === dirname(path) && existsSync(path)
}

/** The first folder above through which this user may not go: nothing that is done below it helps. */
function closedAbove(path: string): string | undefined {
  const above = dirname(path)
  if (above === path) return undefined
  const higher = closedAbove(above)
  if (higher !== undefined) return higher
  try {
    accessSync(above, constants.X_OK)
    return undefined
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EACCES' ? above : undefined
  }
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

/** As it was called: by npm, by the name of the program, or as a file, such as those of the bundle. */
function callOf(name: string): string {
  const { script, path, file, bin } = caller()
  if (script === name || (script === 'start' && name === 'serve')) {
    return script === 'start' || script === 'test' ? `npm ${script} --` : `npm run ${script} --`
  }
  if (script === 'ebs') return `npm run ebs -- ${name}`
  const program = bin ?? `node ${relative('', path)}`
  return bin !== undefined || /^ebs\.m?[jt]s$/.test(file) ? `${program} ${name}`.replace(/ ebs$/, '') : program
}

/** `bin` is the name of an installed program: that of its link, or the title that deploy/systemd/ebs gives it. */
function caller() {
  const [, path = ''] = process.argv
  const file = basename(path)
  const link = extname(file) === '' ? file || undefined : undefined
  return {
    script: process.env.npm_lifecycle_event,
    path,
    file,
    bin: process.title === 'ebs' ? 'ebs' : link,
  }
}

/** The library removes it where there are no colours. */
function bold(text: string): string {
  return styleText('bold', text, { validateStream: false })
}

function printRed(text: string): void {
  console.error(red(text))
}

function red(text: string): string {
  return styleText('red', text, { stream: process.stderr })
}
