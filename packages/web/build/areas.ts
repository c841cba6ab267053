import type { Plugin } from 'vite';

/**
 * Whether a module belongs to the admin area. The eager part of an admin route (its path and guard) does not belong to
 * it, because the router needs this part everywhere; only the module id of the route's page contains a query.
 * @param id module id of the bundler (absolute path, optional query)
 */
export function isAdminModule(id: string): boolean {
  return /\/(src\/(admin\/|entry\/admin\.|routes\/admin[./][^?]*\?tsr-split)|admin\/index\.html$)/.test(id);
}

/**
 * Fails the build when an admin module is bundled outside `admin/assets/`, or when an eager file of the user area is
 * inside. The server sends files below /admin to administrators only. So the first fault would publish gated code, and
 * the second would break pages for users.
 */
export function separateAdminFiles(): Plugin {
  return {
    name: 'footlight:admin-files-stay-apart',
    apply: 'build',
    generateBundle(_options, bundle) {
      const chunks = Object.values(bundle).filter((file) => file.type === 'chunk');
      for (const chunk of chunks) {
        const gated = chunk.fileName.startsWith('admin/assets/');
        const ours = chunk.moduleIds.find(isAdminModule);
        if (ours !== undefined && !gated)
          this.error(`${ours} would be served to everyone in ${chunk.fileName}`);
        const reachable = gated ? [] : chunk.imports;
        const leak = reachable.find((file) => file.startsWith('admin/assets/'));
        if (leak !== undefined) this.error(`${chunk.fileName} is for everyone but needs the gated ${leak}`);
      }
      for (const file of Object.values(bundle)) {
        if (file.type !== 'asset' || !file.fileName.endsWith('.css')) continue;
        const gated = file.fileName.startsWith('admin/assets/');
        const owner = chunks.find((chunk) => chunk.viteMetadata?.importedCss.has(file.fileName));
        if (owner !== undefined && owner.fileName.startsWith('admin/assets/') !== gated) {
          this.error(`${file.fileName} belongs to ${owner.fileName} but lies on the other side of the gate`);
        }
      }
    },
  };
}
