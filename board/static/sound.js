// The sound of a stone and of the end of a game, made here: no file is loaded.

let context = null;

function audio() {
  context ??= new AudioContext();
  if (context.state === "suspended") context.resume(); // until a person has touched the page
  return context;
}

// A tone that fades; times in seconds.
function tone(frequency, after, seconds, volume, type = "sine") {
  const at = audio();
  const begin = at.currentTime + after;
  const wave = new OscillatorNode(at, { frequency, type });
  const gain = new GainNode(at, { gain: 0 });
  gain.gain.setValueAtTime(volume, begin);
  gain.gain.exponentialRampToValueAtTime(0.0001, begin + seconds);
  wave.connect(gain).connect(at.destination);
  wave.start(begin);
  wave.stop(begin + seconds);
}

// Wood on wood, a little brighter for white.
export function stoneSound(colour) {
  tone(colour === 0 ? 290 : 340, 0, 0.07, 0.3, "triangle");
  tone(colour === 0 ? 1150 : 1300, 0, 0.025, 0.12);
}

export function endSound() {
  for (const [i, frequency] of [392, 494, 587].entries()) tone(frequency, 0.12 * i, 0.5, 0.12);
}
