/** A catalogue of translations; the build makes it a table (build/catalogs.ts). */
declare module '*.po' {
  const table: import('./translate.ts').Table;
  export default table;
}
