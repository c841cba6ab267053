import styles from './components.module.css';

/** Logo and name. */
export function Brand({ href }: { href: string }) {
  return (
    <a href={href} className={styles.brand} aria-label="Footlight">
      <svg width="24" height="24" viewBox="0 0 64 64" aria-hidden="true">
        <path d="M10 48h44" stroke="var(--fl-accent)" strokeWidth="6" strokeLinecap="round" />
        <path
          d="M20 37 13 15M32 35V10M44 37l7-22"
          stroke="currentColor"
          strokeOpacity="0.7"
          strokeWidth="5"
          strokeLinecap="round"
        />
      </svg>
      <span className={styles.brandName}>Footlight</span>
    </a>
  );
}
