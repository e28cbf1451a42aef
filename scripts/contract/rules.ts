/** The plugin of redocly.yaml, which turns them on, each for the documents that it is made for: rules that `redocly lint` lacks. */
import { answerRules } from './rules/lint-answers.ts'
import { schemaRules } from './rules/lint-schemas.ts'

/** Each has the name of its function, in the letters of redocly.yaml. */
const rules = Object.fromEntries(
  Object.entries({ ...answerRules, ...schemaRules }).map(([name, rule]) => [
    name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`),
    rule,
  ]),
)

export default function contractRules(): object {
  return { id: 'house', rules: { oas3: rules, async3: rules } }
}
