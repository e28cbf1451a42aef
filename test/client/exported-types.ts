import ts from 'typescript'

/** The package's types that exported declarations use, but that no entry point exports. */
export function unexportedTypes(program: ts.Program, entries: readonly string[], folder: string): string[] {
  const checker = program.getTypeChecker()
  const original = (symbol: ts.Symbol) =>
    symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol
  const exportsOf = (entry: string) => {
    const source = program.getSourceFile(entry)
    const module = source && checker.getSymbolAtLocation(source)
    if (!module) throw new Error(`${entry} is no module`)
    return checker.getExportsOfModule(module).map(original)
  }
  const exported = new Set(entries.flatMap(exportsOf))
  const isOurs = ({ flags, declarations = [] }: ts.Symbol) =>
    !(flags & ts.SymbolFlags.TypeParameter) &&
    declarations.some((one) => one.getSourceFile().fileName.startsWith(folder))
  const missing = new Set<string>()
  for (const { name, declarations = [] } of exported) {
    const visit = (node: ts.Node) => {
      // In `Type['field']`, only the field's type is used, so `Type` itself is not counted.
      const isNamed = ts.isTypeReferenceNode(node) && !ts.isIndexedAccessTypeNode(node.parent)
      const named = isNamed ? checker.getSymbolAtLocation(node.typeName) : undefined
      const used = named && original(named)
      if (used && isOurs(used) && !exported.has(used)) missing.add(`${name}: ${used.name}`)
      ts.forEachChild(node, visit)
    }
    declarations.forEach(visit)
  }
  return [...missing].sort()
}

/** The exported functions that take a client or a sync, directly or in their options. */
export function sessionTakers(program: ts.Program, entries: readonly string[]): string[] {
  const checker = program.getTypeChecker()
  const typeOf = (symbol: ts.Symbol) => checker.getTypeOfSymbol(symbol)
  const textsOf = (parameter: ts.Symbol) => {
    const type = typeOf(parameter)
    return [type, ...type.getProperties().map(typeOf)].map((one) => checker.typeToString(one))
  }
  const names = entries.flatMap((entry) => {
    const source = program.getSourceFile(entry)
    const module = source && checker.getSymbolAtLocation(source)
    if (!module) throw new Error(`${entry} is no module`)
    return checker.getExportsOfModule(module).flatMap((symbol) => {
      const parameters = typeOf(symbol)
        .getCallSignatures()
        .flatMap((signature) => signature.parameters)
      return parameters.flatMap(textsOf).some((text) => /\b(Client|Sync|SyncReader)\b/.test(text)) ? symbol.name : []
    })
  })
  return [...new Set(names)].sort()
}
