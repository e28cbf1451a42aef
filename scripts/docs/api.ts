import { fileURLToPath } from 'node:url'
import ts from 'typescript'
import { entryPoints } from '../package/client.ts'

const root = new URL('../../', import.meta.url)
/** Types generated from the contract: left out, because the contract has its own reference. */
const generated = ['components', 'operations', 'paths']

/** An entry point of the client package, such as `encrypted-bookmark-sync-client/crypto`. */
export interface ApiEntry {
  specifier: string
  /** `/crypto`, for example; empty for the main one. */
  name: string
  /** The file's path in the repository. */
  path: string
  page: string
  text: string
  symbols: ApiSymbol[]
  /** Names that this entry exports, too, but that another page describes. */
  elsewhere: { name: string; page: string }[]
}

/** The exports of the client package, except `generated`, with their documentation. One entry's page describes each. */
export function readApi(): ApiEntry[] {
  // A name is described on the page of the first entry in this order that exports it.
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

/** The comment at the top of an entry's file, without the name of the entry that it begins with. */
function introduction(source: ts.SourceFile): string {
  const [, comment = ''] = /^\/\*\*(.*?)\*\//s.exec(source.text) ?? []
  const text = comment.replaceAll(/^\s*\*? ?/gm, '').trim()
  return text.replace(/^`[^`]+`: (.)/, (_, letter: string) => letter.toUpperCase())
}

const groups = { function: 'Functions', interface: 'Types', type: 'Types', class: 'Errors', value: 'Values' } as const

/** The page of an entry. Names in code blocks marked `api` become links. */
export function apiPage({ specifier, text, symbols, elsewhere }: ApiEntry): string {
  const grouped = Map.groupBy(symbols, ({ kind }) => groups[kind])
  const titles = [...new Set(Object.values(groups))].filter((title) => grouped.has(title))
  const contents = titles.map((title) => {
    const names = (grouped.get(title) ?? []).map(({ name }) => `[\`${name}\`](#${name})`)
    return `${title}: ${names.join(', ')}\n\n`
  })
  const others = elsewhere.map(({ name, page }) => `[\`${name}\`](${page}#${name})`)
  return [
    `# \`${specifier}\`\n\n${text}\n\n`,
    ...contents,
    others.length === 0 ? '' : `It also exports ${others.join(', ')}.\n\n`,
    ...titles.flatMap((title) => (grouped.get(title) ?? []).map(symbolSection)),
  ].join('')
}

function symbolSection(symbol: ApiSymbol): string {
  const { name, code, members } = symbol
  return [
    `## \`${name}\` {#${name}}\n\n`,
    code === `interface ${name}` ? '' : codeBlock(code),
    documentation(symbol),
    ...members.map((member) => {
      const id = `${name}.${member.name}`
      return `### \`${id}\` {#${id}}\n\n${codeBlock(member.code.replaceAll('\n  ', '\n'))}${documentation(member)}`
    }),
  ].join('')
}

function codeBlock(code: string): string {
  return `\`\`\`ts api\n${code}\n\`\`\`\n\n`
}

function documentation({ text, tags }: Pick<ApiMember, 'text' | 'tags'>): string {
  const items = tags.map(({ kind, name, text }) => {
    const [, error, rest = text] = kind === 'throws' ? (/^(\w+) (.*)$/s.exec(text) ?? []) : []
    const subject = name || error ? `\`${name || error}\`: ` : ''
    const verb = { throws: 'Throws ', returns: 'Returns ' }[kind] ?? ''
    return `- ${verb}${subject}${subject ? rest : text}\n`
  })
  return `${text}\n\n${items.join('')}\n`
}

interface ApiSymbol extends ApiMember {
  kind: 'function' | 'class' | 'interface' | 'type' | 'value'
  members: ApiMember[]
}

interface ApiMember {
  name: string
  code: string
  text: string
  /** The tags in the documentation, such as `param`, `returns` and `throws`. */
  tags: { kind: string; name: string; text: string }[]
}

interface Known {
  checker: ts.TypeChecker
  /** The exports of all entries. */
  exported: Set<ts.Symbol>
}

function describe(name: string, symbol: ts.Symbol, known: Known): ApiSymbol {
  const { checker } = known
  const [declaration] = symbol.declarations ?? []
  if (!declaration) throw new Error(`${name} has no declaration`)
  const documentation = documentationOf(symbol, checker)
  const described = { name, ...documentation, members: [] }
  if (ts.isFunctionDeclaration(declaration))
    return { ...described, kind: 'function', code: signatures(symbol.declarations ?? []) }
  if (ts.isInterfaceDeclaration(declaration) || ts.isClassDeclaration(declaration)) {
    const kind = ts.isClassDeclaration(declaration) ? 'class' : 'interface'
    const { extended, members } = shapeOf(declaration, known)
    const generics = genericsOf(declaration)
    const code = `${kind} ${name}${generics}${extended.length > 0 ? ` extends ${extended.join(', ')}` : ''}`
    return { ...described, kind, code, members }
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

/** The signatures that callers see. An overloaded function has several, without that of its implementation. */
function signatures(declarations: ts.Declaration[]): string {
  const functions = declarations.filter(ts.isFunctionDeclaration)
  const seen = functions.length > 1 ? functions.filter(({ body }) => !body) : functions
  return seen.map((declaration) => `function ${signatureOf(declaration)}`).join('\n')
}

/** A signature as in a declaration file, on several lines if it is long. */
function signatureOf(declaration: ts.SignatureDeclaration): string {
  const { name, parameters, type } = declaration
  const generics = genericsOf(declaration)
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

function genericsOf({ typeParameters }: ts.SignatureDeclaration | Shaped): string {
  return typeParameters ? `<${typeParameters.map((parameter) => parameter.getText()).join(', ')}>` : ''
}

function withoutExport(text: string): string {
  return text.replace(/^export /, '').trim()
}

type Shaped = ts.InterfaceDeclaration | ts.ClassDeclaration

/** The members of an interface or class, with those of base types that are not exported. */
function shapeOf(declaration: Shaped, known: Known): { extended: string[]; members: ApiMember[] } {
  const { checker, exported } = known
  const bases = (declaration.heritageClauses ?? [])
    .flatMap(({ types }) => [...types])
    .map((base) => {
      const symbol = checker.getSymbolAtLocation(base.expression)
      const original = symbol && originalOf(symbol, checker)
      const hidden = original?.declarations?.find((one) => ts.isInterfaceDeclaration(one) || ts.isClassDeclaration(one))
      if (!original || !hidden || exported.has(original)) return { extended: [base.getText()], members: [] }
      const { extended, members } = shapeOf(hidden, known)
      return { extended, members: members.map((member) => ({ ...member, code: filledIn(member.code, hidden, base) })) }
    })
  const inherited = bases.flatMap(({ members }) => members)
  return {
    extended: bases.flatMap(({ extended }) => extended),
    members: [...membersOf(declaration.members, checker), ...inherited],
  }
}

/** Replaces the type parameters of a base type by its arguments. */
function filledIn(code: string, { typeParameters }: Shaped, { typeArguments }: ts.ExpressionWithTypeArguments): string {
  return (typeParameters ?? []).reduce((filled, { name }, index) => {
    const argument = typeArguments?.[index]?.getText()
    return argument ? filled.replaceAll(new RegExp(`\\b${name.text}\\b`, 'g'), argument) : filled
  }, code)
}

function originalOf(symbol: ts.Symbol, checker: ts.TypeChecker): ts.Symbol {
  return symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol
}

/** The members that callers use. Leaves out overrides: the `name` of an error is that of its class. */
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
