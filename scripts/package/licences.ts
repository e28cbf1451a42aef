import { existsSync, globSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Metafile } from 'esbuild'

const root = fileURLToPath(new URL('../../', import.meta.url))
/** Licence texts of packages published without one, as NAME@VERSION.txt: SPDX id, source, blank line, text. */
const ownTexts = join(import.meta.dirname, 'licences')

/** SPDX ids of licences that require nothing but passing on their text and notices. */
const accepted = [
  '0BSD',
  'Apache-2.0',
  'BSD-2-Clause',
  'BSD-3-Clause',
  'BlueOak-1.0.0',
  'CC0-1.0',
  'ISC',
  'MIT',
  'Unlicense',
]
/** Licence ids that a person has read from the licence text, because package.json has none, or an ambiguous one. */
const readFromText: Record<string, string> = {
  'decko undefined': 'MIT',
  'stickyfill undefined': 'MIT',
  'url-template BSD': 'BSD-3-Clause',
}
/** Build tools that put their own helpers into bundles, by the names of the helpers' modules. */
const helpers = [
  { module: /^\0esbuild$/, tool: 'esbuild' },
  { module: /^\0vite\//, tool: 'vite' },
  { module: /^\0plugin-vue:/, tool: '@vitejs/plugin-vue' },
  { module: /^webpack\//, tool: 'webpack' },
]

export const thirdPartyFile = 'THIRD-PARTY.txt'

/** A bundle that a package ships, with the modules from its source maps. */
export interface Prebuilt {
  package: string
  modules: string[]
}

interface Part {
  name: string
  /** Undefined if the package is not installed. */
  folder: string | undefined
  /** The package whose published bundle contains this one, in a version that is not known. */
  builtInto?: string
  isHelper?: boolean
}

interface Licensed {
  name: string
  licence: string
  texts: string[]
}

/** The modules that esbuild's output contains code of. */
export function modulesOf(...metafiles: Metafile[]): string[] {
  const inputs = metafiles.flatMap(({ outputs }) =>
    Object.values(outputs).flatMap((output) => Object.entries(output.inputs)),
  )
  return ['\0esbuild', ...inputs.filter(([, { bytesInOutput }]) => bytesInOutput > 0).map(([path]) => path)]
}

/**
 * Lists the packages of these modules with version and licence, and all licence texts. Fails if a package has no
 * licence text, or a licence that is not accepted.
 *
 * @param modules paths or a bundler's ids. Modules outside of `node_modules` belong to this project
 * @param home the folder to which relative paths refer
 */
export function thirdPartyText(modules: string[], prebuilt: Prebuilt[] = [], home = root): string {
  const parts = [...partsOf(modules, home), ...prebuilt.flatMap((bundle) => partsWithin(bundle, home))]
  const faults: string[] = []
  const licensed = parts.flatMap((part) => {
    try {
      return [license(part)]
    } catch (error) {
      faults.push((error as Error).message)
      return []
    }
  })
  if (faults.length > 0) throw new Error(`Cannot be passed on: ${faults.join('; ')}. See docs/releasing.md#licences`)
  // The same version of a package may be installed in several folders.
  const distinct = [...new Map(licensed.map((each) => [each.name, each])).values()]
  const sorted = distinct.sort((one, other) => (one.name < other.name ? -1 : 1))
  const list = sorted.map(({ name, licence }) => `${name}: ${licence}\n`)
  const namesOf = Map.groupBy(
    sorted.flatMap(({ name, texts }) => texts.map((text) => ({ name, text }))),
    // Ignores white space, because publishers indent the same licence differently.
    ({ text }) => text.replaceAll(/\s+/g, ' '),
  )
  const texts = [...namesOf.values()].map(
    (uses) => `${rule}${uses.map(({ name }) => name).join('\n')}\n\n${uses[0]?.text}\n`,
  )
  return `The files beside this one contain code of these packages.\n\n${list.join('')}\n${texts.join('\n')}`
}

const rule = `${'-'.repeat(80)}\n`

function partsOf(modules: string[], home: string): Part[] {
  const parts = modules.flatMap((module): Part[] => {
    // esbuild names packages like this that it leaves out of the bundle.
    if (module.startsWith('(disabled):')) return []
    const helper = helpers.find((helper) => helper.module.test(module))
    if (helper) return [{ name: helper.tool, folder: findPackage(helper.tool, home), isHelper: true }]
    if (module.startsWith('\0')) return [{ name: JSON.stringify(module), folder: undefined }]
    const [, folder, name] = /^(.*node_modules\/((?:@[^/]+\/)?[^/]+))\//.exec(module) ?? []
    return folder && name ? [{ name, folder: join(folder.startsWith('/') ? '' : home, folder) }] : []
  })
  return [...new Map(parts.map((part) => [part.folder ?? part.name, part])).values()]
}

function partsWithin({ package: bundler, modules }: Prebuilt, home: string): Part[] {
  const folder = findPackage(bundler, home)
  if (folder === undefined) throw new Error(`${bundler} is not installed`)
  const builtInto = `${bundler} ${describe(folder).version}`
  const parts = modules.flatMap((module): Part[] => {
    const helper = helpers.find((helper) => helper.module.test(module))
    const [, path, packageName] = /^(.*node_modules\/((?:@[^/]+\/)?[^/]+))\//.exec(module) ?? []
    const name = helper?.tool ?? packageName
    return name ? [{ name, folder: findPackage(name, join(folder, helper ? '' : dirname(path ?? ''))), builtInto }] : []
  })
  return [{ name: bundler, folder }, ...new Map(parts.map((part) => [part.name, part])).values()]
}

/** The folder of the package that Node would find for a module in `from`. */
function findPackage(name: string, from: string): string | undefined {
  const folder = join(from, 'node_modules', name)
  if (existsSync(join(folder, 'package.json'))) return folder
  return dirname(from) === from ? undefined : findPackage(name, dirname(from))
}

interface Description {
  version: string
  license?: string | { type: string }
}

function describe(folder: string): Description {
  return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
}

function license({ name, folder, builtInto, isHelper }: Part): Licensed {
  const { version, license: claim } = folder ? describe(folder) : {}
  const label = builtInto ? `${name}, built into ${builtInto}` : [name, version].filter(Boolean).join(' ')
  const own = ownTextOf(name, builtInto ? undefined : version)
  const claimed = typeof claim === 'object' ? claim.type : claim
  const licence = folder ? (readFromText[`${name} ${claimed}`] ?? claimed) : own?.licence
  const texts = folder ? textsIn(folder, isHelper) : []
  if (texts.length === 0 && own) texts.push(own.text)
  if (texts.length === 0) throw new Error(`${label} has no licence text`)
  if (!licence || !isAccepted(licence)) throw new Error(`the licence of ${label}, ${licence}, is not accepted`)
  return { name: label, licence, texts }
}

/** True if one of the alternatives is accepted. */
function isAccepted(licence: string): boolean {
  const alternatives = licence.replaceAll(/[()]/g, '').split(' OR ')
  return alternatives.some((alternative) => accepted.includes(alternative))
}

/** A package's licence and notices: from its files, or else from its README. */
function textsIn(folder: string, isHelper = false): string[] {
  const names = readdirSync(folder).sort()
  const read = (pattern: RegExp) =>
    names.filter((name) => pattern.test(name)).map((name) => tidy(readFileSync(join(folder, name), 'utf8')))
  const licences = read(/^(licen[cs]e|copying)/i)
  const notices = read(/^(notice|third.?party)/i)
  if (licences.length > 0 && isHelper) return licences.map((text) => text.replace(/\s*\n# Licenses of bundled .*/s, ''))
  if (licences.length > 0) return [...licences, ...notices]
  const stated = read(/^readme/i).flatMap(
    (text) => /^#+ *licen[cs]e *\n+(.*?)(?=\n#|$(?!\n))/ims.exec(text)?.[1]?.trim() ?? [],
  )
  // The name of a licence, or a link to it, is not its text.
  const full = stated.filter((text) => /copyright/i.test(text) && /\b(permission|redistribution)\b/i.test(text))
  return full.length > 0 ? [...full, ...notices] : []
}

function ownTextOf(name: string, version = '*'): { licence: string; text: string } | undefined {
  const [path] = globSync(`${name}@${version}.txt`, { cwd: ownTexts })
  if (path === undefined) return undefined
  const [licence = '', , , ...text] = readFileSync(join(ownTexts, path), 'utf8').split('\n')
  return { licence, text: tidy(text.join('\n')) }
}

function tidy(text: string): string {
  return text
    .replaceAll('\r', '')
    .replaceAll(/[ \t]+$/gm, '')
    .trim()
}
