import { takeOffline, useIsCut } from './network.ts'

/** Takes this device offline, for anybody who wants to see what happens then. */
export function NetworkSwitch() {
  const isCut = useIsCut()
  return (
    <label class="switch">
      <input
        type="checkbox"
        role="switch"
        aria-checked={!isCut}
        checked={!isCut}
        onChange={() => takeOffline(!isCut)}
      />
      <span>Network</span>
    </label>
  )
}
