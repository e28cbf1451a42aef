/** A `fetch` function that takes a Request. */
export type SendRequest = (request: Request) => Promise<Response>
