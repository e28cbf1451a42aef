/** The signed-in user's device that makes a request. */
export interface Device {
  userId: string
  loginId: string
  /** As in `X-Device-ID`. */
  deviceId: string
}

export function deviceOf(
  { userId, loginId }: Pick<Device, 'userId' | 'loginId'>,
  headers: { 'x-device-id': string },
): Device {
  return { userId, loginId, deviceId: headers['x-device-id'] }
}

/** Stands for every device that does not send its id, so nothing is stored about it. */
export const unknownDevice = 'unknown'
