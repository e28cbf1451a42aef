import asyncapi from '../../../generated/asyncapi.json' with { type: 'json' }
import openapi from '../../../generated/openapi.json' with { type: 'json' }
import { type Contract, operationsOf } from '../openapi.ts'
import { callOf } from './call.ts'
import { type Field, fieldsOf } from './fields.ts'
import type { Resolve } from './guides.ts'
import { htmlText } from './html.ts'
import { anchored, codeBlock, htmlOf, tableOf } from './markdown.ts'
import { typescriptSample } from './typescript.ts'

interface Message {
  name: string
  title: string
  summary: string
  description?: string
  payload: { $ref: string }
  examples: { name: string; summary?: string; payload: object }[]
}

const messageNamed: Record<string, Message> = asyncapi.components.messages
const channel = asyncapi.channels.realtime

/** The page of the realtime channel. */
export function realtimePage(resolve: Resolve): string {
  const { sendEvents, receiveChanges } = asyncapi.operations
  return [
    '<h1>The realtime channel</h1>\n',
    htmlOf(asyncapi.info.description, resolve),
    connecting(resolve),
    direction('server', sendEvents, resolve),
    direction('client', receiveChanges, resolve),
    closing(resolve),
  ].join('')
}

function connecting(resolve: Resolve): string {
  const { query, headers } = channel.bindings.ws
  const operation = operationsOf(openapi as unknown as Contract).find(
    ({ operationId }) => operationId === 'openRealtime',
  )
  if (!operation) throw new Error('The contract has no openRealtime')
  return [
    anchored({ id: 'connect', level: 2, text: 'Connect' }),
    htmlOf(
      `A socket is a \`GET\` of \`${channel.address}\` that is upgraded ([openRealtime](openapi.yaml#operation/openRealtime) has the ` +
        'answers to one that is not). The session cookie goes with it. The ids of the user and the device are required, ' +
        'either in the query, as browsers have to send them, or as headers.',
      resolve,
    ),
    codeBlock(
      typescriptSample(callOf(openapi as unknown as Contract, operation)).replace(/\nexport \{\}\n$/, ''),
      'ts',
    ),
    anchored({ id: 'query', level: 3, text: 'Query and headers' }),
    fieldTable([
      ...fieldsOf({ ...query, required: ['user_id', 'device_id'] }),
      ...fieldsOf({ ...headers, required: [] }),
    ]),
  ].join('')
}

type Direction = (typeof asyncapi.operations)['sendEvents' | 'receiveChanges']

function direction(side: string, { title, summary, messages }: Direction, resolve: Resolve): string {
  const names = messages.map(({ $ref }) => $ref.split('/').at(-1) ?? '')
  return [
    anchored({ id: title.replaceAll(' ', '-').toLowerCase(), level: 2, text: title }),
    htmlOf(summary, resolve),
    ...names.map((name) => message(`${side}-${name}`, messageNamed[name] as Message, resolve)),
  ].join('')
}

function message(
  id: string,
  { name, title, summary, description, payload, examples }: Message,
  resolve: Resolve,
): string {
  const text = [summary, description].filter(Boolean).join('\n\n')
  return [
    anchored({ id, level: 3, text: name }, `<code>${name}</code> ${htmlText(title)}`),
    htmlOf(text, resolve),
    fieldTable(fieldsOf(payload)),
    ...examples.map(({ summary, payload }) => {
      const caption = summary ? `<p class="caption">${htmlText(summary)}:</p>\n` : ''
      return caption + codeBlock(JSON.stringify(payload, null, 2), 'json')
    }),
  ].join('')
}

function fieldTable(fields: Field[]): string {
  const rows = fields.map(({ name, type, required, html }) => {
    const mark = required ? ` <strong class="required">${required}</strong>` : ''
    return [`<code>${name}</code>${mark}`, htmlText(type), html]
  })
  return tableOf(['Field', 'Type', 'Meaning'], rows, 'table fields')
}

function closing(resolve: Resolve): string {
  const rows = Object.values(channel['x-close-codes']).map(
    ({ code, meaning, remedy }) => `| ${code} | ${meaning} | ${remedy} |\n`,
  )
  return [
    anchored({ id: 'close-codes', level: 2, text: 'Close codes' }),
    htmlOf(
      'The server closes a socket with one of these codes. After any other end, also 1006 (the connection broke), connect ' +
        'again with `since`. Wait longer before each attempt, up to a minute or so.\n\n' +
        `| Code | Meaning | What a client does |\n|---|---|---|\n${rows.join('')}`,
      resolve,
    ),
  ].join('')
}
