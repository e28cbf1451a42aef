/** Two devices with the same bookmarks, and between them a server that has only ciphertext. */
export function Picture() {
  return (
    <svg class="picture" viewBox="0 0 480 380" role="img" aria-labelledby="picture-title">
      <title id="picture-title">
        Two devices show the same bookmarks. Between them, the server holds only encrypted blocks.
      </title>
      <path class="line" d="M150 150 C150 70 190 62 214 62 M330 150 C330 70 290 62 266 62" />
      <g class="server">
        <rect x="186" y="22" width="108" height="80" rx="14" />
        {ciphertext.map((text, row) => (
          <text key={text} x="240" y={48 + row * 20} text-anchor="middle">
            {text}
          </text>
        ))}
      </g>
      <g class="lock">
        <circle cx="294" cy="102" r="17" />
        <path d="M287 101 h14 v10 h-14 z M290 101 v-4 a4 4 0 0 1 8 0 v4" />
      </g>
      <Screen x={30} y={150} width={240} height={178} />
      <path class="foot" d="M14 340 h272 a10 10 0 0 1 -10 10 h-252 a10 10 0 0 1 -10 -10 z" />
      <Screen x={318} y={150} width={116} height={200} />
    </svg>
  )
}

const ciphertext = ['k8Zt·pQ4', 'x0Rm·Ve1', 'Jw7a·Ls9']

interface ScreenProps {
  x: number
  y: number
  width: number
  height: number
}

function Screen({ x, y, width, height }: ScreenProps) {
  const lines = [0.72, 0.5, 0.62, 0.4]
  return (
    <g class="screen">
      <rect class="frame" x={x} y={y} width={width} height={height} rx="14" />
      {lines.map((share, row) => (
        <g key={share} class={`entry hue-${row}`}>
          <rect x={x + 16} y={y + 22 + row * 36} width="20" height="20" rx="6" />
          <rect x={x + 46} y={y + 24 + row * 36} width={(width - 66) * share} height="7" rx="3.5" />
          <rect class="soft" x={x + 46} y={y + 36 + row * 36} width={(width - 66) * share * 0.6} height="5" rx="2.5" />
        </g>
      ))}
    </g>
  )
}
