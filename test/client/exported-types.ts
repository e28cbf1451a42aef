import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import ts from 'typescript'

/** A declaration file: what it exports from others, what it declares, and where its imported names come from. */
interface Declarations {
  reexports: { from: string; names: string[] | undefined }[]
  declared: Map<string, ts.Statement>
  imported: Map<string, { from: string; name: string }>
}

/** The types of the package that the exported declarations of these files name, but none of the files exports. */
export function unexportedTypes(entries: string[]): string[] {
  const files = new Map<string, Declarations>()
  const read = (path: string) => {
    const known = files.get(path) ?? readDeclarations(path)
    files.set(path, known)
    return known
  }
  const exported = new Map<string, ts.Statement>()
  const homes = new Map<string, Declarations>()
  const collect = (path: string, names?: string[]) => {
    const file = read(path)
    for (const [name, statement] of file.declared) {
      if (names && !names.includes(name)) continue
      exported.set(name, statement)
      homes.set(name, file)
    }
    for (const { from, names: some } of file.reexports) {
      const wanted = names && some ? some.filter((name) => names.includes(name)) : (some ?? names)
      if (wanted === undefined || wanted.length > 0) collect(from, wanted)
    }
  }
  for (const entry of entries) collect(entry)
  const missing = [...exported].flatMap(([name, statement]) => {
    const { declared, imported } = homes.get(name) as Declarations
    const ours = typeNamesIn(statement).map((used) => imported.get(used)?.name ?? (declared.has(used) ? used : ''))
    return ours.filter((used) => used !== '' && !exported.has(used)).map((used) => `${name}: ${used}`)
  })
  return [...new Set(missing)].sort()
}

function readDeclarations(path: string): Declarations {
  const source = ts.createSourceFile(path, readFileSync(path, 'utf8'), ts.ScriptTarget.Latest)
  const found: Declarations = { reexports: [], declared: new Map(), imported: new Map() }
  const fileOf = (specifier: ts.Expression | undefined) => {
    const text = specifier && ts.isStringLiteral(specifier) ? specifier.text : ''
    return text.startsWith('.') ? join(dirname(path), text.replace(/\.[jt]s$/, '.d.ts')) : undefined
  }
  for (const statement of source.statements) {
    if (ts.isExportDeclaration(statement)) {
      const from = fileOf(statement.moduleSpecifier)
      const clause = statement.exportClause
      const names = clause && ts.isNamedExports(clause) ? clause.elements.map(({ name }) => name.text) : undefined
      if (from) found.reexports.push({ from, names })
    } else if (ts.isImportDeclaration(statement)) {
      const from = fileOf(statement.moduleSpecifier)
      const bindings = statement.importClause?.namedBindings
      if (!from || !bindings || !ts.isNamedImports(bindings)) continue
      for (const { name, propertyName } of bindings.elements) {
        found.imported.set(name.text, { from, name: (propertyName ?? name).text })
      }
    } else if (ts.isVariableStatement(statement)) {
      for (const { name } of statement.declarationList.declarations) found.declared.set(name.getText(source), statement)
    } else if ('name' in statement && statement.name) {
      found.declared.set((statement.name as ts.Identifier).text, statement)
    }
  }
  return found
}

function typeNamesIn(statement: ts.Statement): string[] {
  const names: string[] = []
  const visit = (node: ts.Node) => {
    if (ts.isTypeReferenceNode(node) && ts.isIdentifier(node.typeName)) names.push(node.typeName.text)
    ts.forEachChild(node, visit)
  }
  visit(statement)
  return names
}
