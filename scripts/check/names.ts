/** A step of `npm run check`: a program exports a name only once. */
import { glob, readFile } from 'node:fs/promises'
import ts from 'typescript'

const programs = ['src/protocol', 'src/service', 'src/client', 'src/extension', 'src/web', '{scripts,bench}']

/** Exempt: files whose functions load those of the same names on demand, and stories, each of which is a program. */
const exclude = ['src/client/{crypto,worker,vault/vault}.ts', 'scripts/conform/stories/**']

for (const program of programs) {
  const files = await Array.fromAsync(glob(`${program}/**/*.{ts,tsx}`, { exclude }))
  const declared = await Promise.all(files.map(async (file) => exportedNames(file, await readFile(file, 'utf8'))))
  for (const [name, places] of Map.groupBy(declared.flat(), ({ name }) => name)) {
    if (places.length === 1) continue
    console.error(`${program} exports ${name} twice: ${places.map(({ file }) => file).join(', ')}`)
    process.exitCode = 1
  }
}

/** The names that the file itself declares. A type and a value with the same name count as one. */
function exportedNames(file: string, text: string): { name: string; file: string }[] {
  const { statements } = ts.createSourceFile(file, text, ts.ScriptTarget.Latest)
  const exported = statements.filter(
    (statement) =>
      ts.canHaveModifiers(statement) &&
      ts.getModifiers(statement)?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword),
  )
  const names = exported.flatMap((statement) => {
    if (!ts.isVariableStatement(statement)) return (statement as ts.DeclarationStatement).name ?? []
    return statement.declarationList.declarations.flatMap(({ name }) => bound(name))
  })
  return [...new Set(names.map((name) => (name as ts.Identifier).text))].map((name) => ({ name, file }))
}

function bound(name: ts.BindingName): ts.Identifier[] {
  if (ts.isIdentifier(name)) return [name]
  return name.elements.flatMap((element) => (ts.isOmittedExpression(element) ? [] : bound(element.name)))
}
