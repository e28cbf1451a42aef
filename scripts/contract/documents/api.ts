import { fileURLToPath } from 'node:url'
import ts from 'typescript'
import { entryPoints } from '../../package/client.ts'
import { type ApiSymbol, describe, originalOf } from './api-symbol.ts'

const root = new URL('../../../', import.meta.url)
/** Types that are generated from the contract, whose reference has them. */
const generated = ['components', 'operations', 'paths']

/** An entry of the client package, such as `encrypted-bookmark-sync-client/crypto`. */
export interface ApiEntry {
  specifier: string
  /** `/crypto`, for example; empty for the main one. */
  name: string
  /** In the repository. */
  path: string
  page: string
  text: string
  symbols: ApiSymbol[]
  /** What it exports, too, and which page describes it. */
  elsewhere: { name: string; page: string }[]
}

/** Everything that the client package exports, each with its documentation, on the page of one entry. */
export function readApi(): ApiEntry[] {
  // What a smaller entry has is described there.
  const order = ['./crypto', '.', ...Object.keys(entryPoints).filter((name) => !['.', './crypto'].includes(name))]
  const pathOf = (name: string) => `src/${entryPoints[name as keyof typeof entryPoints]}.ts`
  const fileOf = (name: string) => fileURLToPath(new URL(pathOf(name), root))
  const options = {
    noLib: true,
    types: [],
    allowImportingTsExtensions: true,
    moduleResolution: ts.ModuleResolutionKind.Bundler,
    module: ts.ModuleKind.ESNext,
    jsx: ts.JsxEmit.ReactJSX,
  }
  const program = ts.createProgram(order.map(fileOf), options)
  const checker = program.getTypeChecker()
  const exportsOf = (source: ts.SourceFile) =>
    checker
      .getExportsOfModule(checker.getSymbolAtLocation(source) as ts.Symbol)
      .filter(({ name }) => !generated.includes(name))
      .map((symbol) => ({ name: symbol.name, symbol: originalOf(symbol, checker) }))
  const sources = order.map((name) => program.getSourceFile(fileOf(name)) as ts.SourceFile)
  const known = { checker, exported: new Set(sources.flatMap(exportsOf).map(({ symbol }) => symbol)) }
  const pages = new Map<ts.Symbol, string>()
  const entries = order.map((name, index): ApiEntry => {
    const source = sources[index] as ts.SourceFile
    const entry = name.slice(1)
    const page = `api${entry.replace('/', '-')}.html`
    const symbols: ApiSymbol[] = []
    const elsewhere: ApiEntry['elsewhere'] = []
    for (const { name, symbol } of exportsOf(source)) {
      const home = pages.get(symbol)
      if (home !== undefined) elsewhere.push({ name, page: home })
      else symbols.push(describe(name, symbol, known))
      pages.set(symbol, home ?? page)
    }
    return {
      specifier: `encrypted-bookmark-sync-client${entry}`,
      name: entry,
      path: pathOf(name),
      page,
      text: introduction(source),
      symbols,
      elsewhere,
    }
  })
  return Object.keys(entryPoints).map((name) => entries[order.indexOf(name)] as ApiEntry)
}

/** The comment at the top of an entry's file, after the entry's name. */
function introduction(source: ts.SourceFile): string {
  const [, comment = ''] = /^\/\*\*(.*?)\*\//s.exec(source.text) ?? []
  const text = comment.replaceAll(/^\s*\*? ?/gm, '').trim()
  return text.replace(/^`[^`]+`: (.)/, (_, letter: string) => letter.toUpperCase())
}
