import ts from 'typescript'

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

interface Known {
  checker: ts.TypeChecker
  /** What all entries export. */
  exported: Set<ts.Symbol>
}

/** What the reference says of an exported name. */
export function describe(name: string, symbol: ts.Symbol, known: Known): ApiSymbol {
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

/** Of an overloaded function, those that callers see. */
function signatures(declarations: ts.Declaration[]): string {
  const functions = declarations.filter(ts.isFunctionDeclaration)
  const seen = functions.length > 1 ? functions.filter(({ body }) => !body) : functions
  return seen.map((declaration) => `function ${signatureOf(declaration)}`).join('\n')
}

/** As a declaration file has it, on several lines if one would be too long. */
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

/** What an interface or class has, also from what it extends, as far as that is not exported. */
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

/** The code with the base's type parameters replaced by the arguments. */
function filledIn(code: string, { typeParameters }: Shaped, { typeArguments }: ts.ExpressionWithTypeArguments): string {
  return (typeParameters ?? []).reduce((filled, { name }, index) => {
    const argument = typeArguments?.[index]?.getText()
    return argument ? filled.replaceAll(new RegExp(`\\b${name.text}\\b`, 'g'), argument) : filled
  }, code)
}

export function originalOf(symbol: ts.Symbol, checker: ts.TypeChecker): ts.Symbol {
  return symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol
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
