// Written by `npm run generate`. Do not edit.
export const loginFailures = {"expired":"Login expired or was started in another browser","refused":"Login was refused by the identity provider","disabled":"Account is disabled","unavailable":"Identity provider is not available","failed":"Login failed"} as const
