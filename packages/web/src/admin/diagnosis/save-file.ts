/** Lets the browser save a file, like a link with `download`. @param name suggested file name */
export function saveFile(file: Blob, name: string): void {
  const url = URL.createObjectURL(file);
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  // When click() returns, the browser has read the URL.
  URL.revokeObjectURL(url);
}

/**
 * The file name in the Content-Disposition header of an answer.
 * @param header null: the answer has no such header
 */
export function fileNameOf(header: string | null, otherwise: string): string {
  return /filename="([\w.-]+)"/.exec(header ?? '')?.[1] ?? otherwise;
}
