import type { Page } from 'playwright-core';

/**
 * Analyses the page's stream until a tone is louder than the neighbouring frequencies. The neighbouring frequencies are
 * the loudest bins 60 to 200 Hz away on each side.
 */
export async function toneAboveNeighbours(
  page: Page,
  wanted: { hz: number; decibels: number; limitMs: number },
): Promise<{ found: boolean; difference: number }> {
  return page.evaluate(async ({ hz, decibels, limitMs }) => {
    const stream = [...document.querySelectorAll<HTMLMediaElement>('video, audio')]
      .map((element) => element.srcObject)
      .find(
        (source): source is MediaStream =>
          source instanceof MediaStream && source.getAudioTracks().length > 0,
      );
    if (stream === undefined) return { found: false, difference: Number.NaN };
    const context = new AudioContext({ sampleRate: 48_000 });
    await context.resume();
    const analyser = context.createAnalyser();
    analyser.fftSize = 16_384;
    analyser.smoothingTimeConstant = 0;
    context.createMediaStreamSource(new MediaStream(stream.getAudioTracks())).connect(analyser);
    const bins = new Float32Array(analyser.frequencyBinCount);
    const bin = (frequency: number) => Math.round((frequency * analyser.fftSize) / context.sampleRate);
    const loudest = (from: number, to: number) => Math.max(...bins.subarray(bin(from), bin(to) + 1));
    const deadline = performance.now() + limitMs;
    let difference = Number.NEGATIVE_INFINITY;
    // Silence is -∞ dB in every bin, and the difference of two infinities is NaN.
    while (performance.now() < deadline && !(difference >= decibels)) {
      await new Promise((resolve) => setTimeout(resolve, 50));
      analyser.getFloatFrequencyData(bins);
      difference = loudest(hz - 5, hz + 5) - Math.max(loudest(hz - 200, hz - 60), loudest(hz + 60, hz + 200));
    }
    await context.close();
    return { found: difference >= decibels, difference };
  }, wanted);
}
