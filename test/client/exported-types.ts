import ts from 'typescript'

/** The types of a package that the exported declarations of its entries name, but that none of the entries exports. */
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
      // What is looked up in a type is one of its own, whatever that is called.
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
