/** Middleware of a request that is not to count as the device's own: what it pulls or changes, its sync has not seen. */
export const byNoDevice = {
  onRequest({ request }: { request: Request }) {
    request.headers.delete('x-device-id')
  },
}
