/** Each prepared change of a contract gets the verdict that semver asks for, by the rules of redocly.yaml. */
import t from 'tap'
import { review } from '../../scripts/contract/review/review.ts'
import { additions } from './changes/additions.ts'
import { nameAndTextChanges } from './changes/names-and-texts.ts'
import { realtimeChanges } from './changes/realtime.ts'
import { requestChanges } from './changes/requests.ts'
import { responseChanges } from './changes/responses.ts'
import { wordings } from './changes/words.ts'
import { repository } from './repository.ts'

t.jobs = 2

const changes = [
  ...responseChanges,
  ...requestChanges,
  ...nameAndTextChanges,
  ...realtimeChanges,
  ...additions,
  ...wordings,
]
const halves = [changes.filter((_, index) => index % 2 === 0), changes.filter((_, index) => index % 2 === 1)]

for (const [index, half] of halves.entries()) {
  t.test(`half ${index + 1} of the changes`, { buffered: true }, async (t) => {
    const repo = await repository(t)
    for (const { name, file = 'openapi.yaml', edits, verdict, says } of half) {
      repo.restore()
      repo.edit(file, ...edits)
      const { verdict: given, findings } = await review(repo.root)
      t.equal(given, verdict, `${name} is ${verdict}`)
      const deciding = findings.filter(({ impact }) => impact === verdict).map(({ message }) => message)
      t.match(deciding.join('\n'), says, `${name}: why`)
    }
  })
}
