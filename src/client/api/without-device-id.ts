/** Leaves out `X-Device-ID`: otherwise the service would assume that the sync has what the request pulls or changes. */
export const withoutDeviceId = {
  onRequest({ request }: { request: Request }) {
    request.headers.delete('x-device-id')
  },
}
