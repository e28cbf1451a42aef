/** A step of `npm run check`: texts of the web page must come from src/web/words/, so that they can be translated. */
import { glob, readFile } from 'node:fs/promises'
import ts from 'typescript'

/** Attributes, properties and functions whose texts people see. */
const shown =
  /^(label|title|text|placeholder|hint|alt|what|why|action|undoName|aria-(label|description|valuetext|roledescription))$/
const telling = /^(tell|setFault|setFailure|confirm|alert|UserFacingError)$/

/** Texts that are probably for people: two words, one capitalized word, or one that ends like a sentence. */
const prose = /\p{L}{2} \p{L}{2}|^\p{Lu}\p{Ll}+[.:…!?]?$|\p{L}[.…!?]$/u

/** Attributes and functions whose texts nobody reads: classes, selectors, internal errors. */
const unread = /^(class|className|autocomplete|rel|d|viewBox|preserveAspectRatio)$/
const unreadCalls = /^(Error|querySelector|querySelectorAll|closest|matches|matchMedia|warn|error)$/

/** Words that are names, not texts. The first ones are keys of the keyboard. */
const names = new Set([
  ...['Enter', 'Escape', 'Tab', 'Home', 'End', 'Delete', 'Backspace', 'Shift', 'Ctrl', 'Alt', 'Esc'],
  // Browsers and systems, as in their user agents.
  ...['Edg', 'Edge', 'Opera', 'Vivaldi', 'Firefox', 'Chrom', 'Chrome', 'Safari', 'Android', 'Windows', 'Linux'],
  ...['Samsung Internet', 'Mac OS'],
  // Steps of an import. src/web/words/ has their texts under these names.
  ...['Reading', 'Encrypting', 'Sending', 'Done', 'Failed'],
])

const files = await Array.fromAsync(glob('src/web/**/*.{ts,tsx}', { exclude: ['src/web/words/**'] }))
for (const file of files.sort()) {
  const source = ts.createSourceFile(file, await readFile(file, 'utf8'), ts.ScriptTarget.Latest, true)
  const visit = (node: ts.Node): void => {
    if (isText(node) && isForPeople(node)) report(source, node)
    ts.forEachChild(node, visit)
  }
  visit(source)
}

function report(source: ts.SourceFile, node: ts.Node & { text: string }): void {
  const { line } = source.getLineAndCharacterOfPosition(node.getStart())
  console.error(`${source.fileName}:${line + 1}: “${node.text.trim()}” belongs into src/web/words/`)
  process.exitCode = 1
}

function isText(node: ts.Node): node is ts.Node & { text: string } {
  return (
    ts.isJsxText(node) ||
    ts.isStringLiteralLike(node) ||
    ts.isTemplateHead(node) ||
    ts.isTemplateMiddleOrTemplateTail(node)
  )
}

function isForPeople(node: ts.Node & { text: string }): boolean {
  if (ts.isJsxText(node)) return /\p{L}/u.test(node.text)
  if (!/\p{L}/u.test(node.text) || names.has(node.text)) return false
  if (ts.isImportDeclaration(node.parent) || ts.isLiteralTypeNode(node.parent)) return false
  const place = placeOf(node)
  if (shown.test(place) || telling.test(place)) return true
  return prose.test(node.text) && !unread.test(place) && !unreadCalls.test(place)
}

/** The attribute, property or function that receives the text, directly or through an expression; empty if none does. */
function placeOf(node: ts.Node): string {
  const { parent } = node
  if (ts.isJsxAttribute(parent)) return parent.name.getText()
  if (ts.isPropertyAssignment(parent) && parent.initializer === node) return parent.name.getText()
  if (ts.isBinaryExpression(parent) && parent.operatorToken.kind === ts.SyntaxKind.EqualsToken) {
    return ts.isPropertyAccessExpression(parent.left) ? parent.left.name.text : ''
  }
  if (ts.isCallExpression(parent) || ts.isNewExpression(parent)) {
    const called = parent.expression
    // The first argument of FieldFault is the field's name, the second the text.
    if (called.getText() === 'FieldFault') return parent.arguments?.[1] === node ? 'text' : ''
    return ts.isPropertyAccessExpression(called) ? called.name.text : called.getText()
  }
  const isAmongOthers =
    (ts.isConditionalExpression(parent) && parent.condition !== node) ||
    (ts.isBinaryExpression(parent) && /^(\+|\|\||\?\?|&&)$/.test(parent.operatorToken.getText())) ||
    ts.isTemplateExpression(parent) ||
    ts.isTemplateSpan(parent) ||
    ts.isParenthesizedExpression(parent) ||
    ts.isJsxExpression(parent)
  return isAmongOthers ? placeOf(parent) : ''
}
