import { bundled } from '../../scripts/contract/generated.ts'
import { versionOf } from '../../scripts/contract/review/compare.ts'
import type { Impact } from '../../scripts/contract/review/impact.ts'
import type { Review } from '../../scripts/contract/review/review.ts'
import { contract } from './contract.ts'

const document = await bundled(new URL('openapi.yaml', contract))

/** The review of one change with this verdict. Both contracts had the version `before`, and now have the other two. */
export function reviewOf(verdict: Impact, before: string, openapi: string, asyncapi: string): Review {
  const at = (version: string) => ({ ...document, info: { ...document.info, version } })
  const change = { file: 'openapi.yaml', line: 7, place: 'GET /notes', message: 'The default changed.', operations: [] }
  return {
    base: '`1234567`, the last commit',
    verdict,
    findings: [{ ...change, impact: verdict }],
    versions: [
      versionOf({ file: 'openapi.yaml', before: at(before), after: at(openapi) }, verdict),
      versionOf({ file: 'asyncapi.yaml', before: at(before), after: at(asyncapi) }, verdict),
    ],
    stale: [],
  }
}
