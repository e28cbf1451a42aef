/**
 * A plugin for `redocly lint` with rules that it lacks. redocly.yaml turns on each rule for the documents that the rule
 * is made for.
 */
import { answerRules } from './rules/lint-answers.ts'
import { schemaRules } from './rules/lint-schemas.ts'

/** The rules by their names in redocly.yaml: the function `errorTexts` is the rule `error-texts`. */
const rules = Object.fromEntries(
  Object.entries({ ...answerRules, ...schemaRules }).map(([name, rule]) => [
    name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`),
    rule,
  ]),
)

export default function contractRules(): object {
  return { id: 'house', rules: { oas3: rules, async3: rules } }
}
