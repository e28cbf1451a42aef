import type { operations as Contract } from '../../generated/openapi.ts'
import { type OperationId, operations } from '../../generated/operations.ts'
import type { Browser } from './browser.ts'

type Json<T> = T extends { content: { 'application/json': infer Body } } ? Body : never
type Responses<Op extends OperationId> = Contract[Op]['responses']
type Success<Op extends OperationId> = Json<Responses<Op>[keyof Responses<Op> & (200 | 201)]>

/** What an operation is called with: the contract's path parameters and body, by the contract's names. */
interface Call<Op extends OperationId> {
  path?: Contract[Op]['parameters']['path']
  body?: Contract[Op] extends { requestBody?: infer Content } ? Json<NonNullable<Content>> : never
}

/** The service as one device sees it. Operations go by their operationId in openapi.yaml, and so do their types. */
export interface Api {
  baseUrl: URL
  /** The JSON of the operation's success. Any other answer throws, with the service's own words. */
  call<Op extends OperationId>(operationId: Op, request?: Call<Op>): Promise<Success<Op>>
  /** The same for an operation whose answer is not JSON. */
  download(operationId: 'downloadExport', request: Call<'downloadExport'>): Promise<Response>
}

/** In a web page, `fetch` with `credentials: 'include'` takes the browser's place. */
export function createApi(baseUrl: URL, deviceId: string, browser: Browser): Api {
  async function send<Op extends OperationId>(operationId: Op, { path, body }: Call<Op>): Promise<Response> {
    const { method, path: template } = operations[operationId]
    const headers = new Headers({ 'x-device-id': deviceId })
    if (body !== undefined) headers.set('content-type', 'application/json')
    const response = await browser.fetch(new URL(fillIn(template, path), baseUrl), {
      method,
      headers,
      body: body === undefined ? null : JSON.stringify(body),
    })
    if (!response.ok) throw new Error(`${operationId} answered ${response.status}: ${await response.text()}`)
    return response
  }
  return {
    baseUrl,
    call: async (operationId, request = {}) => (await send(operationId, request)).json(),
    download: send,
  }
}

function fillIn(template: string, parameters: Record<string, string> = {}): string {
  return template.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(parameters[name] ?? ''))
}
