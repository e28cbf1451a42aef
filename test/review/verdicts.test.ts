/** Each prepared change of a contract gets the verdict that semver requires, by the rules of redocly.yaml. */
import { copyFileSync, writeFileSync } from 'node:fs'
import { pathToFileURL } from 'node:url'
import t from 'tap'
import { compareContracts } from '../../scripts/contract/review/compare.ts'
import { isDeep } from '../support/depth.ts'
import { additions } from './changes/additions.ts'
import { channelDataChanges, dataChanges } from './changes/data.ts'
import { nameAndTextChanges } from './changes/names-and-texts.ts'
import { realtimeChanges } from './changes/realtime.ts'
import { requestChanges } from './changes/requests.ts'
import { responseChanges } from './changes/responses.ts'
import { together } from './changes/together.ts'
import { wordings } from './changes/words.ts'
import { contract } from './contract.ts'
import { emptyFolder } from './folder.ts'

const changes = {
  'openapi.yaml': [
    ...responseChanges,
    ...requestChanges,
    ...nameAndTextChanges,
    ...additions,
    ...wordings,
    ...dataChanges,
  ],
  'asyncapi.yaml': [...realtimeChanges, ...channelDataChanges],
}

for (const [file, cases] of Object.entries(changes)) {
  const revisions = isDeep ? cases.flatMap((one) => together(file, [one])) : together(file, cases)
  for (const { verdict: wanted, cases, text } of revisions)
    t.test(`${wanted} in ${file}: ${cases[0]?.name}, and ${cases.length - 1} more`, async (t) => {
      const folder = pathToFileURL(`${emptyFolder(t)}/`)
      for (const name of Object.keys(changes)) copyFileSync(new URL(name, contract), new URL(name, folder))
      writeFileSync(new URL(file, folder), text)
      const { verdict, findings } = await compareContracts(contract, folder)
      const deciding = findings.filter(({ impact }) => impact === verdict).map(({ message }) => message)
      const unsaid = cases.filter(({ says }) => !deciding.some((message) => says.test(message)))
      t.same({ verdict, unsaid }, { verdict: wanted, unsaid: [] }, 'each is said', { deciding })
    })
}
