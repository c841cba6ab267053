const KEY = 'footlight.guest-name';

/** The name that the person used as a guest in this browser before; "": none. */
export function readGuestName(): string {
  return localStorage.getItem(KEY) ?? '';
}

export function keepGuestName(name: string): void {
  localStorage.setItem(KEY, name);
}
