import { describe, expect, test } from 'vitest';
import { ClickToPhoton } from './click-to-photon.ts';

describe('click to photon', () => {
  test('names the frame before it is shown', () => {
    const clicks = new ClickToPhoton();
    clicks.press(9, 1000);
    clicks.contained(9, 87_000);
    clicks.frame(84_000, 1010);
    clicks.frame(87_000, 1030);
    expect(clicks.take()).toEqual({ click_to_photon_ms: 30, click_to_photon_n: 1 });
    expect(clicks.take()).toBeNull();
  });

  test('names the frame after it was shown', () => {
    const clicks = new ClickToPhoton();
    clicks.press(1, 1000);
    clicks.frame(87_000, 1020);
    clicks.frame(90_000, 1036);
    clicks.contained(1, 88_000);
    expect(clicks.take()?.click_to_photon_ms).toBe(36);
  });

  test('RTP time stamps wrap', () => {
    const clicks = new ClickToPhoton();
    clicks.press(1, 0);
    clicks.contained(1, 0xffff_fff0);
    clicks.frame(16, 40);
    expect(clicks.take()?.click_to_photon_ms).toBe(40);
  });

  test('a press that no timing message names is not counted', () => {
    const clicks = new ClickToPhoton();
    clicks.press(1, 0);
    clicks.contained(2, 90_000);
    clicks.frame(90_000, 40);
    expect(clicks.take()).toBeNull();
  });
});
