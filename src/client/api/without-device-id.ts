/** Middleware for requests that must not count as the sync's, because the sync does not see what they pull or change. */
export const withoutDeviceId = {
  onRequest({ request }: { request: Request }) {
    request.headers.delete('x-device-id')
  },
}
