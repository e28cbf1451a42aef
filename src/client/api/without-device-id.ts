/** Middleware for requests that must not count as the device's own: its sync has not seen what they pull or change. */
export const withoutDeviceId = {
  onRequest({ request }: { request: Request }) {
    request.headers.delete('x-device-id')
  },
}
