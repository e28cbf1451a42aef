import type { SendRequest } from './send.ts'

/** Elsewhere the header would only cost a browser a preflight. */
const takesDevice = /\/api\/v1\/(bookmarks|sync)(\/|$)/

/** Tells the service which device a call is from. */
export function withDevice(send: SendRequest, deviceId: string): SendRequest {
  return (request) => {
    if (takesDevice.test(new URL(request.url).pathname)) request.headers.set('x-device-id', deviceId)
    return send(request)
  }
}
