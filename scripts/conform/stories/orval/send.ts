let user: string | undefined

export function actFor(userId: string): void {
  user = userId
}

/** Sends the calls of orval's code to the service, with the session, the user's id and the laptop's device id. */
export async function send<Answer>(path: string, options: RequestInit): Promise<Answer> {
  const headers = new Headers(options.headers)
  headers.set('cookie', `service_session=${process.env.SESSION}`)
  headers.set('x-device-id', 'laptop')
  if (user !== undefined) headers.set('x-user-id', user)
  const response = await fetch(new URL(path, process.env.BASE_URL), { ...options, headers })
  const isJson = response.headers.get('content-type')?.startsWith('application/json')
  const data = isJson ? await response.json() : await response.blob()
  return { status: response.status, data, headers: response.headers } as Answer
}
