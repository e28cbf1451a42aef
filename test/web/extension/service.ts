/** Where the service of the test is: the bundler puts it in. */
declare const SERVICE: string

export const baseUrl = SERVICE
export const deviceId = 'extension'
