let user: string | undefined

export function actFor(userId: string): void {
  user = userId
}

export interface RequestConfig<Data = unknown> {
  url?: string
  method?: string
  params?: unknown
  data?: Data
  headers?: object
}

export interface ResponseConfig<Answer> {
  status: number
  data: Answer
}

export type ResponseErrorConfig<Answer> = Answer

export type Client = typeof send

/** Sends the calls of kubb's code to the service, with the session, the user's id and the laptop's device id. */
export default async function send<Answer, _Error = unknown, Data = unknown>({
  url = '',
  method,
  params = {},
  data,
  headers,
}: RequestConfig<Data>): Promise<ResponseConfig<Answer>> {
  const target = new URL(url, process.env.BASE_URL)
  for (const [name, value] of Object.entries(params ?? {})) target.searchParams.set(name, `${value}`)
  const sent = new Headers({ ...headers, authorization: `Bearer ${process.env.SESSION}`, 'x-device-id': 'laptop' })
  if (user !== undefined) sent.set('x-user-id', user)
  if (data !== undefined) sent.set('content-type', 'application/json')
  const body = data === undefined ? null : JSON.stringify(data)
  const response = await fetch(target, { method, headers: sent, body })
  const isJson = response.headers.get('content-type')?.startsWith('application/json')
  return { status: response.status, data: (isJson ? await response.json() : await response.blob()) as Answer }
}
