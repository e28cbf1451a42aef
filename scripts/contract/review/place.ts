const unsaid = ['content', 'application/json', 'schema', 'properties', 'paths', 'payload']

/** A JSON pointer in people's words: `POST /api/v1/bookmarks › responses › 409 › error`. */
export function placeOf(pointer: string): string {
  const steps = pointer
    .replace(/^#\/?/, '')
    .split('/')
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'))
  const [root, path = '', method = '', ...rest] = steps
  if (root !== 'paths') return said(steps)
  return said(isMethod(method) ? [`${method.toUpperCase()} ${path}`, ...rest] : [path, method, ...rest])
}

function said(steps: string[]): string {
  return steps.filter((step) => step !== '' && !unsaid.includes(step)).join(' › ') || 'the document'
}

function isMethod(step: string): boolean {
  return ['get', 'put', 'post', 'delete', 'patch', 'head', 'options', 'trace'].includes(step)
}
