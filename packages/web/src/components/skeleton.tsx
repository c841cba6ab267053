import styles from './components.module.css';

/** A placeholder of the content's size. Width and height in CSS lengths or pixels. */
export function Skeleton(props: { width?: number | string; height?: number | string; radius?: number }) {
  return (
    <span
      className={styles.skeleton}
      style={{
        display: 'block',
        width: props.width ?? '100%',
        height: props.height ?? 16,
        ...(props.radius === undefined ? {} : { borderRadius: props.radius }),
      }}
      aria-hidden="true"
    />
  );
}
