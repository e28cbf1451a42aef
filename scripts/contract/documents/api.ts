import { fileURLToPath } from 'node:url'
import ts from 'typescript'
import { entryPoints } from '../../package/client.ts'

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

export interface ApiSymbol extends ApiMember {
  kind: 'function' | 'class' | 'interface' | 'type' | 'value'
  members: ApiMember[]
}

export interface ApiMember {
  name: string
  code: string
  text: string
  /** Of its documentation, by kind: `param`, `returns`, `throws`. */
  tags: { kind: string; name: string; text: string }[]
}

/** Everything that the client package exports, each with its documentation, on the page of one entry. */
export function readApi(): ApiEntry[] {
  // What a smaller entry has is described there.
  const order = ['./crypto', '.', ...Object.keys(entryPoints).filter((name) => !['.', './crypto'].includes(name))]
  const pathOf = (name: string) => `src/client/${entryPoints[name as keyof typeof entryPoints]}.ts`
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
  const pages = new Map<ts.Symbol, string>()
  const entries = order.map((name): ApiEntry => {
    const source = program.getSourceFile(fileOf(name)) as ts.SourceFile
    const entry = name.slice(1)
    const page = `api${entry.replace('/', '-')}.html`
    const symbols: ApiSymbol[] = []
    const elsewhere: ApiEntry['elsewhere'] = []
    for (const exported of checker.getExportsOfModule(checker.getSymbolAtLocation(source) as ts.Symbol)) {
      if (generated.includes(exported.name)) continue
      const symbol = exported.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(exported) : exported
      const home = pages.get(symbol)
      if (home !== undefined) elsewhere.push({ name: exported.name, page: home })
      else symbols.push(describe(exported.name, symbol, checker))
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

function describe(name: string, symbol: ts.Symbol, checker: ts.TypeChecker): ApiSymbol {
  const [declaration] = symbol.declarations ?? []
  if (!declaration) throw new Error(`${name} has no declaration`)
  const documentation = documentationOf(symbol, checker)
  const described = { name, ...documentation, members: [] }
  if (ts.isFunctionDeclaration(declaration))
    return { ...described, kind: 'function', code: signatures(symbol.declarations ?? []) }
  if (ts.isInterfaceDeclaration(declaration) || ts.isClassDeclaration(declaration)) {
    const kind = ts.isClassDeclaration(declaration) ? 'class' : 'interface'
    return { ...described, kind, code: headOf(declaration, kind), members: membersOf(declaration.members, checker) }
  }
  if (ts.isTypeAliasDeclaration(declaration)) {
    const { type } = declaration
    const members = ts.isTypeLiteralNode(type) ? membersOf(type.members, checker) : []
    return { ...described, kind: 'type', code: withoutExport(declaration.getText()), members }
  }
  if (!ts.isVariableDeclaration(declaration)) throw new Error(`${name} is of a kind that the reference does not show`)
  const type = declaration.type?.getText()
  if (type === undefined) throw new Error(`${name} needs a type annotation for the reference`)
  return { ...described, kind: 'value', code: `const ${name}: ${type}` }
}

/** Of an overloaded function, those that callers see. */
function signatures(declarations: ts.Declaration[]): string {
  const functions = declarations.filter(ts.isFunctionDeclaration)
  const seen = functions.length > 1 ? functions.filter(({ body }) => !body) : functions
  return seen.map((declaration) => `function ${signatureOf(declaration)}`).join('\n')
}

/** As a declaration file has it, on several lines if one would be too long. */
function signatureOf({ name, typeParameters, parameters, type }: ts.SignatureDeclaration): string {
  const generics = typeParameters ? `<${typeParameters.map((parameter) => parameter.getText()).join(', ')}>` : ''
  const list = parameters.map((parameter) => {
    const known = ts.isIdentifier(parameter.name) ? parameter.name.text : 'options'
    const mark = parameter.questionToken || parameter.initializer ? '?' : ''
    return `${parameter.dotDotDotToken ? '...' : ''}${known}${mark}: ${parameter.type?.getText() ?? 'unknown'}`
  })
  const result = `: ${type?.getText() ?? 'void'}`
  const line = `${name?.getText()}${generics}(${list.join(', ')})${result}`
  if (line.length <= 90) return line
  return `${name?.getText()}${generics}(\n${list.map((parameter) => `  ${parameter},\n`).join('')})${result}`
}

function withoutExport(text: string): string {
  return text.replace(/^export /, '').trim()
}

function headOf(
  { name, typeParameters, heritageClauses }: ts.InterfaceDeclaration | ts.ClassDeclaration,
  kind: string,
): string {
  const parameters = typeParameters?.map((parameter) => parameter.getText()).join(', ')
  return [
    `${kind} ${name?.text}${parameters ? `<${parameters}>` : ''}`,
    ...(heritageClauses ?? []).map((clause) => clause.getText()),
  ].join(' ')
}

/** Those that callers may use, without the name of an error, which is that of its class. */
function membersOf(members: Iterable<ts.ClassElement | ts.TypeElement>, checker: ts.TypeChecker): ApiMember[] {
  return [...members].flatMap((member) => {
    const isHidden =
      ts.canHaveModifiers(member) &&
      ts
        .getModifiers(member)
        ?.some(({ kind }) => kind === ts.SyntaxKind.PrivateKeyword || kind === ts.SyntaxKind.OverrideKeyword)
    const symbol = member.name && checker.getSymbolAtLocation(member.name)
    if (isHidden || !symbol || member.name.getText().startsWith('#')) return []
    const code = ts.isMethodDeclaration(member) ? signatureOf(member) : member.getText().replace(/;$/, '')
    return [{ name: symbol.name, code, ...documentationOf(symbol, checker) }]
  })
}

function documentationOf(symbol: ts.Symbol, checker: ts.TypeChecker): Pick<ApiMember, 'text' | 'tags'> {
  const text = ts.displayPartsToString(symbol.getDocumentationComment(checker))
  const tags = symbol.getJsDocTags(checker).map(({ name, text: parts = [] }) => {
    const parameter = parts.find(({ kind }) => kind === 'parameterName')?.text ?? ''
    const rest = ts.displayPartsToString(parts.filter(({ kind }) => kind !== 'parameterName'))
    return { kind: name, name: parameter, text: rest.trim() }
  })
  return { text, tags }
}
