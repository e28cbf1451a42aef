/**
 * The plugin of redocly.yaml: house rules that `redocly lint` has none for, and what `redocly diff` does not judge or judges
 * otherwise. Which of them hold, and what a change asks of the version, stands in redocly.yaml.
 */
import { operationsNameTheirChannel } from './rules/decorators.ts'
import { clientNameAdded, clientNameRemoved } from './rules/diff/names.ts'
import { connectionTightened } from './rules/diff/realtime.ts'
import { requestBodyDemanded, requestPropertyRemoved } from './rules/diff/requests.ts'
import { headerUnpromised, successAdded } from './rules/diff/responses.ts'
import { carriedByNoneChanged, conditionChanged } from './rules/diff/schemas.ts'
import { securityTightened } from './rules/diff/security.ts'
import { bodyLimitLowered, defaultChanged } from './rules/diff/values.ts'
import { harmlessChanged, wordsChanged } from './rules/diff/words.ts'
import { errorAnswers, securedAnswers } from './rules/lint/answers.ts'
import { described } from './rules/lint/described.ts'
import { errorTexts } from './rules/lint/error-texts.ts'
import { examples } from './rules/lint/examples.ts'
import { lowerCaseHeaders } from './rules/lint/header-names.ts'
import { requestMaximum } from './rules/lint/maximum.ts'
import { noBareRefComponent, noRefSiblings } from './rules/lint/refs.ts'
import { timeUnit } from './rules/lint/time.ts'

const lint = {
  described,
  examples,
  'lower-case-headers': lowerCaseHeaders,
  'no-bare-ref-component': noBareRefComponent,
  'request-maximum': requestMaximum,
  'time-unit': timeUnit,
}

const diff = {
  'carried-by-none-changed': carriedByNoneChanged,
  'condition-changed': conditionChanged,
  'default-changed': defaultChanged,
  'harmless-changed': harmlessChanged,
  'request-property-removed': requestPropertyRemoved,
  'words-changed': wordsChanged,
}

export default function contractRules(): object {
  return {
    id: 'house',
    rules: {
      oas3: {
        ...lint,
        'error-answers': errorAnswers,
        'error-texts': errorTexts,
        'no-ref-siblings': noRefSiblings,
        'secured-answers': securedAnswers,
      },
      async3: lint,
    },
    decorators: { async3: { 'operations-name-their-channel': operationsNameTheirChannel } },
    diff: {
      oas3: {
        ...diff,
        'body-limit-lowered': bodyLimitLowered,
        'client-name-added': clientNameAdded,
        'client-name-removed': clientNameRemoved,
        'header-unpromised': headerUnpromised,
        'request-body-demanded': requestBodyDemanded,
        'security-tightened': securityTightened,
        'success-added': successAdded,
      },
      async3: { ...diff, 'connection-tightened': connectionTightened },
    },
  }
}
