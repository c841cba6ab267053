/** Lets the browser save a file, like a link with `download`. @param name suggested file name */
export function saveFile(file: Blob, name: string): void {
  const url = URL.createObjectURL(file);
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  // The browser has read the URL when click() returns.
  URL.revokeObjectURL(url);
}

/** The file name in an answer's header. @param header Content-Disposition; null: there is none */
export function fileNameOf(header: string | null, otherwise: string): string {
  return /filename="([\w.-]+)"/.exec(header ?? '')?.[1] ?? otherwise;
}
